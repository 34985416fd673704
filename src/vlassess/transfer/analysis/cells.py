"""Cells beside their controls, and how often somebody helped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vlassess.schema.cells import GapVerdict
from vlassess.schema.findings import (
    CellFinding,
    ControlFinding,
    Gap,
    InterventionFinding,
)
from vlassess.schema.transfer import Trial
from vlassess.transfer.analysis.trials import (
    Judge,
    compare,
    corrected,
    counted,
    finished,
    grouped,
    pairs_of,
    progress_gap,
    progress_of,
    share_of,
    unpaired_progress_gap,
)

NOTHING = Gap(None, None, None, None, 0, 0, 0, "none", False)
"""What a cell without a trial, or without a control, has for a gap."""


def cell_findings(trials: Sequence[Trial], judge: Judge) -> tuple[CellFinding, ...]:
    """Return every cell beside its control, p-values corrected over the cells of a policy."""
    found: list[CellFinding] = []
    for own in grouped(trials, lambda trial: trial.policy).values():
        controls = grouped([trial for trial in own if trial.role == "control"], lambda trial: trial.cell)
        cells = grouped([trial for trial in own if trial.role == "cell"], lambda trial: trial.cell)
        rows = [_cell(inside, controls.get(inside[0].control, []), judge) for inside in cells.values()]
        gaps = corrected([row.gap.p_value for row in rows], judge.rules.correction)
        scores = corrected([row.progress_p for row in rows], judge.rules.correction)
        for row, gap_p, score_p in zip(rows, gaps, scores, strict=True):
            gap = replace(row.gap, corrected=gap_p)
            found.append(replace(row, gap=gap, progress_p=score_p, verdict=_verdict(row, gap_p, judge)))
    return tuple(found)


def control_findings(trials: Sequence[Trial], judge: Judge) -> tuple[ControlFinding, ...]:
    """Return every control of every policy."""
    controls = grouped([trial for trial in trials if trial.role == "control"], lambda trial: (trial.policy, trial.cell))
    return tuple(
        ControlFinding(policy, name, share_of(own, judge), progress_of(own, judge), len(own) - len(finished(own)))
        for (policy, name), own in controls.items()
    )


def intervention_findings(trials: Sequence[Trial], judge: Judge) -> tuple[InterventionFinding, ...]:
    """Return how often somebody helped, where somebody counted."""
    known = [trial for trial in finished(trials) if trial.interventions is not None]
    found = []
    for (policy, role, cell), own in grouped(known, lambda t: (t.policy, t.role, t.cell or t.suite)).items():
        helped = [trial.interventions or 0 for trial in own]
        alone = sum(bool(trial.success) and not trial.interventions for trial in own)
        intervened = counted(sum(count > 0 for count in helped), len(own), judge)
        unaided = counted(alone, len(own), judge)
        found.append(InterventionFinding(policy, cell, role, intervened, sum(helped) / len(own), unaided))
    return tuple(found)


def _cell(inside: Sequence[Trial], control: Sequence[Trial], judge: Judge) -> CellFinding:
    first = inside[0]
    # Where measured states refute every pair, the arms are compared as independent ones.
    refuted = any(one.refuted_key for one in (*inside, *control)) and not pairs_of(inside, control)
    paired = first.matched and not refuted
    gap = compare(inside, control, judge, paired)
    if paired:
        progress, p_value = progress_gap(pairs_of(inside, control), judge)
    else:
        progress, p_value = unpaired_progress_gap(inside, control, judge)
    return CellFinding(
        policy=first.policy,
        cell=first.cell,
        axis=first.axis,
        level=first.level,
        control=first.control,
        share=share_of(inside, judge),
        control_share=share_of(control, judge),
        progress=progress_of(inside, judge),
        gap=gap or NOTHING,
        progress_gap=progress,
        progress_p=p_value,
        verdict="nothing to compare",
        unfinished=len(inside) - len(finished(inside)),
    )


def _verdict(row: CellFinding, p_value: float | None, judge: Judge) -> GapVerdict:
    way = row.progress_gap.mean if judge.rules.test == "progress" else row.gap.difference
    if p_value is None or way is None:
        return "nothing to compare"
    if p_value > judge.rules.alpha or way == 0:
        return "no difference found"
    return "better" if way > 0 else "worse"
