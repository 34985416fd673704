"""One success rate: the point, its intervals, and its bounds when some episodes broke.

Pure functions of counts. A rate over no episode is undefined, and undefined is None.
"""

from __future__ import annotations

from scipy.stats import beta, binomtest

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share


def rate(successes: int, n: int) -> float | None:
    """Return successes / n, None where n is 0.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    _check(successes, n)
    return successes / n if n else None


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Return the exact interval of a binomial rate: covers the truth at least as often as ``confidence``.

    Definition: all p that neither one-sided exact binomial test at (1 - confidence) / 2 rejects.
    Source: Clopper and Pearson, Biometrika 26 (1934) 404-413; computed by scipy.
    Valid for every n and every rate, if the n episodes are independent and share one rate: for a claim
    about these tasks, not about tasks that were not run. Wider than needed, most of all for small n.

    Args:
        successes: 0 to n.
        n: Episodes with a result; None is returned for 0.
        confidence: Between 0 and 1.

    Raises:
        ValueError: an argument is outside its range.
    """
    return _interval(successes, n, confidence, "exact")


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Return the score interval of a binomial rate: covers the truth about as often as ``confidence``.

    Definition: all p with |successes / n - p| <= z sqrt(p (1 - p) / n), no continuity correction.
    Source: Wilson, JASA 22 (1927) 209-212; computed by scipy.
    Valid on average over rates; near 0 and 1 it covers less than it says (n = 50, 95 %: 0.92 at a rate
    of 0.98, 0.91 at 0.99), so `clopper_pearson` is shown first.

    Args:
        successes: 0 to n.
        n: Episodes with a result; None is returned for 0.
        confidence: Between 0 and 1.

    Raises:
        ValueError: an argument is outside its range.
    """
    return _interval(successes, n, confidence, "wilson")


def jeffreys(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Return the equal-tailed posterior interval of a binomial rate under Jeffreys' prior, Beta(1/2, 1/2).

    Definition: the (1 - confidence) / 2 quantiles of Beta(successes + 1/2, n - successes + 1/2); low is 0 for no
    success and high is 1 for no failure.
    Source: Brown, Cai and DasGupta, Statistical Science 16 (2001) 101-133.
    Valid on average over rates, also near 0 and 1, where Wilson's covers too little; at single rates it dips
    below ``confidence``. Shorter than `clopper_pearson`.

    Args:
        successes: 0 to n.
        n: Episodes with a result; None is returned for 0.
        confidence: Between 0 and 1.

    Raises:
        ValueError: an argument is outside its range.
    """
    _check(successes, n)
    check_share("confidence", confidence)
    if n == 0:
        return None
    half, shape = (1 - confidence) / 2, (successes + 0.5, n - successes + 0.5)
    low = float(beta.ppf(half, *shape)) if successes else 0.0
    high = float(beta.isf(half, *shape)) if successes < n else 1.0
    return Interval(low, high)


def error_bounds(successes: int, failures: int, errors: int) -> Interval | None:
    """Return the rate if every error had failed (low) and if every one had succeeded (high).

    Definition: s / (s + f + e) and (s + e) / (s + f + e). The worst and best case of imputation (Manski,
    American Economic Review 80 (1990) 319-323): always valid, no assumption on why episodes broke. No
    sampling error is in it. None where there is no episode at all.

    Raises:
        ValueError: a count is negative.
    """
    if min(successes, failures, errors) < 0:
        raise ValueError(f"counts must not be negative: {successes} successes, {failures} failures, {errors} errors")
    n = successes + failures + errors
    return Interval(successes / n, (successes + errors) / n) if n else None


def _interval(successes: int, n: int, confidence: float, method: str) -> Interval | None:
    _check(successes, n)
    check_share("confidence", confidence)
    if n == 0:
        return None
    found = binomtest(successes, n).proportion_ci(confidence, method)
    return Interval(float(found.low), float(found.high))


def _check(successes: int, n: int) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"there are {successes} successes in {n} episodes; it must be 0 <= successes <= n")
