"""Every control step as a row of text."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import TextIO

import numpy as np

from vlassess.schema.demonstrations import DatasetAbout, Demonstration

KEYS = ("item_id", "policy", "suite", "task", "index", "repeat", "cell", "instruction", "step", "time")
"""Columns before the numbers; ``step`` is from 0, ``time`` in seconds."""


def write_rows(out: TextIO, demonstrations: Iterable[Demonstration], about: DatasetAbout) -> int:
    """Write one row a control step and return how many episodes there were.

    Columns: `KEYS`, ``state.NAME`` before the step, ``action.NAME``, ``executed_action.NAME`` (empty where nothing was
    disturbed), ``progress`` and ``success`` after it.
    """
    writer = csv.writer(out, lineterminator="\n")
    numbers = [f"state.{name}" for name in about.state]
    for kind in ("action", "executed_action"):
        numbers += [f"{kind}.{name}" for name in about.action]
    writer.writerow([*KEYS, *numbers, "progress", "success"])
    episodes = 0
    for demonstration in demonstrations:
        writer.writerows(_rows(demonstration, about))
        episodes += 1
    return episodes


def _rows(demonstration: Demonstration, about: DatasetAbout) -> Iterable[list[object]]:
    episode = demonstration.item.episode
    cell = " ".join(f"{axis}={level}" for axis, level in episode.perturbation.items())
    place = (demonstration.item.policy, episode.suite, episode.task, episode.index, episode.repeat, cell)
    count = demonstration.steps
    state = _texts(demonstration.state, count, len(about.state))
    action = _texts(demonstration.action, count, len(about.action))
    executed = _texts(demonstration.executed, count, len(about.action))
    for step in range(count):
        key = (demonstration.item.item_id, *place, demonstration.instruction, step, step / about.fps)
        ending = (float(demonstration.progress[step]), bool(demonstration.success[step]))
        yield [*key, *state[step], *action[step], *executed[step], *ending]


def _texts(values: np.ndarray | None, count: int, size: int) -> list[list[object]]:
    if values is None:
        return [[""] * size for _ in range(count)]
    found: list[list[object]] = values.tolist()
    return found
