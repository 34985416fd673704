"""Trials as numbers: rates, means, and which trials are pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from vlassess.schema.findings import Average, Gap, Share
from vlassess.schema.interval import Interval
from vlassess.schema.transfer import Correction, Rules, Trial
from vlassess.stats.clusters import cluster_mean, cluster_sums
from vlassess.stats.many import benjamini_hochberg, holm
from vlassess.stats.paired import PairedTable, mcnemar_exact, paired_table, tango_interval
from vlassess.stats.permutation import shuffle, sign_flip
from vlassess.stats.rates import clopper_pearson
from vlassess.stats.stratified import Strata, cochran_mantel_haenszel, paired_strata
from vlassess.stats.unpaired import boschloo, newcombe_interval

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Pair = tuple[Trial, Trial]


class Judge(NamedTuple):
    """Rules and the generator of all random draws, handed through together."""

    rules: Rules
    rng: np.random.Generator

    @property
    def confidence(self) -> float:
        """Of every interval."""
        return 1 - self.rules.alpha


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return items by a key, in the order of their first."""
    found: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return dict(found)


def finished(trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials that have a result."""
    return [trial for trial in trials if trial.success is not None]


def share_of(trials: Iterable[Trial], judge: Judge) -> Share:
    """Return the success rate of the finished trials."""
    results = [bool(trial.success) for trial in finished(trials)]
    return counted(sum(results), len(results), judge)


def counted(successes: int, n: int, judge: Judge) -> Share:
    """Return counts as a rate with its exact interval."""
    return Share(successes, n, successes / n if n else None, _exact(successes, n, judge.confidence))


def progress_of(trials: Iterable[Trial], judge: Judge) -> Average:
    """Return the mean progress of the finished trials that have a score."""
    scores = [(trial.progress, trial.start_key) for trial in finished(trials) if trial.progress is not None]
    return _average([score for score, _ in scores], [start for _, start in scores], judge, (0.0, 1.0))


def progress_gap(pairs: Sequence[Pair], judge: Judge) -> tuple[Average, float | None]:
    """Return the mean paired difference of progress, and the p-value of its sign-flip test over starts."""
    gaps = [
        (a.progress - b.progress, a.start_key) for a, b in pairs if a.progress is not None and b.progress is not None
    ]
    values, starts = [gap for gap, _ in gaps], [start for _, start in gaps]
    p_value = None
    if gaps:
        p_value = sign_flip(cluster_sums(values, starts)[0], judge.rng, judge.rules.draws)
    return _average(values, starts, judge, (-1.0, 1.0)), p_value


def unpaired_progress_gap(
    first: Sequence[Trial], second: Sequence[Trial], judge: Judge
) -> tuple[Average, float | None]:
    """Return the difference of mean progress of two independent arms, and the p-value of its permutation test."""
    a, b = ([one.progress for one in finished(side) if one.progress is not None] for side in (first, second))
    if not a or not b:
        return Average(0, None, None), None
    p_value = shuffle(a, b, judge.rng, judge.rules.draws)
    return Average(min(len(a), len(b)), sum(a) / len(a) - sum(b) / len(b), None), p_value


def pairs_of(first: Iterable[Trial], second: Iterable[Trial]) -> list[Pair]:
    """Return the pairs of finished trials with one start and repeat, in the order of the starts.

    Trials that agree in both, as when one was run twice, are paired in their order.
    """
    a, b = _numbered(finished(first)), _numbered(finished(second))
    return [(a[key], b[key]) for key in sorted(a.keys() & b.keys())]


def compare(first: Sequence[Trial], second: Sequence[Trial], judge: Judge, paired: bool = True) -> Gap | None:
    """Return the first arm minus the second; None where there is nothing to compare.

    Pairs: exact McNemar and Tango's interval; where a start has repeats, a sign-flip test over starts and an interval
    that draws whole starts; with the rule "stratified", the same within tasks, each with the same weight. Unpaired:
    Boschloo and Newcombe, or Mantel and Haenszel within tasks. With the rule "progress", p is that of the scores.
    """
    if not paired:
        gap = _unpaired(finished(first), finished(second), judge)
        if gap is None or judge.rules.test != "progress":
            return gap
        p_value = unpaired_progress_gap(first, second, judge)[1]
        test = "permutation of progress, Newcombe interval of success"
        return replace(gap, p_value=p_value, corrected=p_value, test=test)
    pairs = pairs_of(first, second)
    if not pairs:
        return None
    gap = _paired(pairs, judge)
    if judge.rules.test == "progress":
        p_value = progress_gap(pairs, judge)[1]
        return replace(gap, p_value=p_value, corrected=p_value, test="sign-flip of progress, Tango interval of success")
    return gap


def table_of(pairs: Sequence[Pair]) -> PairedTable:
    """Return the counts of the pairs."""
    return paired_table([bool(a.success) for a, _ in pairs], [bool(b.success) for _, b in pairs])


def corrected(p_values: Sequence[float | None], how: Correction) -> list[float | None]:
    """Return p-values corrected for their number; undefined ones stay so and count for nothing."""
    known = [p for p in p_values if p is not None]
    if how == "none" or not known:
        return list(p_values)
    adjusted = iter((holm if how == "holm" else benjamini_hochberg)(known).tolist())
    return [None if p is None else float(next(adjusted)) for p in p_values]


@lru_cache(maxsize=4096)
def _exact(successes: int, n: int, confidence: float) -> Interval | None:
    """Return `clopper_pearson`; a study asks for the same counts many times."""
    return clopper_pearson(successes, n, confidence)


def _paired(pairs: Sequence[Pair], judge: Judge) -> Gap:
    table = table_of(pairs)
    starts = [a.start_key for a, _ in pairs]
    across = sum(bool(a.session and b.session and a.session != b.session) for a, b in pairs)
    tasks = grouped([a for a, _ in pairs], lambda trial: trial.task)
    strata: Strata | None = None
    if len(set(starts)) < len(starts):
        sums, counts = cluster_sums([float(bool(a.success)) - float(bool(b.success)) for a, b in pairs], starts)
        p_value = sign_flip(sums, judge.rng, judge.rules.draws)
        interval = cluster_mean(sums, counts, judge.rng, judge.confidence, judge.rules.draws, (-1.0, 1.0)).interval
        test = "sign-flip over starts, interval over starts"
    elif judge.rules.test == "stratified" and len(tasks) > 1:
        by_task = grouped(pairs, lambda pair: pair[0].task)
        strata = paired_strata([table_of(own) for own in by_task.values()], judge.confidence)
        p_value, interval, test = strata.p_value, strata.interval, "McNemar within tasks, tasks weigh alike"
    else:
        p_value, interval = mcnemar_exact(table), tango_interval(table, judge.confidence)
        test = "exact McNemar, Tango interval"
    difference = table.difference if strata is None else strata.difference
    return Gap(difference, interval, p_value, p_value, table.pairs, table.only_a, table.only_b, test, True, across)


def _unpaired(first: Sequence[Trial], second: Sequence[Trial], judge: Judge) -> Gap | None:
    if not first or not second:
        return None
    k_a, k_b = (sum(bool(trial.success) for trial in side) for side in (first, second))
    n_a, n_b = len(first), len(second)
    smaller = min(n_a, n_b)
    arms = [grouped(side, lambda trial: trial.task) for side in (first, second)]
    shared = sorted(arms[0].keys() & arms[1].keys())
    if judge.rules.test == "stratified" and len(shared) > 1:
        won = [[sum(bool(trial.success) for trial in arm[task]) for task in shared] for arm in arms]
        size = [[len(arm[task]) for task in shared] for arm in arms]
        strata = cochran_mantel_haenszel(won[0], size[0], won[1], size[1], judge.confidence)
        p_value, test = strata.p_value, "Mantel-Haenszel within tasks"
        return Gap(strata.difference, strata.interval, p_value, p_value, smaller, 0, 0, test, False)
    p_value, interval = boschloo(k_a, n_a, k_b, n_b), newcombe_interval(k_a, n_a, k_b, n_b, judge.confidence)
    test = "Boschloo, Newcombe interval"
    return Gap(k_a / n_a - k_b / n_b, interval, p_value, p_value, smaller, 0, 0, test, False)


def _average(values: Sequence[float], starts: Sequence[str], judge: Judge, bounds: tuple[float, float]) -> Average:
    if not values:
        return Average(0, None, None)
    sums, counts = cluster_sums(values, starts)
    found = cluster_mean(sums, counts, judge.rng, judge.confidence, judge.rules.draws, bounds)
    return Average(len(values), found.estimate, found.interval)


def _numbered(trials: Iterable[Trial]) -> dict[tuple[str, int, int], Trial]:
    seen: Counter[tuple[str, int]] = Counter()
    found = {}
    for trial in trials:
        key = trial.start_key, trial.repeat
        found[trial.start_key, trial.repeat, seen[key]] = trial
        seen[key] += 1
    return found
