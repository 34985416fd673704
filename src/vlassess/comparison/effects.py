"""From pairs, or from unpaired episodes, to effects: which test belongs to which design is decided here alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from vlassess.comparison.pairing import Start
from vlassess.schema.arms import Trial
from vlassess.schema.comparison import Claim, Design, Effect, ProgressEffect, StrataEffect, TasksClaim
from vlassess.stats.clusters import ClusterEstimate, cluster_mean, cluster_sums, hierarchical_difference
from vlassess.stats.paired import PairedTable, mcnemar_exact, paired_table, tango_interval
from vlassess.stats.permutation import shuffle, sign_flip
from vlassess.stats.stratified import Strata, cochran_mantel_haenszel, paired_strata
from vlassess.stats.unpaired import boschloo, newcombe_interval

SEED = 20_260_101
"""Of every resample: the same records give the same numbers."""

CLAIMS: tuple[Literal["these starts", "new starts", "new tasks"], ...] = ("these starts", "new starts", "new tasks")

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Sample:
    """What two arms are compared on: pairs where there are any, else the episodes of the tasks that both ran.

    Attributes:
        starts: The pairs; empty where the arms are compared unpaired.
        a: A's episodes that count.
        b: B's.
    """

    starts: tuple[Start, ...]
    a: tuple[Trial, ...]
    b: tuple[Trial, ...]

    @property
    def paired(self) -> bool:
        """Whether it consists of pairs."""
        return bool(self.starts)

    @property
    def repeated(self) -> bool:
        """Whether a start has more than one episode on a side."""
        return any(len(start.a) > 1 or len(start.b) > 1 for start in self.starts)


def paired_sample(starts: Sequence[Start]) -> Sample:
    """Return the sample that pairs make."""
    a = tuple(trial for start in starts for trial in start.a)
    b = tuple(trial for start in starts for trial in start.b)
    return Sample(tuple(starts), a, b)


def unpaired_sample(a: Sequence[Trial], b: Sequence[Trial]) -> Sample:
    """Return the sample of all episodes with a result in the tasks that both arms ran."""
    scored = [[trial for trial in trials if trial.scored] for trials in (a, b)]
    common = {task_of(trial) for trial in scored[0]} & {task_of(trial) for trial in scored[1]}
    first, second = (tuple(trial for trial in trials if task_of(trial) in common) for trials in scored)
    return Sample((), first, second)


def split(sample: Sample, key: Callable[[Trial], T]) -> dict[T, Sample]:
    """Return a sample's parts by a key of their episodes, in the order of the first arm."""
    if sample.paired:
        starts: dict[T, list[Start]] = {}
        for start in sample.starts:
            starts.setdefault(key(start.a[0]), []).append(start)
        return {one: paired_sample(group) for one, group in starts.items()}
    sides: dict[T, tuple[list[Trial], list[Trial]]] = {}
    for number, arm in enumerate((sample.a, sample.b)):
        for trial in arm:
            sides.setdefault(key(trial), ([], []))[number].append(trial)
    return {one: Sample((), tuple(a), tuple(b)) for one, (a, b) in sides.items()}


def task_of(trial: Trial) -> tuple[str, str]:
    """Return an episode's suite and task."""
    return trial.suite, trial.task


def effect_of(sample: Sample, design: Design) -> Effect:
    """Return how the arms differ: exact McNemar and Tango over pairs, Boschloo and Newcombe without."""
    if not sample.a or not sample.b:
        return Effect(
            n_a=len(sample.a),
            n_b=len(sample.b),
            rate_a=_rate(sample.a),
            rate_b=_rate(sample.b),
            difference=None,
            interval=None,
            method="none",
            p_value=None,
            test="none",
        )
    if sample.repeated:
        return _repeated_effect(sample)
    return _paired_effect(sample, design) if sample.paired else _unpaired_effect(sample, design)


def table_of(sample: Sample) -> PairedTable:
    """Return the counts of single pairs."""
    return paired_table(
        [start.a[0].success for start in sample.starts], [start.b[0].success for start in sample.starts]
    )


def counts_of(sample: Sample) -> tuple[int, int, int, int]:
    """Return successes and episodes of A and of B."""
    return sum(t.success for t in sample.a), len(sample.a), sum(t.success for t in sample.b), len(sample.b)


def over_tasks(sample: Sample, design: Design) -> TasksClaim:
    """Return the difference with tasks as clusters."""
    parts = [part for part in split(sample, task_of).values() if part.a and part.b]
    if sample.paired:
        gaps, tasks = _gaps(sample), _labels(sample)
        found = _cluster(gaps, tasks, design)
    else:
        each = [(_rate(part.a) or 0.0) - (_rate(part.b) or 0.0) for part in parts]
        found = _cluster(np.array(each), np.arange(len(each)), design)
    return TasksClaim(
        tasks=found.clusters,
        difference=found.estimate,
        interval=found.interval,
        method=found.method,
        sentence=_tasks_sentence(found),
    )


def claims_of(sample: Sample) -> tuple[Claim, ...]:
    """Return the difference for each claim where starts were repeated; none where they were not."""
    if not sample.repeated:
        return ()
    rows = [_matrix([[float(t.success) for t in side] for side in arm]) for arm in _sides(sample)]
    found = [
        (claim, hierarchical_difference(rows[0], rows[1], _labels(sample), claim, np.random.default_rng(SEED)))
        for claim in CLAIMS
    ]
    return tuple(Claim(about=claim, difference=one.estimate, interval=one.interval) for claim, one in found)


