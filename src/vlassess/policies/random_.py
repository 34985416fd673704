# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24", "msgpack>=1.0.8", "websockets>=15"]
# ///
"""Moves at random: what any policy must beat.

The file is not called ``random.py``: scripts run with their folder first on the module path, where that name
would hide the standard library's.
"""

from __future__ import annotations

from vlassess_link.data import ActionChunk, Observation
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.spaces import Layout
from vlassess_link.specs import PolicyIdentity, PolicySpec


class Random(PredictModelServer):
    """Answers actions that are uniform in [-1, 1]: a function of the noise seed and the step alone.

    Args:
        dims: Numbers in one action.
        chunk: Actions in one answer.
    """

    def __init__(self, dims: int = 7, chunk: int = 10) -> None:
        self._shape = (chunk, dims)
        self.spec = PolicySpec(
            PolicyIdentity("random", revision="1", weights_digest="none"),
            cameras=(),
            state=Layout(()),
            action=Layout(()),
            chunk=chunk,
            horizon=chunk,
            stochastic=True,
            uses_noise_seed=True,
        )

    def predict(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        """Draw a chunk."""
        return ActionChunk(ctx.rng().uniform(-1.0, 1.0, self._shape))


if __name__ == "__main__":
    from vlassess_link.policies.server import serve

    serve(Random)
