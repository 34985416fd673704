"""How much of a rate is left: the ratio of two rates over the same starts."""

from __future__ import annotations

import math

from scipy.stats import norm

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share
from vlassess.stats.paired import PairedTable


def paired_ratio_interval(table: PairedTable, confidence: float = 0.95) -> Interval | None:
    """Return the interval of A's rate over B's on the same starts; None where B never succeeded.

    Definition: of the m starts with a success of A or B, each side's share has a Wilson interval at z k; the interval
    is (low of A / high of B, high of A / low of B), where k = sqrt((only_a + only_b + 2) / ((a + 1) (b + 1))) over the
    sum of sqrt((1 - (a + 1) / (m + 2)) / (a + 1)) and the same of b makes the two as wide as their ratio asks, with a
    and b the successes of either side.
    Source: Bonett and Price, Statistics in Medicine 25 (2006) 3039-3047.
    Valid if pairs are independent, from about 20 starts with a success on.

    Raises:
        ValueError: a count is negative, or ``confidence`` is outside its range.
    """
    check_share("confidence", confidence)
    if min(table) < 0:
        raise ValueError(f"counts must not be negative: {table}")
    a, b, starts = table.both + table.only_a, table.both + table.only_b, table.pairs - table.neither
    if b == 0:
        return None
    joint = math.sqrt((table.discordant + 2) / ((a + 1) * (b + 1)))
    apart = sum(math.sqrt((1 - (side + 1) / (starts + 2)) / (side + 1)) for side in (a, b))
    z = float(norm.isf((1 - confidence) / 2)) * joint / apart
    (low_a, high_a), (low_b, high_b) = (_wilson(side, starts, z) for side in (a, b))
    return Interval(low_a / high_b, high_a / low_b)


def _wilson(successes: int, n: int, z: float) -> tuple[float, float]:
    centre = (2 * successes + z**2) / (2 * (n + z**2))
    half = z * math.sqrt(z**2 + 4 * successes * (1 - successes / n)) / (2 * (n + z**2))
    return max(0.0, centre - half), min(1.0, centre + half)
