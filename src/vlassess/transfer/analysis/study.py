"""A whole study: everything that its trials say, with and without those that somebody marked as unfair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from vlassess.schema.findings import Findings, Gap
from vlassess.schema.transfer import FlagEffect, Rules, Source, TransferAnalysis, Trial
from vlassess.stats.budget import half_width, is_pilot
from vlassess.transfer.analysis.adaptation import curve_findings, retention_findings
from vlassess.transfer.analysis.cells import cell_findings, control_findings, intervention_findings
from vlassess.transfer.analysis.ranks import rankings
from vlassess.transfer.analysis.reality import reality_check
from vlassess.transfer.analysis.trials import Judge, finished

Row = tuple[float | None, str]
"""A rate and a verdict."""


def analyse_study(
    trials: Sequence[Trial], rules: Rules, real: Sequence[Trial] = (), source: Source = "simulation"
) -> TransferAnalysis:
    """Return everything that a study's trials say, the same for every order of the trials.

    Args:
        trials: Of one study, from one source; those without a result are counted, and in no rate.
        rules: As the plan fixed them.
        real: The same cells on the robot, where ``trials`` are simulated: then both are compared.
        source: Where ``trials`` ran.
    """
    kept = sorted(trials, key=_order)
    fair = [trial for trial in kept if not trial.flagged]
    flagged = len(kept) - len(fair)
    every = findings(kept, rules)
    unflagged = findings(fair, rules) if flagged else None
    effects = tuple(_effects(every, unflagged, kept)) if unflagged is not None else ()
    on_robot = analyse_study(real, rules, source="robot") if real else None
    check = reality_check(kept, sorted(real, key=_order), _judge(rules)) if real else None
    notes = (*_pilot(every, rules), *_notes(kept, every, flagged), *_refuted_notes(kept, every, rules))
    return TransferAnalysis(rules, every, unflagged, flagged, effects, source, on_robot, check, notes)


def findings(trials: Sequence[Trial], rules: Rules) -> Findings:
    """Return what one set of trials says."""
    judge = _judge(rules)
    return Findings(
        len(trials),
        len(trials) - len(finished(trials)),
        cell_findings(trials, judge),
        control_findings(trials, judge),
        rankings(trials, judge),
        intervention_findings(trials, judge),
        curve_findings(trials, judge),
        retention_findings(trials, judge),
    )


def _judge(rules: Rules) -> Judge:
    return Judge(rules, np.random.default_rng(rules.seed))


def _order(trial: Trial) -> tuple[object, ...]:
    return (
        trial.policy,
        trial.role,
        trial.cell,
        trial.suite,
        trial.method or "",
        trial.k,
        trial.start_key,
        trial.repeat,
        str(trial.success),
        trial.progress or 0.0,
    )


def _rows(found: Findings) -> Iterator[tuple[tuple[str, str], Row]]:
    for cell in found.cells:
        yield (cell.policy, cell.cell), (cell.share.rate, cell.verdict)
    for curve in found.curves:
        last = curve.points[-1] if curve.points else None
        told = "tau is not identified" if curve.tau is None else f"tau = {curve.tau.estimate:.3g}"
        yield (curve.policy, f"{curve.target}, {curve.method}"), (last.share.rate if last else None, told)
    for one in found.retention:
        yield (one.policy, f"{one.suite}, {one.method}, K = {one.k}"), (one.after.rate, one.verdict)


def _effects(every: Findings, unflagged: Findings, trials: Iterable[Trial]) -> Iterator[FlagEffect]:
    """Yield every cell, curve and retention that leaving out the flagged trials changes."""
    marked = Counter(name for trial in trials if trial.flagged for name in _names(trial))
    without = dict(_rows(unflagged))
    for name, (rate, verdict) in _rows(every):
        rate_without, verdict_without = without.get(name, (None, "nothing to compare"))
        if marked[name] or (rate, verdict) != (rate_without, verdict_without):
            yield FlagEffect(*name, marked[name], rate, rate_without, verdict, verdict_without)


def _names(trial: Trial) -> list[tuple[str, str]]:
    if trial.role == "seen-after":
        return [(trial.policy, f"{trial.suite}, {trial.method}, K = {trial.k}")]
    if trial.role == "few-shot":
        return [(trial.policy, f"{trial.cell}, {trial.method}")]
    return [(trial.policy, trial.cell)]


def _pilot(found: Findings, rules: Rules) -> Iterator[str]:
    """Yield what the number of trials a cell is too small for, by the textbook interval at a rate of one half."""
    n = min((cell.share.n for cell in found.cells if cell.share.n), default=0)
    if n and is_pilot(n, rules.delta, alpha=rules.alpha):
        yield (
            f"With {n} trials a cell this is a pilot for differences of {100 * rules.delta:g} points: the interval of "
            f"a rate reaches {100 * half_width(n, alpha=rules.alpha):.0f} points to either side at 50 %."
        )


def _notes(trials: Sequence[Trial], found: Findings, flagged: int) -> Iterator[str]:
    if found.unfinished:
        yield f"{found.unfinished} of {found.trials} trials have no result; they are in no rate."
    if flagged:
        yield f"{flagged} of {found.trials} trials are flagged as unfair; they count, and are left out beside it."
    across = sum(cell.gap.across_sessions for cell in found.cells)
    if across:
        yield f"{across} pairs of cell and control ran in different sessions; what changed between them is in the gaps."
    changing = {trial.cell for trial in trials if not trial.matched}
    compared = {cell.cell for cell in found.cells if not cell.gap.paired and cell.gap.difference is not None}
    unpaired = sorted(changing & compared)
    if unpaired:
        yield f"Not paired with their controls, since they change the start: {', '.join(unpaired)}."
    alone = sorted({cell.cell for cell in found.cells if cell.verdict == "nothing to compare"})
    if alone:
        yield f"Without a control to compare with: {', '.join(alone)}."
    repeats = {(trial.policy, trial.role, trial.cell) for trial in trials if trial.repeat}
    if repeats:
        yield (
            "Starts were repeated. Repeats of one start are not independent, so gaps and retention take whole starts; "
            "exact intervals of single rates, and curves, do not."
        )


def _refuted_notes(trials: Sequence[Trial], found: Findings, rules: Rules) -> Iterator[str]:
    """Yield how many trials are in no pair, since measured starts refute it, and what counting them would change."""
    refuted = sum(bool(trial.refuted_key) for trial in trials)
    if not refuted:
        return
    yield (
        f"{refuted} of {found.trials} trials did not begin in the measured state of the others with their key, or "
        "nobody measured it: they are in the rates, and in no pair with these."
    )
    keyed = [replace(one, start_key=one.refuted_key or one.start_key, refuted_key="") for one in trials]
    with_them = dict(_compared(findings(sorted(keyed, key=_order), rules)))
    for name, (gap, verdict) in _compared(found):
        gap_with, verdict_with = with_them[name]
        if (gap.pairs, gap.paired) != (gap_with.pairs, gap_with.paired):
            yield f"{name}: {_told(gap)}, {verdict}; with the refuted pairs {_told(gap_with)}, {verdict_with}."


def _compared(found: Findings) -> Iterator[tuple[str, tuple[Gap, str]]]:
    for cell in found.cells:
        yield f"{cell.policy}, {cell.cell}", (cell.gap, cell.verdict)
    for one in found.retention:
        yield f"{one.policy}, {one.suite}, {one.method}, K = {one.k}", (one.change, one.verdict)


def _told(gap: Gap) -> str:
    if gap.difference is None:
        return "no pair"
    return f"{100 * gap.difference:+.0f} points over {gap.pairs} {'pairs' if gap.paired else 'unpaired trials'}"
