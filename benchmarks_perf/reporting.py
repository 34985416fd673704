"""How every benchmark prints a figure."""

from __future__ import annotations

import statistics
from collections.abc import Callable


def bench(name: str, value: float, target: str = "none", ok: bool | None = None) -> None:
    """Print one measured figure; ``ok`` None where the figure has no target."""
    verdict = "none" if ok is None else ("yes" if ok else "no")
    print(f"BENCH name={name} value={value:.4g} target={target} ok={verdict}", flush=True)


def at_most(name: str, value: float, limit: float) -> None:
    """Print a figure that should not exceed ``limit``."""
    bench(name, value, f"<={limit:g}", value <= limit)


def at_least(name: str, value: float, limit: float) -> None:
    """Print a figure that should reach ``limit``."""
    bench(name, value, f">={limit:g}", value >= limit)


def median_of(measure: Callable[[], float], times: int = 5) -> float:
    """Return the median of ``times`` measurements."""
    return statistics.median(measure() for _ in range(times))
