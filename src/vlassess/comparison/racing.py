"""The sequential test between two arms, from their records alone."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from vlassess.comparison.blocks import Place, Race
from vlassess.schema.arms import Arm, Trial
from vlassess.schema.comparison import SequentialResult


@dataclass(frozen=True)
class RaceResult:
    """What the test came to, and the arms with their finished blocks alone."""

    result: SequentialResult
    a: Arm
    b: Arm


def race_between(a: Arm, b: Arm, alpha: float) -> RaceResult | None:
    """Return the sequential comparison of A and B; None where no run of theirs has blocks for the other.

    Blocks are those of the arm whose run has a stopping rule against the other arm. Who is A and who is B there does
    not matter: the test has no preferred side.
    """
    owner = next((one for one, other in ((a, b), (b, a)) if _races(one, other)), None)
    if owner is None:
        return None
    other = b if owner is a else a
    blocks = {_place(trial): trial.block for trial in owner.trials if trial.block is not None}
    running = {"a" if owner is a else "b": set(blocks)}
    reads = _races(other, owner)
    if reads:  # both are of one run
        running["b" if owner is a else "a"] = set(blocks)
    race = Race(blocks, running, {}, alpha)
    for label, arm in sorted((("a", a), ("b", b)), key=lambda pair: pair[1] is owner):
        for trial in arm.trials:
            if trial.scored and trial.repeat == 0:
                race.tell(label, _place(trial), trial.success)
    kept = {place for place, block in blocks.items() if block < race.finished}
    state = race.state
    result = SequentialResult(
        blocks=race.finished,
        planned_blocks=race.planned,
        pairs=state.pairs,
        difference=state.difference,
        interval=state.interval,
        p_value=state.p_value,
        decided=state.decided,
        decided_at=race.decided_at,
    )
    return RaceResult(result, _only(a, kept), _only(b, kept))


def _races(one: Arm, other: Arm) -> bool:
    return bool(one.rival) and one.rival == other.origin and any(trial.block is not None for trial in one.trials)


def _place(trial: Trial) -> Place:
    return Place(trial.suite, trial.task, trial.index, trial.cell)


def _only(arm: Arm, kept: set[Place]) -> Arm:
    return dataclasses.replace(arm, trials=tuple(trial for trial in arm.trials if _place(trial) in kept))
