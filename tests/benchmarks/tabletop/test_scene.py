"""Layouts, and that scenes are data: other items and arms need no other code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess_link.errors import BenchmarkFault


@given(seed=st.integers(0, 2**63 - 1))
def test_footprints_never_overlap(module: Callable[[str], Any], seed: int) -> None:
    scene = module("scene").SCENE
    spots = module("layout").draw_layout(scene.items, scene.region, np.random.default_rng(seed))
    assert set(spots) == {item.name for item in scene.items}
    for a, b in itertools.combinations(scene.items, 2):
        apart = math.hypot(spots[a.name].x - spots[b.name].x, spots[a.name].y - spots[b.name].y)
        assert apart >= a.footprint + b.footprint
    for spot in spots.values():
        assert scene.region.low[0] <= spot.x <= scene.region.high[0]
        assert scene.region.low[1] <= spot.y <= scene.region.high[1]


def test_a_full_region_is_said(module: Callable[[str], Any]) -> None:
    scene = module("scene")
    with pytest.raises(BenchmarkFault, match="no free layout for 5 items"):
        module("layout").draw_layout(
            scene.SCENE.items, scene.Region((0.4, 0.0), (0.42, 0.02)), np.random.default_rng(0)
        )


def test_two_arms_and_more_items_are_data(module: Callable[[str], Any]) -> None:
    scene = module("scene")
    arms = (
        scene.Arm("left_", base=(0.0, 0.35, 0.0), home=(0.4, 0.2, 0.22)),
        scene.Arm("right_", base=(0.0, -0.35, 0.0), home=(0.4, -0.2, 0.22)),
    )
    cylinder = scene.Item(
        "can",
        (scene.Geom("cylinder", (0.02, 0.03), (1.0, 1.0, 0.0, 1.0), mass=0.05),),
        rest_height=0.03,
        footprint=0.05,
    )
    cameras = (
        *scene.SCENE.cameras[:1],
        *(replace(scene.SCENE.cameras[1], name=f"{arm.prefix}wrist", arm=arm.prefix) for arm in arms),
    )
    both = scene.Scene(arms, (*scene.SCENE.items, cylinder), cameras, scene.SCENE.lights)
    simulation = module("simulation").Simulation(both)
    simulation.start(module("layout").draw_layout(both.items, both.region, np.random.default_rng(1)))
    up = (np.array((0.0, 0.0, 0.02)), np.zeros(3), 1.0)
    still = (np.zeros(3), np.zeros(3), 0.0)
    for _ in range(6):
        simulation.advance({"left_": up, "right_": still})
    assert simulation.end_effector("left_")[0] == pytest.approx((0.4, 0.2, 0.34), abs=0.02)
    assert simulation.end_effector("right_")[0] == pytest.approx((0.4, -0.2, 0.22), abs=0.005)
    assert simulation.position("can")[2] == pytest.approx(0.03, abs=1e-3)
    assert {"left_arm", "right_arm", "can"} <= set(simulation.state())
