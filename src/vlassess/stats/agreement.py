"""Whether two sets of results put policies into the same order: simulation beside reality."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau, pearsonr

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share, numbers, same_length

Floats = NDArray[np.float64]


class Ranks(NamedTuple):
    """How well one set of rates ranks policies as the other does.

    Attributes:
        tau: Kendall's tau-b.
        tau_interval: Of the tau of the true rates.
        pearson: Pearson's r.
        pearson_interval: Of the r of the true rates.
        mmrv: Mean maximum rank violation.
        mmrv_interval: Of the mean maximum rank violation of the true rates.
        reversed_chance: [i, j]: chance, given the trials, that the true orders of policies i and j differ.
    """

    tau: float | None
    tau_interval: Interval | None
    pearson: float | None
    pearson_interval: Interval | None
    mmrv: float | None
    mmrv_interval: Interval | None
    reversed_chance: Floats


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Kendall's tau-b of two sets of rates; None for fewer than two, or where one set is constant.

    Definition: (concordant - discordant) / sqrt(pairs not tied in the first * pairs not tied in the second); computed
    by scipy.
    Source: Kendall, Biometrika 33 (1945) 239-251.

    Raises:
        ValueError: arrays differ in length, or a value is not finite.
    """
    a, b = _pair(first, second)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(kendalltau(a, b).statistic)


def pearson(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Pearson's correlation of two sets of rates; None for fewer than three, or where one set is constant.

    Two policies always have a correlation of -1 or 1, which says nothing beyond their order.

    Raises:
        ValueError: arrays differ in length, or a value is not finite.
    """
    a, b = _pair(first, second)
    if len(a) < 3 or np.ptp(a) < 1e-12 or np.ptp(b) < 1e-12:
        return None
    return float(pearsonr(a, b).statistic)


def mean_maximum_rank_violation(simulated: ArrayLike, real: ArrayLike) -> float | None:
    """Return the mean over policies of the largest real difference that the simulation orders wrongly; None for none.

    Definition: the mean over i of max over j of |R_i - R_j| [(S_i < S_j) != (R_i < R_j)], where S and R are rates in
    simulation and reality and [.] is 1 where it holds. 0 is best; not symmetric: the real rates weigh. A tie in
    simulation is a violation where reality has an order, but of the worse policy only (the authors' program, which
    writes > for <, counts it for the better one).
    Source: Li et al., Evaluating Real-World Robot Manipulation Policies in Simulation, arXiv 2405.05941 (2024),
    section 3.

    Raises:
        ValueError: arrays differ in length, or a value is not finite.
    """
    predicted, actual = _pair(simulated, real)
    if len(predicted) < 2:
        return None
    return float(_violations(predicted[None], actual[None])[0])


def rank_agreement(
    simulated: tuple[ArrayLike, ArrayLike],
    real: tuple[ArrayLike, ArrayLike],
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = 2000,
) -> Ranks:
    """Return how well simulation ranks policies as reality does, over the mean of their cells.

    Definition: estimates are of the observed rates, averaged over cells. Intervals hold the middle of what the true
    rates may give: each rate is drawn from its posterior under Jeffreys' prior, Beta(successes + 1/2, failures + 1/2),
    independently, and the measures are those of the draws. They are about these policies in these cells, not about
    policies to come. ``reversed_chance`` is the share of draws in which two policies' orders differ.
    Source: for the prior, Brown, Cai and DasGupta, Statistical Science 16 (2001) 101-133.
    Valid from two policies on; with two, tau is -1 or 1, and its interval says only whether the order is certain.

    Args:
        simulated: Successes and trials, each (policies, cells), in simulation.
        real: The same on the robot.
        rng: Draws the rates.
        confidence: Of the intervals.
        draws: How many sets of rates.

    Raises:
        ValueError: shapes differ, or a cell has no trial.
    """
    check_share("confidence", confidence)
    observed, drawn = zip(*(_rates(arm, rng, draws) for arm in (simulated, real)), strict=True)
    if observed[0].shape != observed[1].shape:
        raise ValueError("simulated and real must have the same policies")
    policies = len(observed[0])
    lower = np.tril_indices(policies, -1)
    signs = [np.sign(side[:, :, None] - side[:, None, :]) for side in drawn]
    differ = np.asarray((signs[0] != signs[1]).mean(axis=0), np.float64)
    if policies < 2:
        return Ranks(None, None, None, None, None, None, differ)
    taus = (signs[0] * signs[1])[:, lower[0], lower[1]].mean(axis=1)
    violations = _violations(*drawn)
    r = pearson(*observed)
    return Ranks(
        kendall_tau(*observed),
        _middle(taus, confidence),
        r,
        None if r is None else _middle(_correlations(*drawn), confidence),
        mean_maximum_rank_violation(*observed),
        _middle(violations, confidence),
        differ,
    )


def _rates(arm: tuple[ArrayLike, ArrayLike], rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
    """Return the observed means over cells (policies,) and drawn ones (draws, policies)."""
    won, size = (np.asarray(counts, np.float64) for counts in arm)
    if won.ndim != 2 or won.shape != size.shape:
        raise ValueError(f"successes {won.shape} and trials {size.shape} must both be (policies, cells)")
    if (size < 1).any() or (won < 0).any() or (won > size).any():
        raise ValueError("it must be 0 <= successes <= trials and trials >= 1; leave out cells that a policy lacks")
    drawn = rng.beta(won + 0.5, size - won + 0.5, size=(draws, *won.shape))
    return np.asarray((won / size).mean(axis=1)), np.asarray(drawn.mean(axis=2))


def _violations(simulated: Floats, real: Floats) -> Floats:
    """Return the mean maximum rank violation of each row: (rows, policies) twice -> (rows,)."""
    wrong = (simulated[:, :, None] < simulated[:, None, :]) != (real[:, :, None] < real[:, None, :])
    size = np.abs(real[:, :, None] - real[:, None, :])
    return np.asarray((size * wrong).max(axis=2).mean(axis=1))


def _correlations(first: Floats, second: Floats) -> Floats:
    a, b = (side - side.mean(axis=1, keepdims=True) for side in (first, second))
    return np.asarray((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))


def _middle(values: Floats, confidence: float) -> Interval:
    low, high = np.quantile(values, ((1 - confidence) / 2, (1 + confidence) / 2))
    return Interval(float(low), float(high))


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    a, b = numbers("first", first), numbers("second", second)
    same_length(first=a, second=b)
    return a, b
