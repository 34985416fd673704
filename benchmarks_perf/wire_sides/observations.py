"""What every contender carries, and how each of their clients is asked to measure."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np


def images() -> dict[str, np.ndarray]:
    """Return two pictures as simulators make them: smooth, with edges and a little noise."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[0:256, 0:256]
    found = {}
    for name, side in (("front", 60), ("wrist", 90)):
        image = np.stack([rows // 2, columns // 2, (rows + columns) // 4], axis=-1) + rng.integers(0, 4, (256, 256, 3))
        image[side : 2 * side, side : 2 * side] = (200, 40, 30)
        found[name] = image.astype(np.uint8)
    return found


def state() -> np.ndarray:
    """Return eight floats."""
    return np.linspace(-1, 1, 8, dtype=np.float32)


def serve_measurements(version: str, once: Callable[[], object]) -> None:
    """Say what this is; then, for each line with a number of calls on stdin, report on that many."""
    print(version, flush=True)
    for line in sys.stdin:
        times = [time.perf_counter()]
        for _ in range(int(line)):
            once()
            times.append(time.perf_counter())
        report(times)


def report(times: list[float]) -> None:
    """Print the median and the mean of the seconds between neighbouring times."""
    gaps = np.diff(times)
    print(float(np.median(gaps)), float(np.mean(gaps)), flush=True)
