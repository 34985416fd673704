"""Varies an episode's start: one axis at one level, or several axes at once.

Each axis changes what it touches and nothing else, and draws from its own branch of a named stream. Pure: scenes,
spots and texts, no simulator. `levels.py` declares the axes, `factors.py` does what their parameters say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from vlassess_link.errors import ContractError
from vlassess_link.specs import Axis, Level

from . import factors
from .language import Words
from .levels import DISTRACTOR_NAMES, INSTRUCTION, declared_axes
from .starts import Part, Start
from .tasks import GOALS, OBJECTS, Task

Streams = Callable[[str], np.random.Generator]
"""Name -> a fresh generator of an episode's stream."""

REPLACING = ("object_instance", "object_category")
"""Axes that put another target in its place."""

_BRANCHES = 16
_APPLIED: Mapping[str, tuple[str, factors.Apply]] = {
    "object_instance": ("appearance", factors.object_instance),
    "object_category": ("appearance", factors.object_category),
    "background": ("appearance", factors.background),
    "lighting": ("appearance", factors.lighting),
    "initial_state": ("layout", factors.initial_state),
    "distractors": ("distractors", factors.distractors),
    "camera_pose": ("camera", factors.camera_pose),
    "language": ("language", factors.wording),
}
"""Axis -> its stream and what it does, in the order in which axes are applied; append only: places are branches."""


def vary(start: Start, perturbation: Mapping[str, str], streams: Streams) -> Start:
    """Return a start at the given levels; of an empty perturbation the start itself.

    Args:
        start: The control's.
        perturbation: Axis -> level.
        streams: `Episode.rng`.

    Raises:
        ContractError: there is no such axis or level, two axes exclude each other, or a level would reword an
            instruction that the plan gives.
    """
    if not perturbation:
        return start
    levels = _levels(start, perturbation)
    varied = _varied(start, levels, streams)
    return replace(varied, parts=tuple(_parts(start, levels, streams)))


def words_of(task: Task) -> Words:
    """Return what a task is about, in words."""
    target = dict(OBJECTS)[task.target]
    if task.goal is None:
        return Words(task.suite, target)
    at, goal = dict(GOALS)[task.goal].split(" the ") if task.goal in dict(GOALS) else ("on", dict(OBJECTS)[task.goal])
    return Words(task.suite, target, goal, at)


def _levels(start: Start, perturbation: Mapping[str, str]) -> dict[str, Level]:
    """Return axis -> level; what does not exist, or does not go together, is refused."""
    axes = {axis.name: axis for axis in declared_axes(start.scene.cameras)}
    found = {}
    for name, wanted in perturbation.items():
        if name not in axes:
            raise ContractError(f"the perturbation names the axis {name!r}; tabletop has {', '.join(axes)}")
        levels = {level.name: level for level in axes[name].levels}
        if wanted not in levels:
            raise ContractError(f"the axis {name!r} has no level {wanted!r}; it has {', '.join(levels)}")
        found[name] = levels[wanted]
        _check_words(start, axes[name], levels[wanted])
        clash = sorted(set(axes[name].excludes) & set(perturbation))
        if clash:
            raise ContractError(f"{name} and {clash[0]} both put another target in its place; give one of them")
    return found


def _check_words(start: Start, axis: Axis, level: Level) -> None:
    if start.instruction != start.task.instruction and INSTRUCTION in axis.may_change((), level.name):
        raise ContractError(
            f"{axis.name}={level.name} words the instruction, but the episode brings its own, {start.instruction!r}; "
            "leave one of them out"
        )


def _varied(start: Start, levels: Mapping[str, Level], streams: Streams) -> Start:
    draft = factors.Draft(start.task, start.scene, start.spots, words_of(start.task), start.instruction)
    for number, (axis, (stream, apply)) in enumerate(_APPLIED.items()):
        if axis in levels:
            draft = apply(draft, levels[axis].parameters, _branch(streams(stream), number))
    return Start(draft.task, draft.scene, draft.spots, draft.instruction)


def _branch(rng: np.random.Generator, number: int) -> np.random.Generator:
    """Return one of several independent generators of a stream."""
    return np.random.default_rng(rng.integers(2**63, size=_BRANCHES)[number])


def _touched(start: Start, name: str, level: Level) -> frozenset[str]:
    (axis,) = (axis for axis in declared_axes(start.scene.cameras) if axis.name == name)
    return axis.may_change((), level.name)


def _parts(start: Start, levels: Mapping[str, Level], streams: Streams) -> list[Part]:
    """Return which components settle elsewhere: each as in a scene with those axes alone that touch it."""
    moved = any(start.task.target in _touched(start, axis, level) for axis, level in levels.items())
    around = "distractors" in levels
    if not moved and not around:
        return []
    added = frozenset(DISTRACTOR_NAMES)
    everything = frozenset(
        (*(item.name for item in start.scene.items), *(arm.prefix + "arm" for arm in start.scene.arms))
    )
    target = frozenset((start.task.target,) if moved else ())
    parts = [Part(everything - target, start.scene, start.spots)]
    if moved and around:
        alone = _varied(start, {axis: given for axis, given in levels.items() if axis != "distractors"}, streams)
        parts.append(Part(target, alone.scene, alone.spots))
    if around and any(axis in levels for axis in REPLACING):
        alone = _varied(start, {axis: given for axis, given in levels.items() if axis not in REPLACING}, streams)
        parts.append(Part(added, alone.scene, alone.spots))
    return parts
