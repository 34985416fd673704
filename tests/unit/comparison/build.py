"""Arms made by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vlassess.comparison import design_of
from vlassess.schema.arms import Arm, Ended, Touch, Trial
from vlassess.schema.comparison import Design

STATE = {"x": [0.25], "goal": [4.0]}


def trial_of(index: int, success: bool | Ended = True, task: str = "to-4", **changes: Any) -> Trial:
    """One episode of the task; its start is a function of task and index."""
    ended: Ended = success if isinstance(success, str) else "success" if success else "failure"
    given: dict[str, Any] = {
        "progress": 1.0 if ended == "success" else 0.5,
        "pair_key": f"{task}{index}",
        "state": {"x": [0.01 * index], "goal": [4.0]},
        "instruction": "go",
        "step_limit": 20,
        "identity": "one",
        "item_id": f"{task}{index}",
        "host": "here",
        **changes,
    }
    return Trial("walk", task, index, ended, **given)


def arm_of(label: str, trials: Iterable[Trial], **changes: Any) -> Arm:
    """An arm of one identity."""
    own = tuple(dataclasses.replace(trial, identity=label) if trial.identity == "one" else trial for trial in trials)
    given: dict[str, Any] = {
        "benchmark": "fake@1",
        "touches": {"start": Touch(frozenset({"x"}), False), "light": Touch(frozenset({"lamp"}), True)},
        **changes,
    }
    return Arm(label, f"runs/{label}", own, **given)


def arms_with(table: tuple[int, int, int, int], tasks: Sequence[str] = ("to-4",)) -> tuple[Arm, Arm]:
    """Two arms whose pairs have these counts: both, only A, only B, neither; spread over the tasks."""
    ends = [(True, True)] * table[0] + [(True, False)] * table[1] + [(False, True)] * table[2]
    ends += [(False, False)] * table[3]
    a = [trial_of(i, one, tasks[i % len(tasks)]) for i, (one, _) in enumerate(ends)]
    b = [trial_of(i, other, tasks[i % len(tasks)]) for i, (_, other) in enumerate(ends)]
    return arm_of("A", a), arm_of("B", b)


def design(arms: Sequence[Arm], **asked: Any) -> Design:
    """The design that is asked for."""
    return design_of(arms, asked)


def moved(trial: Trial, component: str, by: float) -> Trial:
    """The episode with one component of its measured start moved."""
    state: Mapping[str, Any] = {**trial.state, component: [trial.state[component][0] + by]}
    return dataclasses.replace(trial, state=state)
