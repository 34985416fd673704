"""What each cell costs: its success rate against that of its control, over the starts that both had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vlassess.comparison.effects import Sample, effect_of, paired_sample, unpaired_sample
from vlassess.comparison.pairing import DIFFERS, ERROR, MISSING, NO_PARTNER, Start, compare_states
from vlassess.schema.arms import Arm, Trial
from vlassess.schema.cells import GapVerdict, PlannedCell
from vlassess.schema.comparison import Design, Effect
from vlassess.stats.many import holm
from vlassess_link.specs import BenchmarkSpec


@dataclass(frozen=True)
class Gap:
    """One cell against its control.

    Attributes:
        effect: The cell is A, the control B.
        paired: Over pairs.
        dropped: Why starts are in no pair -> how many.
    """

    effect: Effect
    paired: bool
    dropped: dict[str, int]


def gap_of(cell: PlannedCell, arm: Arm, spec: BenchmarkSpec, alpha: float) -> Gap:
    """Return the difference between a cell and its control, of one policy.

    Paired, unless the axis changes the start itself: an episode of the cell and one of the control are a pair if they
    have one pair key and their measured initial states agree in everything that the cell's level may not change.

    Args:
        cell: Which.
        arm: All episodes of one policy.
        spec: Says what the axis may change.
        alpha: 1 minus the confidence of the interval.
    """
    (axis,) = (axis for axis in spec.axes if axis.name == cell.axis)
    mine, control = _of(arm, cell.key), _of(arm, cell.control_key)
    design = _design(alpha)
    if axis.control == "unpaired":
        return Gap(effect_of(unpaired_sample(mine, control), design), False, {})
    free = axis.may_change([camera.name for camera in spec.cameras], cell.level)
    sample, dropped = _pairs(mine, control, free)
    return Gap(effect_of(sample, design), True, dropped)


def adjusted(gaps: Sequence[Gap | None]) -> list[float | None]:
    """Return the p-values of the gaps adjusted for all of them (Holm); None is a cell of which nothing is said."""
    told = [i for i, gap in enumerate(gaps) if gap is not None and gap.effect.p_value is not None]
    found: list[float | None] = [None] * len(gaps)
    for i, value in zip(told, holm([_p_value(gaps[i]) for i in told]), strict=True):
        found[i] = float(value)
    return found


def verdict_of(gap: Gap, p_value: float | None, alpha: float) -> GapVerdict:
    """Return what may be said of a gap whose adjusted p-value is given."""
    if p_value is None or gap.effect.difference is None:
        return "nothing to compare"
    if p_value > alpha or not gap.effect.difference:
        return "no difference found"
    return "better" if gap.effect.difference > 0 else "worse"


def _pairs(mine: Sequence[Trial], control: Sequence[Trial], free: Iterable[str]) -> tuple[Sample, dict[str, int]]:
    cells, controls = _by_start(mine), _by_start(control)
    starts, dropped = [], Counter[str]()
    for key in dict.fromkeys((*cells, *controls)):
        if key not in cells or key not in controls:
            dropped[NO_PARTNER] += 1
            continue
        a, b = ([trial for trial in trials if trial.scored] for trials in (cells[key], controls[key]))
        if not a or not b:
            ended = {trial.ended for trial in (*cells[key], *controls[key])}
            dropped[ERROR if "error" in ended else MISSING] += 1
            continue
        refuted = _refuted(a, b, free)
        if refuted:
            dropped[refuted] += 1
        else:
            starts.append(Start(tuple(a), tuple(b), ()))
    return paired_sample(starts), dict(dropped)


def _refuted(a: Sequence[Trial], b: Sequence[Trial], free: Iterable[str]) -> str:
    """Return why the episodes do not share their start; empty where they do."""
    for other in b:
        verdict = compare_states(a[0].state, other.state, free)
        # An axis that may change every component leaves none to disagree in.
        if verdict.refuted and (verdict.reason == DIFFERS or not a[0].state or not other.state):
            return verdict.reason
    return ""


def _by_start(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.pair_key or "", []).append(trial)
    return found


def _of(arm: Arm, key: tuple[tuple[str, str], ...]) -> list[Trial]:
    return [trial for trial in arm.trials if trial.cell == key]


def _p_value(gap: Gap | None) -> float:
    assert gap is not None
    assert gap.effect.p_value is not None
    return gap.effect.p_value


def _design(alpha: float) -> Design:
    return Design(
        test="exact",
        alpha=alpha,
        sides="two-sided",
        margin=None,
        fixed_before=True,
        declared_by=None,
        changes=(),
        notes=(),
    )
