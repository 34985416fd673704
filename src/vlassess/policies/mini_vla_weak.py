# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24", "msgpack>=1.0.8", "websockets>=15", "onnxruntime>=1.20"]
# ///
"""mini-vla trained on a tenth of the episodes: a checkpoint that is worse for a known reason."""

from __future__ import annotations

from mini_vla import WEIGHTS, MiniVla

from vlassess_link.policies.model import PredictModelServer


class MiniVlaWeak(MiniVla, PredictModelServer):
    """See `MiniVla`; only name and weights differ."""

    name = "mini-vla-weak"
    weights = WEIGHTS.with_name("mini_vla_weak.onnx")


if __name__ == "__main__":
    from vlassess_link.policies.server import serve

    serve(MiniVlaWeak)
