"""Two policies on different starts: every episode is its own evidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, xlogy
from statsmodels.stats.proportion import confint_proportions_2indep

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share, check_successes
from vlassess.stats.paired import Alternative

_GRID = 257
_TIE = 1e-9


def newcombe_interval(successes_a: int, n_a: int, successes_b: int, n_b: int, confidence: float = 0.95) -> Interval:
    """Return the interval of rate A minus rate B that joins the two Wilson intervals.

    Definition: method 10 of the source ("hybrid score"); computed by statsmodels.
    Source: Newcombe, Statistics in Medicine 17 (1998) 873-890.
    Valid on average if all episodes are independent and those of an arm share one rate (or each task has the
    same share of both arms): at 95 % it covers 0.94 or more (n = 20, 50, 200, rates 0.02 to 0.98, enumerated by
    ``make bench NAME=statistics``).

    Raises:
        ValueError: a count or ``confidence`` is outside its range.
    """
    check_successes(successes_a, n_a)
    check_successes(successes_b, n_b)
    check_share("confidence", confidence)
    low, high = confint_proportions_2indep(
        successes_a, n_a, successes_b, n_b, compare="diff", method="newcomb", alpha=1 - confidence
    )
    return Interval(float(low), float(high))


def boschloo(successes_a: int, n_a: int, successes_b: int, n_b: int, alternative: Alternative = "two-sided") -> float:
    """Return the p-value of "both policies have the same rate" that is exact and sharper than Fisher's.

    Definition: the largest probability, over the unknown common rate, of a table whose one-sided Fisher p-value
    is at most the observed one; two-sided is twice the smaller side, at most 1.
    Source: Boschloo, Statistica Neerlandica 24 (1970) 1-35. scipy has the test too, but compares all tables with
    each other: 2 s at 500 episodes an arm. Summed over the total of successes it takes 0.2 s at 2,000.
    Valid, that is at most alpha false alarms, for all n and rates, if all episodes are independent and those of
    an arm share one rate.

    Raises:
        ValueError: a count is outside its range.
    """
    check_successes(successes_a, n_a)
    check_successes(successes_b, n_b)
    if alternative == "less":
        return _one_sided(successes_a, n_a, successes_b, n_b)
    if alternative == "greater":
        return _one_sided(successes_b, n_b, successes_a, n_a)
    sides = _one_sided(successes_a, n_a, successes_b, n_b), _one_sided(successes_b, n_b, successes_a, n_a)
    return min(1.0, 2 * min(sides))


def _one_sided(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Return the p-value against "A has the lower rate"."""
    total = n_a + n_b
    share = _rejected_share(n_a, n_b, successes_a, successes_a + successes_b)
    sums = np.arange(total + 1)
    ways = _log_choose(total)

    def size(angle: float) -> float:
        logs = ways + xlogy(sums, np.sin(angle) ** 2) + xlogy(total - sums, np.cos(angle) ** 2)
        return float(np.exp(logs) @ share)

    # On the arcsine scale the binomial is about equally wide everywhere, so an even grid misses no peak.
    grid = np.linspace(0.0, np.pi / 2, _GRID)
    sizes = np.array([size(angle) for angle in grid])
    best = int(np.argmax(sizes))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)])
    refined = -minimize_scalar(lambda angle: -size(angle), bounds=bounds, method="bounded").fun
    return min(1.0, max(float(sizes[best]), float(refined)))


def _rejected_share(n_a: int, n_b: int, successes_a: int, successes: int) -> NDArray[np.float64]:
    """Return, for each total of successes, the chance under equal rates of a Fisher p-value of at most the observed.

    Given the total, A's successes are hypergeometric and the one-sided Fisher p-value is their distribution
    function, so that chance is the largest attainable p-value not above the observed.
    """
    ways_a, ways_b = _log_choose(n_a), _log_choose(n_b)

    def cumulated(total: int) -> NDArray[np.float64]:
        first, last = max(0, total - n_b), min(n_a, total)
        logs = ways_a[first : last + 1] + ways_b[total - last : total - first + 1][::-1]
        weights = np.exp(logs - logs.max())
        return np.asarray(np.cumsum(weights) / weights.sum())

    limit = cumulated(successes)[successes_a - max(0, successes - n_b)] * (1 + _TIE)
    share = np.zeros(n_a + n_b + 1)
    for total in range(n_a + n_b + 1):
        attainable = cumulated(total)
        reached = int(np.searchsorted(attainable, limit, side="right"))
        share[total] = attainable[reached - 1] if reached else 0.0
    return share


def _log_choose(n: int) -> NDArray[np.float64]:
    counts = np.arange(n + 1)
    return np.asarray(gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1))
