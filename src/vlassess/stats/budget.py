"""How many episodes a claim needs, and which difference a number of episodes can show.

A share throughout: 0.10 is ten points. ``rate`` is the mean rate of the two policies, of which each is half a
difference away; 0.5, where a difference is hardest to see, is the cautious choice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, norm

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share
from vlassess.stats.paired import PairedTable
from vlassess.stats.rates import clopper_pearson

_FINEST = 1e-6


class Requirement(NamedTuple):
    """How many episodes a claim needs.

    Attributes:
        n: Episodes an arm, or pairs; whole.
        exact: What the formula gives before it is made whole.
        power: Chance that a true difference of this size is found.
    """

    n: int
    exact: float
    power: float


class Discordance(NamedTuple):
    """What a pilot says about how often two policies differ on one start.

    Attributes:
        share: Discordant pairs over pairs.
        interval: Its Clopper-Pearson interval; plan with the upper end to be safe.
        correlation: Phi coefficient within pairs; None where undefined.
    """

    share: float
    interval: Interval
    correlation: float | None


class Cost(NamedTuple):
    """What a plan takes.

    Attributes:
        trials: Episodes over all cells and policies.
        hours: Time, one episode after the other.
    """

    trials: int
    hours: float


def unpaired_without_power(delta: float, rate: float = 0.5, alpha: float = 0.05) -> Requirement:
    """Return the episodes an arm at which an *observed* difference ``delta`` just is significant.

    Definition: 2 (z / delta)^2 rate (1 - rate), rounded, with z the two-sided quantile. It has no term for power: a
    true difference of ``delta`` is found about every second time only. Shown because it is the usual rule of thumb
    (10 points: 192 an arm), not to plan with.

    Raises:
        ValueError: an argument is outside its range.
    """
    _rates(delta, rate)
    check_share("alpha", alpha)
    exact = 2 * (float(norm.isf(alpha / 2)) / delta) ** 2 * rate * (1 - rate)
    return Requirement(max(1, round(exact)), exact, 0.5)


def unpaired(delta: float, power: float = 0.8, rate: float = 0.5, alpha: float = 0.05) -> Requirement:
    """Return the episodes an arm that find a true difference ``delta`` with chance ``power``.

    Definition: 2 ((z_alpha/2 + z_power) / delta)^2 rate (1 - rate), rounded up.
    Source: Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions (2003), section 4.2, with one pooled
    variance.
    Valid for about 20 or more successes and failures an arm; an exact test needs a few episodes more.

    Raises:
        ValueError: an argument is outside its range.
    """
    _rates(delta, rate)
    exact = 2 * (_quantiles(alpha, power) / delta) ** 2 * rate * (1 - rate)
    return Requirement(math.ceil(exact), exact, power)


def paired(delta: float, discordance: float, power: float = 0.8, alpha: float = 0.05) -> Requirement:
    """Return the pairs that find a true difference ``delta`` with chance ``power``.

    Definition: (z_alpha/2 sqrt(psi) + z_power sqrt(psi - delta^2))^2 / delta^2, rounded, where psi is the share of
    pairs that differ. It is an approximation, not exact to a pair; `paired_exact` is.
    Source: Connor, Biometrics 43 (1987) 207-211.
    Valid for about 20 or more discordant pairs; `paired_exact` has no such limit.

    Args:
        delta: True difference.
        discordance: Share psi, from a pilot (`discordance_of`) or from a correlation (`discordance_from`).
        power: Between 0 and 1.
        alpha: Two-sided.

    Raises:
        ValueError: an argument is outside its range, or ``discordance`` is below ``delta``.
    """
    _discordance(delta, discordance)
    check_share("alpha", alpha)
    check_share("power", power)
    z_alpha, z_power = float(norm.isf(alpha / 2)), float(norm.isf(1 - power))
    exact = ((z_alpha * math.sqrt(discordance) + z_power * math.sqrt(discordance - delta**2)) / delta) ** 2
    return Requirement(max(1, round(exact)), exact, power)


def paired_exact(delta: float, discordance: float, power: float = 0.8, alpha: float = 0.05) -> Requirement:
    """Return the pairs from which on the exact McNemar test finds a true difference ``delta`` with chance ``power``.

    Definition: the smallest n such that the exact power is at least ``power`` at n and at all larger n up to n + 50
    (it is not monotone). ``exact`` is n.

    Raises:
        ValueError: an argument is outside its range, or ``discordance`` is below ``delta``.
    """
    n = paired(delta, discordance, power, alpha).n
    last = n + max(50, n // 2)
    while mcnemar_power(last, delta, discordance, alpha) < power:
        last *= 2
    short = [m for m in range(max(1, last - 50), last) if mcnemar_power(m, delta, discordance, alpha) < power]
    first = 1 + (max(short) if short else last - 51)
    while not short and first > 1 and mcnemar_power(first - 1, delta, discordance, alpha) >= power:
        first -= 1
    return Requirement(first, float(first), mcnemar_power(first, delta, discordance, alpha))


def mcnemar_power(n: int, delta: float, discordance: float, alpha: float = 0.05) -> float:
    """Return the chance that the two-sided exact McNemar test of ``n`` pairs rejects, in either direction.

    Definition: sum over the number of discordant pairs of its binomial chance times the chance of rejection.

    Raises:
        ValueError: an argument is outside its range, or ``discordance`` is below ``delta``.
    """
    _discordance(delta, discordance)
    check_share("alpha", alpha)
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1")
    pairs = np.arange(n + 1)
    critical = binom.ppf(alpha / 2, pairs, 0.5)
    critical -= binom.cdf(critical, pairs, 0.5) > alpha / 2
    share = (discordance + delta) / (2 * discordance)
    rejected = binom.cdf(critical, pairs, share) + binom.cdf(critical, pairs, 1 - share)
    return float(binom.pmf(pairs, n, discordance) @ np.where(critical >= 0, rejected, 0.0))


def discordance_from(delta: float, correlation: float, rate: float = 0.5) -> float:
    """Return the share of pairs that differ, from the correlation within pairs.

    Definition: p + q - 2 (p q + r sqrt(p (1 - p) q (1 - q))) for rates p and q = rate +- delta / 2. A correlation that
    is not possible for these rates is refused. A negative one makes pairing worse than none.

    Raises:
        ValueError: an argument is outside its range.
    """
    _rates(delta, rate)
    high, low = rate + delta / 2, rate - delta / 2
    both = high * low + correlation * math.sqrt(high * (1 - high) * low * (1 - low))
    if not max(0.0, high + low - 1) - _FINEST <= both <= low + _FINEST:
        raise ValueError(f"correlation is {correlation}; rates of {high:g} and {low:g} cannot have it")
    return max(delta, high + low - 2 * both)


def discordance_of(pilot: PairedTable, confidence: float = 0.95) -> Discordance | None:
    """Return how often the policies differed on a pilot's pairs; None for no pair.

    Raises:
        ValueError: ``confidence`` is outside its range.
    """
    interval = clopper_pearson(pilot.discordant, pilot.pairs, confidence)
    if interval is None:
        return None
    return Discordance(pilot.discordant / pilot.pairs, interval, pilot.correlation)


def half_width(n: int, rate: float = 0.5, alpha: float = 0.05) -> float:
    """Return half the length of the textbook interval of one rate: z sqrt(rate (1 - rate) / n).

    For planning (n = 20: 22 points, n = 200: 6.9), where nothing is observed yet; results get exact intervals.

    Raises:
        ValueError: an argument is outside its range.
    """
    check_share("rate", rate)
    check_share("alpha", alpha)
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1")
    return float(norm.isf(alpha / 2)) * math.sqrt(rate * (1 - rate) / n)


def detectable(
    n: int, power: float = 0.8, rate: float = 0.5, alpha: float = 0.05, correlation: float | None = None
) -> float | None:
    """Return the smallest true difference that ``n`` episodes an arm find with chance ``power``; None if none is.

    The inverse of `unpaired`, or of `paired` where a ``correlation`` is given.

    Raises:
        ValueError: an argument is outside its range.
    """
    check_share("rate", rate)
    check_share("power", power)
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1")
    largest = 2 * min(rate, 1 - rate) * (1 - _FINEST)

    def surplus(delta: float) -> float:
        if correlation is None:
            return unpaired(delta, power, rate, alpha).exact - n
        return paired(delta, _possible_discordance(delta, correlation, rate), power, alpha).exact - n

    if surplus(largest) > 0:
        return None
    return float(brentq(surplus, _FINEST, largest)) if surplus(_FINEST) > 0 else _FINEST


def blind_spot(n: int, rate: float = 0.5, alpha: float = 0.05) -> str:
    """Return the sentence that every report of ``n`` episodes a policy owes: which difference it could not see.

    Definition: `detectable` with power 0.8, unpaired.

    Raises:
        ValueError: an argument is outside its range.
    """
    found = detectable(n, 0.8, rate, alpha)
    if found is None:
        return f"With {n} episodes a policy, this run could not see any difference around a rate of {100 * rate:.0f} %."
    return f"With {n} episodes a policy, this run could not see a difference below {100 * found:.1f} points."


def is_pilot(n: int, delta: float, rate: float = 0.5, alpha: float = 0.05) -> bool:
    """Return whether ``n`` episodes are a pilot for a claim about ``delta``: one rate's interval is wider on each side.

    Raises:
        ValueError: an argument is outside its range.
    """
    return half_width(n, rate, alpha) > delta


def cost(n: int, seconds_per_trial: float, cells: int = 1, policies: int = 1) -> Cost:
    """Return the trials and hours of ``n`` episodes in every cell with every policy.

    Raises:
        ValueError: an argument is below its least value.
    """
    if min(n, cells, policies) < 1 or not seconds_per_trial > 0:
        raise ValueError(
            f"n is {n}, cells {cells}, policies {policies}, seconds_per_trial {seconds_per_trial}; all must be above 0"
        )
    trials = n * cells * policies
    return Cost(trials, trials * seconds_per_trial / 3600)


def _possible_discordance(delta: float, correlation: float, rate: float) -> float:
    """Return the discordance of the nearest correlation that rates so far apart can have."""
    high, low = rate + delta / 2, rate - delta / 2
    both = high * low + correlation * math.sqrt(high * (1 - high) * low * (1 - low))
    return max(delta, high + low - 2 * min(max(both, high + low - 1, 0.0), low))


def _quantiles(alpha: float, power: float) -> float:
    check_share("alpha", alpha)
    check_share("power", power)
    return float(norm.isf(alpha / 2) + norm.isf(1 - power))


def _rates(delta: float, rate: float) -> None:
    check_share("delta", delta)
    check_share("rate", rate)
    if not (rate - delta / 2 >= 0 and rate + delta / 2 <= 1):
        raise ValueError(f"delta is {delta} around a rate of {rate}; both rates must lie in [0, 1]")


def _discordance(delta: float, discordance: float) -> None:
    check_share("delta", delta)
    if not delta <= discordance <= 1:
        raise ValueError(f"discordance is {discordance}; it must lie between delta, {delta}, and 1")