def strata_of(sample: Sample, design: Design) -> StrataEffect | None:
    """Return the comparison within tasks; None with repeats, or where no task was run by both."""
    parts = [part for part in split(sample, task_of).values() if part.a and part.b]
    if not parts or sample.repeated:
        return None
    confidence = 1 - design.alpha
    if sample.paired:
        found: Strata = paired_strata([table_of(part) for part in parts], confidence)
    else:
        k_a, n_a, k_b, n_b = zip(*(counts_of(part) for part in parts), strict=True)
        found = cochran_mantel_haenszel(k_a, n_a, k_b, n_b, confidence)
    return StrataEffect(
        p_value=found.p_value,
        difference=found.difference,
        interval=found.interval,
        odds_ratio=found.odds_ratio,
        heterogeneity_p=found.heterogeneity_p,
    )


def progress_of(sample: Sample) -> ProgressEffect | None:
    """Return how far the arms came; None where an arm has no progress scores."""
    rng = np.random.default_rng(SEED)
    if sample.paired:
        kept = [start for start in sample.starts if all(t.progress is not None for t in (*start.a, *start.b))]
        a, b = ([_mean_progress(side) for side in arm] for arm in _sides(paired_sample(kept)))
        p_value = sign_flip(np.array(a) - np.array(b), rng) if kept else None
    else:
        a, b = ([t.progress for t in arm if t.progress is not None] for arm in (sample.a, sample.b))
        p_value = shuffle(a, b, rng) if a and b else None
    if not a or not b:
        return None
    means = float(np.mean(a)), float(np.mean(b))
    return ProgressEffect(
        n_a=len(a), n_b=len(b), mean_a=means[0], mean_b=means[1], difference=means[0] - means[1], p_value=p_value
    )


def _paired_effect(sample: Sample, design: Design) -> Effect:
    table = table_of(sample)
    return Effect(
        n_a=table.pairs,
        n_b=table.pairs,
        rate_a=_rate(sample.a),
        rate_b=_rate(sample.b),
        difference=table.difference,
        interval=tango_interval(table, 1 - design.alpha),
        method="Tango",
        p_value=mcnemar_exact(table, design.sides),
        test="McNemar, exact",
        both=table.both,
        only_a=table.only_a,
        only_b=table.only_b,
        neither=table.neither,
    )


def _unpaired_effect(sample: Sample, design: Design) -> Effect:
    counts = counts_of(sample)
    return Effect(
        n_a=counts[1],
        n_b=counts[3],
        rate_a=_rate(sample.a),
        rate_b=_rate(sample.b),
        difference=counts[0] / counts[1] - counts[2] / counts[3],
        interval=newcombe_interval(*counts, 1 - design.alpha),
        method="Newcombe",
        p_value=boschloo(*counts, design.sides),
        test="Boschloo",
    )


def _repeated_effect(sample: Sample) -> Effect:
    """Return the effect over starts with repeats, which are one unit of evidence each."""
    gaps = _gaps(sample)
    rows = [_matrix([[float(t.success) for t in side] for side in arm]) for arm in _sides(sample)]
    rng = np.random.default_rng(SEED)
    found = hierarchical_difference(rows[0], rows[1], _labels(sample), "new starts", rng)
    return Effect(
        n_a=len(sample.a),
        n_b=len(sample.b),
        rate_a=float(np.nanmean(rows[0], axis=1).mean()),
        rate_b=float(np.nanmean(rows[1], axis=1).mean()),
        difference=float(gaps.mean()),
        interval=found.interval,
        method="hierarchical bootstrap, 95 %",
        p_value=sign_flip(gaps, rng),
        test="sign flips of starts, two-sided",
    )


def _cluster(gaps: NDArray[np.float64], tasks: NDArray[np.generic], design: Design) -> ClusterEstimate:
    sums, counts = cluster_sums(gaps, tasks)
    if len(sums) < 2:
        return ClusterEstimate(float(gaps.mean()) if len(gaps) else None, None, "none", len(sums))
    return cluster_mean(sums, counts, np.random.default_rng(SEED), 1 - design.alpha, bounds=(-1.0, 1.0))


def _tasks_sentence(found: ClusterEstimate) -> str:
    if found.clusters < 2 or found.estimate is None or found.interval is None:
        return f"With {found.clusters} task(s), nothing can be said about tasks that were not run."
    low, high = (f"{100 * end:+.1f}" for end in found.interval)
    return (
        f"Taken as {found.clusters} draws of all tasks like these, the difference is "
        f"{100 * found.estimate:+.1f} points ({low} to {high})."
    )


def _gaps(sample: Sample) -> NDArray[np.float64]:
    return np.array([(_rate(start.a) or 0.0) - (_rate(start.b) or 0.0) for start in sample.starts])


def _labels(sample: Sample) -> NDArray[np.int_]:
    numbers: dict[tuple[str, str], int] = {}
    return np.array([numbers.setdefault(task_of(start.a[0]), len(numbers)) for start in sample.starts], dtype=np.int_)


def _sides(sample: Sample) -> tuple[list[tuple[Trial, ...]], list[tuple[Trial, ...]]]:
    return [start.a for start in sample.starts], [start.b for start in sample.starts]


def _matrix(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return rows of different lengths as one array, NaN where a row ends early."""
    wide = max(len(row) for row in rows)
    return np.array([[*row, *[np.nan] * (wide - len(row))] for row in rows])


def _mean_progress(trials: Sequence[Trial]) -> float:
    return float(np.mean([trial.progress for trial in trials if trial.progress is not None]))


def _rate(trials: Sequence[Trial]) -> float | None:
    return sum(trial.success for trial in trials) / len(trials) if trials else None
