"""What mini-vla costs to ask, alone and in batches, and to load; ``python benchmarks_perf/mini_vla_cost.py [WEIGHTS]``.

A call is what a server's thread runs for it: pictures halved, words numbered, the network, chunks made. CPU
milliseconds of the whole process, median of several blocks; alone and in batches in turn, so that a machine that
slows down slows both.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from reporting import at_least, at_most, bench

from vlassess_link.data import Observation
from vlassess_link.loading import load_target
from vlassess_link.policies.model import PredictModelServer, SessionContext

SCRIPT = Path(__file__).resolve().parent.parent / "src" / "vlassess" / "policies" / "mini_vla.py"
BATCHES = (1, 4, 16)
BLOCKS = 9
SECONDS = 0.15
"""CPU time of one block."""


def seen(count: int) -> list[Observation]:
    """Return different observations as the tabletop makes them."""
    rng = np.random.default_rng(0)
    state = np.array((0.4, 0.0, 0.2, np.pi, 0.0, 0.0, 0.04, -0.04))
    return [
        Observation(
            {name: rng.integers(0, 256, (128, 128, 3)).astype(np.uint8) for name in ("agent", "wrist")},
            "pick up the red block and put it on the gray zone",
            state + rng.normal(0.0, 0.01, 8),
        )
        for _ in range(count)
    ]


def block(call: Callable[[], object]) -> float:
    """Return CPU milliseconds of one call, over a block of them."""
    calls, before = 0, time.process_time()
    while time.process_time() - before < SECONDS:
        call()
        calls += 1
    return 1000 * (time.process_time() - before) / calls


def main(weights: str = "") -> None:
    """Measure and print everything, of the weights that come with it or of another file."""
    before = time.process_time()
    model: Any = load_target(f"{SCRIPT}:MiniVla", PredictModelServer, {"weights": weights})
    model.load()
    bench("mini_vla.load_cpu_ms", 1000 * (time.process_time() - before))
    observations = seen(max(BATCHES))
    contexts = [SessionContext("bench") for _ in observations]
    costs: dict[int, list[float]] = {size: [] for size in BATCHES}
    for _ in range(BLOCKS):
        for size in BATCHES:
            costs[size].append(block(lambda size=size: model.predict_batch(observations[:size], contexts[:size])))
    for size in BATCHES[1:]:
        bench(f"mini_vla.cpu_ms_an_item_at_{size}", statistics.median(costs[size]) / size)
    at_most("mini_vla.cpu_ms_a_call", statistics.median(costs[1]), 6.0)
    gains = [alone / (together / 16) for alone, together in zip(costs[1], costs[16], strict=True)]
    at_least("mini_vla.gain_an_item_at_16", statistics.median(gains), 2.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
