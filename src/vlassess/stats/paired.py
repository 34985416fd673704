"""Two policies on the same starts: what they share is taken out of the comparison.

Only the pairs that differ (one policy succeeded, the other did not) say which is better. All functions work on the
four counts of a `PairedTable`; whether two episodes are a pair is decided from their records, not here.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, norm

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share, outcomes, same_length

Alternative = Literal["two-sided", "greater", "less"]
"""Which way a test looks; "greater" asks whether policy A is better than B."""

_HALVINGS = 60


class PairedTable(NamedTuple):
    """How often each combination of outcomes occurred over pairs.

    Attributes:
        both: Both policies succeeded.
        only_a: A succeeded and B failed.
        only_b: B succeeded and A failed.
        neither: Both failed.
    """

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def discordant(self) -> int:
        """How many pairs differ."""
        return self.only_a + self.only_b

    @property
    def difference(self) -> float | None:
        """Rate of A minus rate of B; None for no pair."""
        return (self.only_a - self.only_b) / self.pairs if self.pairs else None

    @property
    def correlation(self) -> float | None:
        """Phi coefficient of the two outcomes; None where a policy always or never succeeded."""
        a, b = self.both + self.only_a, self.both + self.only_b
        spread = a * (self.pairs - a) * b * (self.pairs - b)
        return (self.both * self.neither - self.only_a * self.only_b) / math.sqrt(spread) if spread else None


def paired_table(a: ArrayLike, b: ArrayLike) -> PairedTable:
    """Count the pairs of two arrays of outcomes, where ``a[i]`` and ``b[i]`` had the same start.

    Raises:
        ValueError: the arrays differ in length, or a value is neither 0 nor 1.
    """
    first, second = outcomes("a", a), outcomes("b", b)
    same_length(a=first, b=second)
    both, only_a, only_b = (int(np.sum(x)) for x in (first & second, first & ~second, second & ~first))
    return PairedTable(both, only_a, only_b, len(first) - both - only_a - only_b)


def mcnemar_exact(table: PairedTable, alternative: Alternative = "two-sided") -> float:
    """Return the p-value of "both policies have the same rate" that is right for every number of pairs.

    Definition: the binomial test of ``only_a`` out of ``discordant`` at 1/2. No discordant pair is no evidence:
    p = 1 (an asymptotic form prints 0 there).
    Source: McNemar, Psychometrika 12 (1947) 153-157, in its exact form; computed by scipy.
    Valid, that is at most alpha false alarms, if pairs are independent; also when pairs come from tasks with
    different rates, as long as no task favours either policy. Repeats of one start are not independent pairs:
    see `vlassess.stats.clusters.hierarchical_difference`.
    """
    _check(table)
    if table.discordant == 0:
        return 1.0
    return float(binomtest(table.only_a, table.discordant, 0.5, alternative).pvalue)


def tango_interval(table: PairedTable, confidence: float = 0.95) -> Interval | None:
    """Return the score interval of rate A minus rate B over pairs; None for no pair.

    Definition: all differences that the score test (`tango_score`) does not reject.
    Source: Tango, Statistics in Medicine 17 (1998) 891-908.
    Valid on average, also for small n and rates near 0 or 1, if pairs are independent: at 95 % it covers 0.94 or more
    (n = 20, 50, 200, rates 0.02 to 0.98, enumerated by ``make bench NAME=statistics``). It may exclude 0 where
    `mcnemar_exact` does not reject, since that test is conservative: the test decides, the interval says how large.

    Raises:
        ValueError: a count is negative, or ``confidence`` is outside its range.
    """
    _check(table)
    check_share("confidence", confidence)
    if table.pairs == 0:
        return None
    low, high = tango_bounds(np.array([table.only_a]), np.array([table.only_b]), table.pairs, confidence)
    return Interval(float(low[0]), float(high[0]))


def tango_score(table: PairedTable, difference: float) -> float:
    """Return how many standard errors the observed difference lies above ``difference``; 0 for no pair.

    Definition: (only_a - only_b - n d) / sqrt(n (2 q + d (1 - d))), where q is the maximum-likelihood estimate
    of the probability of ``only_b`` given the difference d. About standard normal if d is the true difference.
    Source: Tango, Statistics in Medicine 17 (1998) 891-908.

    Raises:
        ValueError: a count is negative, or ``difference`` is outside [-1, 1].
    """
    _check(table)
    if not -1 <= difference <= 1:
        raise ValueError(f"difference is {difference}; it must lie in [-1, 1]")
    if table.pairs == 0:
        return 0.0
    only_a, only_b = np.array([table.only_a]), np.array([table.only_b])
    return float(_score(only_a, only_b, table.pairs, np.array([float(difference)]))[0])


def tango_bounds(
    only_a: NDArray[np.int_], only_b: NDArray[np.int_], n: int, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper ends of `tango_interval` for many tables of ``n`` >= 1 pairs at once."""
    z = float(norm.isf((1 - confidence) / 2))
    centre = (only_a - only_b) / n
    ends = []
    for side in (1.0, -1.0):
        # The score falls as the difference grows; the end is where it crosses z, outward of the estimate.
        inside, outside = centre.copy(), np.full_like(centre, -side)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            kept = side * _score(only_a, only_b, n, middle) <= z
            inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def _score(only_a: NDArray[np.int_], only_b: NDArray[np.int_], n: int, d: NDArray[np.float64]) -> NDArray[np.float64]:
    linear = -only_a - only_b + (2 * n - only_a + only_b) * d
    constant = -only_b * d * (1 - d)
    q = (np.sqrt(np.maximum(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n)
    above = only_a - only_b - n * d
    variance = n * (2 * q + d * (1 - d))
    # Without variance nothing but the observed difference is possible.
    certain = np.where(np.abs(above) > 1e-9, np.copysign(np.inf, above), 0.0)
    positive = variance > 1e-12
    return np.where(positive, above / np.sqrt(np.where(positive, variance, 1.0)), certain)


def _check(table: PairedTable) -> None:
    if min(table) < 0:
        raise ValueError(f"counts must not be negative: {table}")
