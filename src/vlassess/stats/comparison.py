"""Whole comparisons of arrays, for those who have no records: the tests of `vlassess compare` for each design.

The functions here only call the others. Runs are compared by `vlassess.comparison`, which knows what was planned, and
studies by `vlassess.transfer.analysis`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vlassess.schema.interval import Interval
from vlassess.stats.checks import numbers, outcomes, same_length
from vlassess.stats.clusters import ClusterEstimate, cluster_mean, cluster_sums
from vlassess.stats.many import (
    RankInterval,
    benjamini_hochberg,
    better,
    holm,
    indistinguishable,
    rank_intervals,
    rank_shares,
)
from vlassess.stats.paired import PairedTable, mcnemar_exact, paired_table, tango_interval
from vlassess.stats.permutation import shuffle, sign_flip
from vlassess.stats.stratified import Strata, cochran_mantel_haenszel, paired_strata
from vlassess.stats.unpaired import boschloo, newcombe_interval


class PairedComparison(NamedTuple):
    """Two policies on the same starts.

    Attributes:
        table: Counts of the pairs; its ``difference`` is the estimate.
        p_value: Exact McNemar.
        interval: Tango's, of the difference, for a claim about these tasks.
        over_tasks: Difference with an interval for a claim about new tasks.
        strata: The comparison within tasks.
        progress_p: Sign-flip test of the progress scores; None where there are none.
    """

    table: PairedTable
    p_value: float
    interval: Interval | None
    over_tasks: ClusterEstimate
    strata: Strata
    progress_p: float | None


class UnpairedComparison(NamedTuple):
    """Two policies on different starts.

    Attributes:
        difference: Rate of A minus rate of B.
        p_value: Boschloo.
        interval: Newcombe's, of the difference, for a claim about these tasks.
        strata: The comparison within the tasks that both ran; None where there is none.
        progress_p: Permutation test of the progress scores; None where there are none.
    """

    difference: float
    p_value: float
    interval: Interval
    strata: Strata | None
    progress_p: float | None


class Ranking(NamedTuple):
    """Several policies on the same starts.

    Attributes:
        comparisons: (i, j) -> policies i < j compared.
        holm_p: (i, j) -> McNemar's p-value, adjusted for all pairs: no false alarm among them.
        hochberg_p: (i, j) -> the same, adjusted for the share of false alarms (Benjamini-Hochberg).
        ranks: Ranks that each policy may have.
        groups: Policies among which no difference was found.
        shares: [policy, rank - 1]: how often a policy takes a rank when tasks are drawn anew.
    """

    comparisons: dict[tuple[int, int], PairedComparison]
    holm_p: dict[tuple[int, int], float]
    hochberg_p: dict[tuple[int, int], float]
    ranks: tuple[RankInterval, ...]
    groups: tuple[tuple[int, ...], ...]
    shares: NDArray[np.float64]


def compare_paired(
    a: ArrayLike,
    b: ArrayLike,
    tasks: ArrayLike,
    rng: np.random.Generator,
    progress: tuple[ArrayLike, ArrayLike] | None = None,
    draws: int = 10_000,
) -> PairedComparison:
    """Compare two policies whose outcomes ``a[i]`` and ``b[i]`` had one start, of task ``tasks[i]``.

    Args:
        a: Outcomes of A, each 0 or 1, at least one.
        b: Outcomes of B on the same starts.
        tasks: Label of each pair's task.
        rng: Draws resamples and sign patterns.
        progress: Progress scores of A and of B on the same starts.
        draws: How many resamples and patterns.

    Raises:
        ValueError: arrays do not fit together, or there is no pair.
    """
    first, second, labels = outcomes("a", a), outcomes("b", b), np.asarray(tasks)
    same_length(a=first, b=second, tasks=labels)
    if len(first) == 0:
        raise ValueError("there is no pair to compare")
    table = paired_table(first, second)
    gaps = first.astype(np.float64) - second
    per_task = [paired_table(first[labels == task], second[labels == task]) for task in np.unique(labels)]
    return PairedComparison(
        table,
        mcnemar_exact(table),
        tango_interval(table),
        cluster_mean(*cluster_sums(gaps, labels), rng, draws=draws, bounds=(-1.0, 1.0)),
        paired_strata(per_task),
        None if progress is None else _progress_gap(progress, rng, draws),
    )


def compare_unpaired(
    a: tuple[ArrayLike, ArrayLike],
    b: tuple[ArrayLike, ArrayLike],
    rng: np.random.Generator,
    progress: tuple[ArrayLike, ArrayLike] | None = None,
    draws: int = 10_000,
) -> UnpairedComparison:
    """Compare two policies, each given as its outcomes and their tasks, that did not share their starts.

    Args:
        a: Outcomes of A, each 0 or 1, at least one, and the label of each one's task.
        b: The same of B.
        rng: Draws permutations.
        progress: Progress scores of A and of B.
        draws: How many permutations.

    Raises:
        ValueError: arrays do not fit together, or an arm is empty.
    """
    first, second = outcomes("a", a[0]), outcomes("b", b[0])
    tasks_a, tasks_b = np.asarray(a[1]), np.asarray(b[1])
    same_length(a=first, tasks=tasks_a)
    same_length(b=second, tasks=tasks_b)
    if len(first) == 0 or len(second) == 0:
        raise ValueError(f"both policies need an episode; A has {len(first)}, B has {len(second)}")
    counts = int(first.sum()), len(first), int(second.sum()), len(second)
    shared = np.intersect1d(tasks_a, tasks_b)
    strata = None
    if len(shared):
        k_a, n_a = cluster_sums(first[np.isin(tasks_a, shared)], tasks_a[np.isin(tasks_a, shared)])
        k_b, n_b = cluster_sums(second[np.isin(tasks_b, shared)], tasks_b[np.isin(tasks_b, shared)])
        strata = cochran_mantel_haenszel(k_a, n_a, k_b, n_b)
    return UnpairedComparison(
        float(first.mean() - second.mean()),
        boschloo(*counts),
        newcombe_interval(*counts),
        strata,
        None if progress is None else shuffle(*progress, rng, draws),
    )


def rank_policies(
    successes: ArrayLike,
    tasks: ArrayLike,
    rng: np.random.Generator,
    progress: ArrayLike | None = None,
    alpha: float = 0.05,
    draws: int = 10_000,
) -> Ranking:
    """Compare every two of several policies on the same starts, adjusted for their number.

    Args:
        successes: (policies, starts), each 0 or 1.
        tasks: Label of each start's task.
        rng: Draws resamples and sign patterns.
        progress: (policies, starts) in [0, 1], if there are scores.
        alpha: Chance that any rank or group is wrong.
        draws: How many resamples and patterns.

    Raises:
        ValueError: arrays do not fit together, or there is no start.
    """
    rows = [outcomes(f"successes[{index}]", row) for index, row in enumerate(np.asarray(successes))]
    scores = None if progress is None else np.asarray(progress, np.float64)
    policies = len(rows)
    pairs = [(i, j) for i in range(policies) for j in range(i + 1, policies)]
    comparisons = {
        (i, j): compare_paired(rows[i], rows[j], tasks, rng, None if scores is None else (scores[i], scores[j]), draws)
        for i, j in pairs
    }
    gaps, p_values = np.zeros((policies, policies)), np.ones((policies, policies))
    for pair, found in comparisons.items():
        gaps[pair], p_values[pair] = found.table.difference or 0.0, found.p_value
    raw = [comparisons[pair].p_value for pair in pairs]
    found_better = better(gaps, p_values, alpha)
    sums = [cluster_sums(row.astype(np.float64), tasks) for row in rows]
    return Ranking(
        comparisons,
        dict(zip(pairs, holm(raw).tolist(), strict=True)),
        dict(zip(pairs, benjamini_hochberg(raw).tolist(), strict=True)),
        rank_intervals(found_better),
        indistinguishable(found_better),
        rank_shares(np.stack([total for total, _ in sums]), sums[0][1], rng, draws),
    )


def _progress_gap(progress: tuple[ArrayLike, ArrayLike], rng: np.random.Generator, draws: int) -> float | None:
    first, second = numbers("progress of a", progress[0]), numbers("progress of b", progress[1])
    same_length(a=first, b=second)
    return sign_flip(first - second, rng, draws)
