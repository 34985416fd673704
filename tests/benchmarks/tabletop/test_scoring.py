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


ON_TOP = {"target": (0.51, 0.1, 3 * REST), "gripper": (0.5, 0.1, 0.2)}
OVER_TOP = {"target": (0.51, 0.1, 0.13), "gripper": (0.51, 0.1, 0.13)}


@pytest.mark.parametrize(
    ("changes", "stages", "progress"),
    [
        ({**AT_BLOCK, "pads": (2,)}, ("reach", "grasp"), 0.5),
        ({**OVER_TOP, "pads": (2,)}, ("reach", "grasp", "transport"), 0.75),
        ({**OVER_TOP, "target": (0.51, 0.1, 0.09), "pads": (2,)}, ("grasp",), 0.5),
        (ON_TOP, ("place",), 1.0),
        ({**ON_TOP, "supported": False}, (), 0.0),
        ({**ON_TOP, "pads": (1,)}, (), 0.0),
        ({**ON_TOP, "pads": (0, 1)}, (), 0.0),
        ({**ON_TOP, "speed": 0.2}, (), 0.0),
        ({**ON_TOP, "target": (0.53, 0.1, 3 * REST)}, (), 0.0),
        ({**IN_GOAL, "target": (0.51, 0.1, REST)}, (), 0.0),
    ],
)
def test_stack(module: Callable[[str], Any], changes: dict[str, Any], stages: tuple[str, ...], progress: float) -> None:
    tasks = module("tasks")
    goal = {"goal": (0.5, 0.1, REST), "goal_radius": REST, "support": 2 * REST, **changes}
    now = tasks.score(tasks.TASKS["stack", "red_block_on_green_block"], measured(module, **goal))
    assert now.stages == stages
    assert now.progress == pytest.approx(progress)
    assert now.success is (progress == 1.0)


def test_a_goal_with_a_top_carries(module: Callable[[str], Any]) -> None:
    scene = module("scene")
    now = measured(module)
    place = np.array((0.5, 0.1, REST))
    on_block = now.towards(place, scene.SCENE.item("green_block"), False)
    assert (on_block.support, on_block.supported, on_block.goal_radius) == (pytest.approx(2 * REST), False, REST)
    in_bowl = now.towards(place, scene.SCENE.item("bowl"), False)
    assert (in_bowl.support, in_bowl.supported) == (0.0, True)


@pytest.mark.parametrize(("pads", "grasped"), [((2, 0), True), ((0, 2), True), ((1, 1), False)])
def test_one_hand_grasps(module: Callable[[str], Any], pads: tuple[int, ...], grasped: bool) -> None:
    tasks = module("tasks")
    stages = tasks.score(tasks.TASKS["pick", "red_block"], measured(module, pads=pads)).stages
    assert ("grasp" in stages) is grasped


@pytest.mark.parametrize(("height", "gone"), [(REST, False), (-0.01, False), (-0.2, True)])
def test_a_fallen_target_ends_the_episode(module: Callable[[str], Any], height: float, gone: bool) -> None:
    assert module("tasks").fallen(measured(module, target=(0.9, 0.0, height))) is gone


def test_a_fallen_goal_ends_it_too(module: Callable[[str], Any]) -> None:
    fallen = module("tasks").fallen
    assert fallen(measured(module, goal=(0.9, 0.0, -0.2)))
    assert not fallen(measured(module, goal=GOAL))
