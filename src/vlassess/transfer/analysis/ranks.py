"""Rankings of policies and of cells, where the budget supports them, and the reason where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from vlassess.schema.findings import Ranked, Ranking
from vlassess.schema.transfer import Trial
from vlassess.stats.budget import paired
from vlassess.stats.clusters import cluster_sums
from vlassess.stats.many import better, indistinguishable, rank_intervals
from vlassess.stats.permutation import sign_flip
from vlassess.transfer.analysis.trials import Judge, finished, grouped, pairs_of

Arm = Mapping[str, float]
"""Start -> what is ranked: success of a policy, or success of a cell minus that of its control."""


def rankings(trials: Sequence[Trial], judge: Judge) -> tuple[Ranking, ...]:
    """Return the order of policies in each cell and of cells for each policy, or why there is none.

    Definition: a ranking is supported where every two that it would rank share as many starts as find a difference
    of ``delta`` with the study's power (`vlassess.stats.budget.paired`, where as many pairs differ as the observed
    variance says, were the difference ``delta``), or as many as the plan worked out; never fewer than if only such
    pairs differed as make up ``delta``. Then every two are compared by the exact sign test (McNemar) or, where
    starts differ by other numbers than -1 and 1, by a sign-flip test; p-values are corrected by Holm over the pairs,
    alpha is divided by the number of rankings of the kind, and ranks are those of
    `vlassess.stats.many.rank_intervals`.
    """
    frozen = [trial for trial in trials if trial.role in ("cell", "control")]
    cells = grouped([trial for trial in frozen if trial.role == "cell"], lambda trial: trial.cell)
    by_cell = {name: _policies(own) for name, own in cells.items()}
    by_policy = {name: _gaps(own) for name, own in grouped(frozen, lambda trial: trial.policy).items()}
    found = []
    kinds: tuple[tuple[Literal["policies", "cells"], dict[str, dict[str, Arm]]], ...] = (
        ("policies", by_cell),
        ("cells", by_policy),
    )
    for kind, scopes in kinds:
        several = {name: arms for name, arms in scopes.items() if len(arms) > 1}
        found += [_ranking((kind, name), arms, judge, len(several)) for name, arms in several.items()]
    return tuple(found)


def _policies(trials: Sequence[Trial]) -> dict[str, Arm]:
    return {
        policy: _by_start([(trial.start_key, float(bool(trial.success))) for trial in own])
        for policy, own in grouped(finished(trials), lambda trial: trial.policy).items()
    }


def _gaps(trials: Sequence[Trial]) -> dict[str, Arm]:
    """Return the gaps of one policy's cells; those whose starts are not their controls' have none."""
    controls = grouped([trial for trial in trials if trial.role == "control"], lambda trial: trial.cell)
    cells = grouped([trial for trial in trials if trial.role == "cell" and trial.matched], lambda trial: trial.cell)
    found = {}
    for name, own in cells.items():
        pairs = pairs_of(own, controls.get(own[0].control, ()))
        if pairs:
            found[name] = _by_start([(a.start_key, float(bool(a.success)) - float(bool(b.success))) for a, b in pairs])
    return found


def _by_start(values: Sequence[tuple[str, float]]) -> Arm:
    starts = [start for start, _ in values]
    sums, counts = cluster_sums([value for _, value in values], starts)
    return dict(zip(sorted(set(starts)), (sums / counts).tolist(), strict=True))


def _ranking(
    scope: tuple[Literal["policies", "cells"], str], arms: Mapping[str, Arm], judge: Judge, number: int
) -> Ranking:
    kind, name = scope
    names, size = list(arms), len(arms)
    gaps, p_values = np.zeros((size, size)), np.ones((size, size))
    shared, needed = [], 0
    for i, j in combinations(range(size), 2):
        values = _differences(arms[names[i]], arms[names[j]])
        shared.append(len(values))
        needed = max(needed, _needed(values, judge))
        if len(values):
            gaps[i, j], p_values[i, j] = float(values.mean()), _p_value(values, judge)
    starts = min(shared)
    claim = f"telling {kind} {100 * judge.rules.delta:g} points apart with power {judge.rules.power:g} needs {needed}"
    reason = f"{starts} matched starts; {claim}"
    wins = better(gaps, p_values, judge.rules.alpha / number)
    apart = tuple((names[i], names[j]) for i, j in zip(*np.nonzero(wins), strict=True))
    if starts < needed:
        return Ranking(kind, name, False, starts, needed, reason, apart=apart)
    ranks = rank_intervals(wins)
    means = [float(np.mean(list(arms[one].values()))) for one in names]
    order = sorted(range(size), key=lambda index: (-means[index], names[index]))
    alike = tuple(tuple(names[index] for index in group) for group in indistinguishable(wins) if len(group) > 1)
    ranked = tuple(Ranked(names[index], means[index], ranks[index].low, ranks[index].high) for index in order)
    return Ranking(kind, name, True, starts, needed, reason, ranked, alike, apart)


def _differences(first: Arm, second: Arm) -> NDArray[np.float64]:
    return np.array([first[start] - second[start] for start in sorted(first.keys() & second.keys())])


def _p_value(values: NDArray[np.float64], judge: Judge) -> float:
    told = values[np.abs(values) > 1e-9]
    if len(told) == 0:
        return 1.0
    if np.allclose(np.abs(told), 1.0):
        return float(binomtest(int((told > 0).sum()), len(told), 0.5).pvalue)
    return sign_flip(told, judge.rng, judge.rules.draws) or 1.0


def _needed(values: NDArray[np.float64], judge: Judge) -> int:
    rules = judge.rules
    least = paired(rules.delta, rules.delta, rules.power, rules.alpha).n
    if rules.ranking_pairs is not None:
        return max(least, rules.ranking_pairs)
    # Were their difference delta: a large difference makes many pairs differ, but is not harder to see for that.
    differ = float(values.var()) + rules.delta**2 if len(values) else 1.0
    return max(least, paired(rules.delta, min(1.0, max(rules.delta, differ)), rules.power, rules.alpha).n)
