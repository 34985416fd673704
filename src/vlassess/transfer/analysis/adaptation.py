"""What demonstrations bring and what they cost: few-shot curves, and retention on the seen suite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from vlassess.schema.findings import CurveFinding, CurvePoint, RetentionFinding, RetentionVerdict
from vlassess.schema.transfer import Trial
from vlassess.stats.clusters import cluster_sums
from vlassess.stats.curves import CurveFit, curve_band, fit_curve, start_inflation
from vlassess.stats.many import holm
from vlassess.stats.paired import tango_score
from vlassess.stats.ratio import paired_ratio_interval
from vlassess.transfer.analysis.cells import NOTHING
from vlassess.transfer.analysis.trials import (
    Judge,
    Pair,
    compare,
    counted,
    finished,
    grouped,
    pairs_of,
    share_of,
    table_of,
)

FROZEN = "frozen"
"""What the method is called where no trial names one."""


def curve_findings(trials: Sequence[Trial], judge: Judge) -> tuple[CurveFinding, ...]:
    """Return the few-shot curve of every policy, target and adaptation method."""
    targets = grouped([one for one in trials if one.role == "few-shot"], lambda trial: (trial.policy, trial.cell))
    found = []
    for (policy, target), own in targets.items():
        zero = [trial for trial in own if trial.k == 0]
        if not zero:
            zero = [one for one in trials if one.role == "cell" and (one.policy, one.cell) == (policy, target)]
        methods = dict.fromkeys(trial.method for trial in own if trial.method is not None and trial.k > 0)
        for method in methods:
            shown = [trial for trial in zero if trial.method in (None, method)]
            shown += [trial for trial in own if trial.k > 0 and trial.method == method]
            found.append(_curve((policy, target, method), shown, judge))
    return tuple(found)


def retention_findings(trials: Sequence[Trial], judge: Judge) -> tuple[RetentionFinding, ...]:
    """Return what is left of the seen suite for every policy, suite, adaptation method and K."""
    before = grouped([one for one in trials if one.role == "seen-before"], lambda trial: (trial.policy, trial.suite))
    after = grouped([one for one in trials if one.role == "seen-after"], lambda trial: (trial.policy, trial.suite))
    found: list[RetentionFinding] = []
    for (policy, suite), own in after.items():
        arms = grouped(own, lambda trial: (trial.method or FROZEN, trial.k))
        start = before.get((policy, suite), [])
        judged = [_retention((policy, suite, *arm), after_it, start, judge) for arm, after_it in sorted(arms.items())]
        found += _decided(judged, judge)
    return tuple(found)


def _curve(what: tuple[str, str, str], trials: Sequence[Trial], judge: Judge) -> CurveFinding:
    by_k = dict(sorted(grouped(finished(trials), lambda trial: trial.k).items()))
    points = tuple(CurvePoint(k, share_of(own, judge)) for k, own in by_k.items())
    outcomes, matched = _outcomes(by_k)
    fit, band = None, None
    if points:
        levels, won = list(by_k), [point.share.successes for point in points]
        size = [point.share.n for point in points]
        fit = fit_curve(levels, won, size, judge.confidence)
        if fit is not None and matched:
            inflation = start_inflation(outcomes, levels, fit.curve)
            fit = fit_curve(levels, won, size, judge.confidence, inflation)
        if fit is not None:
            band = curve_band(outcomes, levels, fit, judge.rng, matched, min(judge.rules.draws, 400))
    finding = CurveFinding(*what, points, None, None, None, "too few K", None, None, None, matched, band)
    return finding if fit is None else _fitted(finding, fit)


def _fitted(finding: CurveFinding, fit: CurveFit) -> CurveFinding:
    reason, tau = fit.unidentified, fit.tau
    saturated = reason in (None, "risen before the smallest K")
    return replace(
        finding,
        s0=None if reason == "flat" else fit.s0,
        s_inf=fit.s_inf if saturated else None,
        tau=tau if reason is None else None,
        unidentified=reason,
        tau_at_most=tau.high if reason is not None and reason != "flat" else None,
        tau_at_least=tau.low if reason is not None and reason != "flat" and tau.low > 0 else None,
        flat_p=fit.flat_p,
    )


def _outcomes(by_k: dict[int, list[Trial]]) -> tuple[NDArray[np.float64], bool]:
    """Return outcomes as (rows, values of K), NaN where there is none, and whether a row is one start."""
    columns = [{(trial.start_key, trial.repeat): float(bool(trial.success)) for trial in own} for own in by_k.values()]
    unique = all(len(column) == len(own) for column, own in zip(columns, by_k.values(), strict=True))
    starts = sorted(set().union(*columns)) if columns else []
    apart = len({start for start, _ in starts}) == len(starts)
    if unique and apart and columns and all(len(column) == len(starts) for column in columns):
        return np.array([[column[start] for column in columns] for start in starts]), True
    rows = max((len(own) for own in by_k.values()), default=0)
    found = np.full((rows, len(by_k)), np.nan)
    for index, own in enumerate(by_k.values()):
        found[: len(own), index] = [float(bool(trial.success)) for trial in own]
    return found, False


def _retention(
    what: tuple[str, str, str, int], after: Sequence[Trial], before: Sequence[Trial], judge: Judge
) -> tuple[RetentionFinding, float]:
    """Return a finding without its verdict, and the p-value of "the loss is the margin or less"."""
    pairs, rules = pairs_of(after, before), judge.rules
    table = table_of(pairs)
    before_it = counted(table.both + table.only_b, table.pairs, judge)
    after_it = counted(table.both + table.only_a, table.pairs, judge)
    change = compare(after, before, Judge(replace(rules, test="exact"), judge.rng)) or NOTHING
    found = RetentionFinding(
        *what, before_it, after_it, change, None, None, rules.margin, None, None, "nothing to compare", None
    )
    if not pairs:
        return found, 1.0
    differ = max(table.discordant, 1) / table.pairs
    kept_p, lost_p = _against_margin(pairs, rules.margin)
    found = replace(
        found,
        ratio=after_it.successes / before_it.successes if before_it.successes else None,
        ratio_interval=paired_ratio_interval(table, judge.confidence),
        p_value=kept_p,
        needed=math.ceil(differ * ((norm.isf(rules.alpha) + norm.isf(1 - rules.power)) / rules.margin) ** 2),
    )
    return found, lost_p


def _against_margin(pairs: Sequence[Pair], margin: float) -> tuple[float, float]:
    """Return the p-values of "the loss is the margin or more" and of "it is the margin or less".

    Tango's score; where starts were repeated, Student's t over the starts' mean differences.
    """
    starts = [after.start_key for after, _ in pairs]
    if len(set(starts)) == len(starts):
        score = tango_score(table_of(pairs), -margin)
        return float(norm.sf(score)), float(norm.cdf(score))
    gaps = [float(bool(after.success)) - float(bool(before.success)) for after, before in pairs]
    sums, counts = cluster_sums(gaps, starts)
    error = float(np.std(sums / counts, ddof=1)) / math.sqrt(len(sums)) if len(sums) > 1 else 0.0
    if error == 0.0:
        return 1.0, 1.0
    score = (float(np.mean(sums / counts)) + margin) / error
    return float(t.sf(score, len(sums) - 1)), float(t.cdf(score, len(sums) - 1))


def _decided(judged: Sequence[tuple[RetentionFinding, float]], judge: Judge) -> list[RetentionFinding]:
    """Return findings with p-values corrected over the claims, and their verdicts."""
    known = [entry for entry in judged if entry[0].p_value is not None]
    kept = holm([one.p_value for one, _ in known if one.p_value is not None]).tolist()
    lost = holm([p_value for _, p_value in known]).tolist()
    changed = holm([one.change.p_value or 0.0 for one, _ in known]).tolist()
    alpha, decided = judge.rules.alpha, []
    for (one, _), kept_p, lost_p, changed_p in zip(known, kept, lost, changed, strict=True):
        verdict: RetentionVerdict = "not shown"
        if kept_p <= alpha:
            verdict = "retained"
        elif lost_p <= alpha:
            verdict = "forgotten"
        elif changed_p <= alpha and (one.change.difference or 0.0) < 0:
            verdict = "lower"
        decided.append(replace(one, corrected=kept_p, verdict=verdict, change=replace(one.change, corrected=changed_p)))
    return decided + [one for one, _ in judged if one.p_value is None]
