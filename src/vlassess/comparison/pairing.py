"""Which episodes of two arms are pairs: the plan's keys say what was meant, the measured states prove it.

Two episodes are paired if their pair keys and perturbations match and their measured initial states agree within 1e-6
in every named component that neither perturbation may touch. What cannot be proved is never assumed: it is dropped
with its reason, or kept and marked as doubtful where only a part of the proof is missing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vlassess.schema.arms import Arm, Cell, Touch, Trial

TOLERANCE = 1e-6
"""Largest difference of one number of the initial state."""

NO_PARTNER, ERROR, MISSING = "no partner", "ended in an error", "was not run"
DIFFERS, UNMEASURED = "initial states differ", "no initial state was measured"


class Start(NamedTuple):
    """One start that both arms had: a pair, or with repeats several episodes on each side.

    Attributes:
        a: A's episodes with a result, at least one.
        b: B's.
        doubts: Why it may be no pair, one sentence each; empty for most.
    """

    a: tuple[Trial, ...]
    b: tuple[Trial, ...]
    doubts: tuple[str, ...]


class Drop(NamedTuple):
    """Episodes of one start that are in no pair.

    Attributes:
        reason: One of a few words, for counting.
        place: Which start, and of which arm.
        detail: What exactly.
    """

    reason: str
    place: str
    detail: str


@dataclass(frozen=True)
class Pairing:
    """What the records say of two arms' starts.

    Attributes:
        starts: The pairs.
        dropped: What is in none.
        shared: Starts that both arms planned by the same key.
        impossible: Why there can be no pair at all; empty where there can.
    """

    starts: tuple[Start, ...]
    dropped: tuple[Drop, ...]
    shared: int
    impossible: str = ""

    @property
    def refuted(self) -> int:
        """How many starts have one key, but were measured to be different."""
        return sum(drop.reason == DIFFERS for drop in self.dropped)

    @property
    def sure(self) -> tuple[Start, ...]:
        """The pairs without a doubt."""
        return tuple(start for start in self.starts if not start.doubts)


def match(a: Arm, b: Arm, cell: Cell = ()) -> Pairing:
    """Return which starts of one cell the arms share.

    Args:
        a: One arm.
        b: The other.
        cell: The perturbation that both had.
    """
    mine, theirs = _of_cell(a, cell), _of_cell(b, cell)
    impossible = _impossible(a, b, cell, (mine, theirs))
    if impossible:
        return Pairing((), (), 0, impossible)
    by_key = _by_key(mine), _by_key(theirs)
    shared = [key for key in by_key[0] if key in by_key[1]]
    found: list[Start] = []
    dropped = [*_without_partner(by_key[0], by_key[1], a.label), *_without_partner(by_key[1], by_key[0], b.label)]
    between = _doubts_of(a, b)
    touches = {**b.touches, **a.touches}
    for key in shared:
        pairs = by_key[0][key], by_key[1][key]
        dropped += [drop for arm, trials in zip((a, b), pairs, strict=True) for drop in _without_result(arm, trials)]
        scored = [tuple(trial for trial in trials if trial.scored) for trials in pairs]
        if not all(scored):
            continue
        judged = judge(scored[0], scored[1], touches)
        if isinstance(judged, Drop):
            dropped.append(judged)
        else:
            found.append(Start(scored[0], scored[1], (*between, *judged)))
    return Pairing(tuple(found), tuple(dropped), len(shared))


def judge(a: Sequence[Trial], b: Sequence[Trial], touches: Mapping[str, Touch]) -> tuple[str, ...] | Drop:
    """Return the doubts about episodes that should share a start, or why they do not.

    Args:
        a: Episodes of one arm, at least one.
        b: Of the other.
        touches: What each axis may change.
    """
    first = a[0]
    doubts: dict[str, None] = {}
    for other in (*a[1:], *b):
        free = {
            name for axis, _ in (*first.cell, *other.cell) for name in (touches[axis].names if axis in touches else ())
        }
        verdict = compare_states(first.state, other.state, free)
        if verdict.refuted:
            return Drop(verdict.reason, first.place, verdict.detail)
        if verdict.detail:
            doubts[verdict.detail] = None
        if first.instruction != other.instruction and "instruction" not in free:
            doubts["the instructions differ"] = None
        if None not in (first.step_limit, other.step_limit) and first.step_limit != other.step_limit:
            doubts[f"the step limits differ ({first.step_limit} and {other.step_limit})"] = None
    return tuple(doubts)


class StateVerdict(NamedTuple):
    """What two measured states say: refuted, or agreed with a doubt in ``detail``, or agreed with none."""

    refuted: bool
    reason: str
    detail: str


def compare_states(a: Mapping[str, Any], b: Mapping[str, Any], free: Iterable[str] = ()) -> StateVerdict:
    """Return whether two initial states agree in every component outside ``free``."""
    ignored = set(free)
    names = [name for name in dict.fromkeys((*a, *b)) if name not in ignored]
    common = [name for name in names if name in a and name in b]
    if not common:
        return StateVerdict(True, UNMEASURED, "no component was measured on both sides")
    gaps = {name: _gap(a[name], b[name]) for name in common}
    apart = {name: gap for name, gap in gaps.items() if gap > TOLERANCE}
    if apart:
        worst = max(apart, key=apart.__getitem__)
        by = f"differs by {apart[worst]:.3g}" if math.isfinite(apart[worst]) else "has another shape, or no number"
        more = f", and {len(apart) - 1} more" if len(apart) > 1 else ""
        return StateVerdict(True, DIFFERS, f"component {worst!r} {by}{more}")
    lacking = [name for name in names if name not in common]
    if lacking:
        shown = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
        return StateVerdict(False, "", f"components measured on one side only: {shown}")
    return StateVerdict(False, "", "")


def _gap(a: Any, b: Any) -> float:
    """Return the largest difference of two components; infinite where shapes differ or one holds no number."""
    try:
        first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    except (TypeError, ValueError):
        return 0.0 if a == b else math.inf
    if first.shape != second.shape:
        return math.inf
    with np.errstate(invalid="ignore"):
        apart = np.abs(first - second)
    apart[(first == second) | (np.isnan(first) & np.isnan(second))] = 0.0
    largest = float(apart.max(initial=0.0))
    return largest if math.isfinite(largest) else math.inf


def _impossible(a: Arm, b: Arm, cell: Cell, trials: tuple[Sequence[Trial], Sequence[Trial]]) -> str:
    for arm in (a, b):
        if arm.unpairable:
            return f"{arm.label}: {arm.unpairable}"
    axes = [axis for axis, _ in cell if axis in a.touches and not a.touches[axis].paired]
    if axes:
        return f"the axis {axes[0]!r} changes the start itself, so its cells are never paired"
    if a.benchmark != b.benchmark:
        return f"the benchmark's versions differ ({a.benchmark} and {b.benchmark})"
    if not {trial.pair_key for trial in trials[0]} & {trial.pair_key for trial in trials[1]}:
        return "they have no planned start in common"
    return ""


def _of_cell(arm: Arm, cell: Cell) -> list[Trial]:
    return [trial for trial in arm.trials if trial.cell == cell]


def _by_key(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        if trial.pair_key is not None:
            found[trial.pair_key].append(trial)
    return dict(found)


def _without_partner(mine: Mapping[str, list[Trial]], theirs: Mapping[str, list[Trial]], label: str) -> list[Drop]:
    return [
        Drop(NO_PARTNER, f"{trials[0].place} of {label}", "the other arm did not plan this start")
        for key, trials in mine.items()
        if key not in theirs
    ]


def _without_result(arm: Arm, trials: Iterable[Trial]) -> list[Drop]:
    reasons = {"error": ERROR, "missing": MISSING}
    return [
        Drop(reasons[trial.ended], f"{trial.place} of {arm.label}", f"{arm.label} {reasons[trial.ended]}")
        for trial in trials
        if not trial.scored
    ]


def _doubts_of(a: Arm, b: Arm) -> tuple[str, ...]:
    """Return what makes every pair of the two arms doubtful."""
    names = [name for name in dict.fromkeys((*a.conduct, *b.conduct)) if a.conduct.get(name) != b.conduct.get(name)]
    return tuple(f"{name} differs ({a.conduct.get(name)} and {b.conduct.get(name)})" for name in names)
