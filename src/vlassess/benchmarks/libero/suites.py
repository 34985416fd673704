"""The suites as upstream's package ships them: tasks, texts, stored starts, step limits, and where their files are.

``tasks.json`` beside this file is written by ``tools/write_libero_tasks.py`` from the package itself.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from vlassess_link import Episode, TaskSpec
from vlassess_link.errors import ContractError
from vlassess_link.specs import Axis, Level

STEP_LIMITS = {
    "libero_spatial": 220,
    "libero_object": 280,
    "libero_goal": 300,
    "libero_10": 520,
    "libero_90": 400,
}
"""Suite -> control steps that papers give a policy, after settling."""
WORDING = "wording"
PRO = "pro"
UPSTREAM_LEVELS = ("lan", "object", "swap", "task")
OWN_WORDS = ("lan", "task")
"""Variants whose instruction is the environment's; that of the others is their base suite's."""
MOVED = (
    *("robot", "objects", "velocities", "fixtures"),
    *("position", "rotation", "fingers", "controller_position", "controller_rotation"),
)
"""What another start changes: the simulator's state, and what a policy is told of its own hand."""
SEEN = ("camera:agentview", "camera:robot0_eye_in_hand")


@dataclass(frozen=True)
class Start:
    """Where an episode begins, in upstream's names.

    Attributes:
        suite: Folder of its files ("libero_goal_swap").
        task: File name without its ending.
        state: Which of the stored initial states.
        instruction: The text; None: the environment's own.
        words_of: Suite whose file has the text instead; None: `suite`.
    """

    suite: str
    task: str
    state: int
    instruction: str | None
    words_of: str | None = None


@functools.cache
def tasks() -> tuple[TaskSpec, ...]:
    """Return the tasks of the five standard suites in upstream's order."""
    stored = json.loads(Path(__file__).with_name("tasks.json").read_text(encoding="utf-8"))
    return tuple(
        TaskSpec(
            suite,
            entry["name"],
            limit,
            entry["instruction"],
            tuple(f"{state:02d}" for state in range(entry["states"])),
            entry.get("expected_steps"),
        )
        for suite, limit in STEP_LIMITS.items()
        for entry in stored[suite]
    )


def axes() -> tuple[Axis, ...]:
    """Return the perturbations: LIBERO-PRO's own, and its texts alone on LIBERO's own starts.

    LIBERO-PRO ships every variant with starts drawn anew, of the robot's joints too, so none of its levels is paired.
    """
    moved = (*MOVED, *SEEN)
    return (
        Axis(WORDING, (Level("lan"),), ("instruction",)),
        Axis(
            PRO,
            (
                Level("lan", touched=("instruction", *moved)),
                Level("object", touched=moved),
                Level("swap", touched=moved),
                Level("task", touched=("instruction", *moved)),
            ),
            ("instruction", *moved),
            control="unpaired",
        ),
    )


def start_of(episode: Episode) -> Start:
    """Return where an episode begins; what this version cannot do is refused, never ignored.

    Raises:
        ContractError: it asks for a task, a start, a perturbation or a scene that does not exist; names it.
    """
    found = [task for task in tasks() if (task.suite, task.name) == (episode.suite, episode.task)]
    if not found:
        raise ContractError(
            f"LIBERO has no task {episode.suite}/{episode.task}; its suites are {', '.join(STEP_LIMITS)}"
        )
    task = found[0]
    if episode.scene:
        raise ContractError(f"the episode's scene is {dict(episode.scene)!r}; LIBERO has none: leave it empty")
    state = _state(episode, task)
    if not episode.perturbation:
        return Start(task.suite, task.name, state, task.instruction)
    ((axis, level),) = _one(episode)
    variant = f"{task.suite}_{level}"
    if task.suite == "libero_90":
        raise ContractError(
            f"{axis}={level} cannot be had for libero_90: LIBERO-PRO varies the other four suites; choose `suites`"
        )
    if axis == WORDING:
        return Start(task.suite, task.name, state, None, words_of=variant)
    return Start(variant, task.name, state, None if level in OWN_WORDS else task.instruction)


def _state(episode: Episode, task: TaskSpec) -> int:
    name = f"{episode.index:02d}" if episode.initial_state is None else episode.initial_state
    if name not in task.initial_states:
        raise ContractError(
            f"{task.suite}/{task.name} has no initial state {name!r}; upstream stores {len(task.initial_states)}, from "
            f"{task.initial_states[0]} to {task.initial_states[-1]}"
        )
    return task.initial_states.index(name)


def _one(episode: Episode) -> list[tuple[str, str]]:
    known = {(axis.name, level.name) for axis in axes() for level in axis.levels}
    asked = sorted(episode.perturbation.items())
    if len(asked) != 1 or asked[0] not in known:
        raise ContractError(
            f"the episode's perturbation is {dict(asked)!r}; LIBERO has one of "
            + ", ".join(f"{axis}={level}" for axis, level in sorted(known))
        )
    return asked
