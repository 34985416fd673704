"""Many comparisons at once: fewer false alarms, and ranks that say what they do not know."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from vlassess.stats.checks import numbers, same_length


class RankInterval(NamedTuple):
    """The ranks that a policy may have; 1 is best.

    Attributes:
        low: Best possible rank.
        high: Worst possible rank.
    """

    low: int
    high: int


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values adjusted so that the chance of *any* false alarm is at most alpha.

    Definition: step-down Bonferroni: the k-th smallest of m is multiplied by m - k + 1, at most 1, and the order is
    kept.
    Source: Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.
    Valid whatever the dependence between the tests.

    Raises:
        ValueError: a value is outside [0, 1].
    """
    values = _p_values(p_values)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    factors = np.arange(len(values), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values adjusted so that among those at most alpha the expected share of false alarms is at most alpha.

    Definition: step-up procedure; computed by scipy.
    Source: Benjamini and Hochberg, JRSS B 57 (1995) 289-300.
    Valid for independent and for positively dependent tests. For a list of leads, not for one claim.

    Raises:
        ValueError: a value is outside [0, 1].
    """
    values = _p_values(p_values)
    return np.asarray(false_discovery_control(values), np.float64) if len(values) else values


def better(differences: ArrayLike, p_values: ArrayLike, alpha: float = 0.05) -> NDArray[np.bool_]:
    """Return which policies were found better than which: [i, j] is True where i was found better than j.

    All pairs i < j are adjusted together with `holm`.

    Args:
        differences: (policies, policies): rate of i minus rate of j.
        p_values: (policies, policies): of "i and j are alike"; only those with i < j are read.
        alpha: Chance of any false alarm.

    Raises:
        ValueError: not square matrices of one size, or a p-value is outside [0, 1].
    """
    gaps, found = np.asarray(differences, np.float64), np.asarray(p_values, np.float64)
    if gaps.ndim != 2 or gaps.shape[0] != gaps.shape[1] or gaps.shape != found.shape:
        raise ValueError(f"differences {gaps.shape} and p_values {found.shape} must be square and of one size")
    upper = np.triu_indices(len(gaps), 1)
    different = np.zeros(gaps.shape, dtype=bool)
    different[upper] = holm(found[upper]) <= alpha
    return np.asarray((different & (gaps > 0)) | (different & (gaps < 0)).T)


def rank_intervals(found_better: NDArray[np.bool_]) -> tuple[RankInterval, ...]:
    """Return, for each policy, the ranks that the comparisons leave possible.

    Definition: from 1 + (policies found better than it) to (policies) - (policies found worse than it).
    Source: Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 91 (2024) 476-518; Al Mohamad, Goeman and
    van Zwet, Biometrics 78 (2022) 1382-1394.
    Valid: all true ranks lie in their intervals with the confidence at which no comparison is a false alarm, as
    `better` grants.
    """
    policies = len(found_better)
    above, below = found_better.sum(axis=0), found_better.sum(axis=1)
    return tuple(RankInterval(1 + int(up), policies - int(down)) for up, down in zip(above, below, strict=True))


def indistinguishable(found_better: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Return the largest groups within which no policy was found better than another, as sorted indices.

    A policy can be in several groups: A may be like B and B like C though A was found better than C.
    Definition: the maximal cliques of the graph of pairs without a finding, by the insert-and-absorb algorithm of
    Piepho, Journal of Computational and Graphical Statistics 13 (2004) 456-466.
    """
    groups: set[frozenset[int]] = {frozenset(range(len(found_better)))} if len(found_better) else set()
    for first, second in zip(*np.nonzero(found_better | found_better.T), strict=True):
        split = {group for group in groups if first in group and second in group}
        parts = {group - {int(member)} for group in split for member in (first, second)}
        groups = (groups - split) | parts
        groups = {group for group in groups if group and not any(group < other for other in groups)}
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def rank_shares(
    sums: ArrayLike, counts: ArrayLike, rng: np.random.Generator, draws: int = 10_000
) -> NDArray[np.float64]:
    """Return how often each policy takes each rank when whole tasks are drawn anew: [policy, rank - 1].

    Definition: in every bootstrap resample of tasks policies are ranked by rate; ties share their ranks evenly.
    A description of how firm a ranking is, not a test: see `rank_intervals`.
    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 6.

    Args:
        sums: (policies, tasks): successes of each policy in each task.
        counts: (tasks,): episodes in each task, the same for all policies, at least 1.
        rng: Draws the resamples.
        draws: Resamples.

    Raises:
        ValueError: shapes do not fit.
    """
    totals, sizes = np.asarray(sums, np.float64), numbers("counts", counts)
    if totals.ndim != 2:
        raise ValueError(f"sums has {totals.ndim} dimensions; it must be (policies, tasks)")
    same_length(counts=sizes, tasks=totals.T)
    policies, tasks = totals.shape
    picked = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=draws)
    rates = np.round(picked @ totals.T / (picked @ sizes)[:, None], 12)
    above = (rates[:, None, :] > rates[:, :, None]).sum(axis=2)
    tied = (rates[:, None, :] == rates[:, :, None]).sum(axis=2)
    ranks = np.arange(policies)
    taken = (ranks >= above[..., None]) & (ranks < (above + tied)[..., None])
    return np.asarray((taken / tied[..., None]).mean(axis=0))


def _p_values(p_values: ArrayLike) -> NDArray[np.float64]:
    values = numbers("p_values", p_values)
    if len(values) and (values.min() < 0 or values.max() > 1):
        raise ValueError(f"p_values holds {values.min()} to {values.max()}; all must lie in [0, 1]")
    return values
