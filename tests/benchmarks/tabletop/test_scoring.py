"""Stages, progress and success as pure functions of what was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

REST = 0.023
GOAL = (0.5, 0.1, 0.0)


def measured(module: Callable[[str], Any], **changes: Any) -> Any:
    """Far from everything, but for the changes."""
    given: dict[str, Any] = {
        "gripper": (0.4, 0.0, 0.22),
        "target": (0.3, -0.1, REST),
        "rest_height": REST,
        "goal": None,
        "goal_radius": 0.06,
        "pads": (0,),
        "speed": 0.0,
        **changes,
    }
    arrays = {key: np.array(given[key], float) for key in ("gripper", "target", "goal") if given[key] is not None}
    return module("tasks").Measured(**{**given, **arrays})


HELD_UP = {"target": (0.3, -0.1, REST + 0.11), "gripper": (0.3, -0.1, REST + 0.11), "pads": (2,)}
AT_BLOCK = {"gripper": (0.3, -0.1, REST)}
OVER_GOAL = {"target": (0.51, 0.1, 0.10), "gripper": (0.51, 0.1, 0.10)}
IN_GOAL = {"target": (0.52, 0.08, REST), "gripper": (0.5, 0.1, 0.2)}


@pytest.mark.parametrize(
    ("changes", "stages", "progress"),
    [
        ({}, (), 0.0),
        (AT_BLOCK, ("reach",), 1 / 3),
        ({**AT_BLOCK, "pads": (1,)}, ("reach",), 1 / 3),
        ({**AT_BLOCK, "pads": (2,)}, ("reach", "grasp"), 2 / 3),
        (HELD_UP, ("reach", "grasp", "lift"), 1.0),
        ({**HELD_UP, "pads": (0,)}, ("reach",), 1 / 3),
        ({**HELD_UP, "target": (0.3, -0.1, REST + 0.09)}, ("reach", "grasp"), 2 / 3),
    ],
)
def test_pick(module: Callable[[str], Any], changes: dict[str, Any], stages: tuple[str, ...], progress: float) -> None:
    tasks = module("tasks")
    now = tasks.score(tasks.TASKS["pick", "red_block"], measured(module, **changes))
    assert now.stages == stages
    assert now.progress == pytest.approx(progress)
    assert now.success is (progress == 1.0)


@pytest.mark.parametrize(
    ("changes", "stages", "progress"),
    [
        ({}, (), 0.0),
        ({**AT_BLOCK, "pads": (2,)}, ("reach", "grasp"), 0.5),
        ({**OVER_GOAL, "pads": (2,)}, ("reach", "grasp", "transport"), 0.75),
        ({**OVER_GOAL, "pads": (0,)}, ("reach",), 0.25),
        (IN_GOAL, ("place",), 1.0),
        ({**IN_GOAL, "pads": (1,)}, (), 0.0),
        ({**IN_GOAL, "speed": 0.2}, (), 0.0),
        ({**IN_GOAL, "target": (0.57, 0.1, REST)}, (), 0.0),
        ({**IN_GOAL, "target": (0.52, 0.08, REST + 0.046)}, (), 0.0),
    ],
)
def test_place(module: Callable[[str], Any], changes: dict[str, Any], stages: tuple[str, ...], progress: float) -> None:
    tasks = module("tasks")
    now = tasks.score(tasks.TASKS["place", "red_block_zone"], measured(module, goal=GOAL, **changes))
    assert now.stages == stages
    assert now.progress == pytest.approx(progress)
    assert now.success is (progress == 1.0)
    assert set(now.metrics) == {"reach_distance", "height", "goal_distance"}


@pytest.mark.parametrize(("height", "gone"), [(REST, False), (-0.01, False), (-0.2, True)])
def test_a_fallen_target_ends_the_episode(module: Callable[[str], Any], height: float, gone: bool) -> None:
    assert module("tasks").fallen(measured(module, target=(0.9, 0.0, height))) is gone
