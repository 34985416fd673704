"""Every episode brings its scene: equal ones are compiled once, and what falls out leaves nothing open."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from vlassess_link import Episode
from vlassess_link.errors import ContractError

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop


def memory() -> int:
    """Return this process's resident memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def scene_with(module: Callable[[str], Any], half: float) -> Any:
    scene = module("scene")
    items = (scene.block("red_block", (0.8, 0.1, 0.1, 1.0), half=half), *scene.SCENE.items[1:])
    return replace(scene.SCENE, items=items)


def test_equal_scenes_are_one_world(module: Callable[[str], Any]) -> None:
    worlds = module("worlds").Worlds(module("scene").SCENE, kept=2)
    first = worlds.of(scene_with(module, 0.02))
    assert worlds.of(scene_with(module, 0.02)) is first
    worlds.of(scene_with(module, 0.021))
    assert worlds.of(scene_with(module, 0.02)) is first
    worlds.of(scene_with(module, 0.022))
    assert worlds.of(scene_with(module, 0.02)) is first, "the one used longest ago falls out"
    worlds.close()
    assert worlds.of(scene_with(module, 0.02)) is not first


def test_worlds_that_come_and_go_leak_nothing(module: Callable[[str], Any]) -> None:
    worlds = module("worlds").Worlds(module("scene").SCENE, kept=2)

    def visit(number: int) -> None:
        world = worlds.of(scene_with(module, 0.02 + 1e-5 * number))
        world.simulation.start(
            module("layout").draw_layout(world.scene.items, world.scene.region, np.random.default_rng(number))
        )
        world.renderer().render(world.simulation.data, "agent", 64, 64)

    for number in range(20):
        visit(number)
    before = memory()
    for number in range(20, 80):
        visit(number)
    worlds.close()
    assert memory() - before < 40e6


def test_nothing_runs_before_a_reset(tabletop: Tabletop) -> None:
    fresh = type(tabletop)()
    with pytest.raises(ContractError, match="no episode yet; call reset first"):
        fresh.step(np.zeros(7))


def test_what_an_expert_reads(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    state = tabletop.reset(make_episode("place", "red_block_bowl")).state
    truth = tabletop.privileged()
    assert (truth.task.target, truth.task.goal) == ("red_block", "bowl")
    assert set(truth.items) == {"red_block", "green_block", "blue_block", "bowl", "zone"}
    for name, item in truth.items.items():
        assert np.array_equal(np.concatenate((item.position, item.quaternion)), state[name][:7])
        assert item.speed < 0.01
    arm = truth.arms[""]
    assert arm.hand == pytest.approx(arm.home, abs=2e-3)
    assert (arm.closed, arm.touches) == (False, {})
    assert arm.opening == pytest.approx(0.08, abs=1e-3)
    tabletop.step(np.array((0, 0, 0, 0, 0, 0, 1.0)))
    assert tabletop.privileged().arms[""].closed
