"""lerobot-eval's ``eval_info.json``: by task with lists of successes, and the older one by episode with seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlassess.imports.errors import ImportRefusedError
from vlassess.schema.arms import Arm, Trial

UNPAIRABLE = "lerobot-eval records no initial states, so a shared start cannot be verified"


def is_eval_info(value: Any) -> bool:
    """Return whether a JSON value has one of the forms of ``eval_info.json``."""
    return isinstance(value, dict) and ("per_task" in value or "per_episode" in value)


def read_eval_info(path: Path, value: Mapping[str, Any]) -> tuple[Arm, ...]:
    """Return the arm in an ``eval_info.json``, labelled by its folder, since the file does not name the policy.

    Raises:
        ImportRefusedError: a task or an episode has not the form; names it.
    """
    trials, notes = _by_task(path, value) if "per_task" in value else _by_episode(path, value)
    label = path.resolve().parent.name or path.stem
    return (
        Arm(
            label=label,
            source=str(path),
            trials=tuple(trials),
            unpairable=UNPAIRABLE,
            notes=("the file names neither policy nor benchmark", *notes),
        ),
    )


def _by_task(path: Path, value: Mapping[str, Any]) -> tuple[list[Trial], list[str]]:
    trials = []
    for number, task in enumerate(value["per_task"]):
        metrics = task.get("metrics") if isinstance(task, dict) else None
        successes = metrics.get("successes") if isinstance(metrics, dict) else None
        if not isinstance(successes, list):
            raise ImportRefusedError(f"{path}: per_task[{number}].metrics.successes is no list; evaluate it again")
        for index, success in enumerate(successes):
            name, group = str(task.get("task_id", number)), str(task.get("task_group", ""))
            trials.append(_trial(path, group, name, index, success))
    return trials, ["its seeds are not recorded"]


def _by_episode(path: Path, value: Mapping[str, Any]) -> tuple[list[Trial], list[str]]:
    trials: list[Trial] = []
    seeds: list[int] = []
    for number, episode in enumerate(value["per_episode"]):
        if not isinstance(episode, dict) or "success" not in episode:
            raise ImportRefusedError(f"{path}: per_episode[{number}] has no success; evaluate it again")
        index = episode.get("episode_ix", number)
        trials.append(_trial(path, "", "all", int(index), episode["success"]))
        seeds += [episode["seed"]] if isinstance(episode.get("seed"), int) else []
    told = "its seeds are not recorded" if not seeds else f"its seeds were {min(seeds)} to {max(seeds)}"
    return trials, [told]


def _trial(path: Path, suite: str, task: str, index: int, success: Any) -> Trial:
    if not isinstance(success, bool | int | float) or success not in (0, 1):
        raise ImportRefusedError(
            f"{path}: success of episode {index} of task {task!r} is {success!r}; it must be true or false"
        )
    return Trial(suite, task, index, "success" if success else "failure")
