"""Plain descriptions of a list of numbers; of an empty list they are None."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from vlassess.schema.interval import Interval


def mean(values: Sequence[float]) -> float | None:
    """Return the arithmetic mean, correctly rounded whatever the order of the values; None for none."""
    return math.fsum(values) / len(values) if values else None


def median(values: Sequence[float]) -> float | None:
    """Return the middle value, or the mean of the two middle ones; None for none."""
    return float(statistics.median(values)) if values else None


def covered_length(intervals: Iterable[Interval]) -> float:
    """Return the length of the union of the intervals: what several cover is counted once."""
    total, end = 0.0, -math.inf
    for low, high in sorted(intervals):
        total += max(0.0, high - max(low, end))
        end = max(end, high)
    return total
