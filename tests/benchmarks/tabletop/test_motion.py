"""What an action does to the arm, against an independent rotation library."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vlassess_link import Episode
from vlassess_link.benchmarks.base import View

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop

HOME = np.array((0.40, 0.0, 0.22))
DOWN = Rotation.from_rotvec((np.pi, 0.0, 0.0))


@pytest.fixture
def blind(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> Tabletop:
    tabletop.view = View({})
    tabletop.reset(make_episode())
    return tabletop


def proprioception(benchmark: Tabletop, action: np.ndarray, times: int, rest: int = 6) -> np.ndarray:
    """Apply an action so often, wait, and return what the policy would read."""
    for _ in range(times):
        result = benchmark.step(action)
    for _ in range(rest):
        result = benchmark.step(np.zeros(7))
    state = benchmark.make_obs(result.raw).state
    assert state is not None
    return state


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_position_deltas_add_up_in_base_axes(blind: Tabletop, axis: int, sign: float) -> None:
    action = np.zeros(7)
    action[axis] = 0.4 * sign
    moved = proprioception(blind, action, times=5)[:3] - HOME
    expected = np.zeros(3)
    expected[axis] = 5 * 0.4 * 0.05 * sign
    assert moved == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    "turn", [(0.0, 0.0, 0.6), (0.0, 0.0, -0.6), (0.3, 0.0, 0.0), (0.0, -0.3, 0.0), (0.2, 0.1, 0.3)]
)
def test_rotation_deltas_turn_about_base_axes(blind: Tabletop, turn: tuple[float, float, float]) -> None:
    state = proprioception(blind, np.array((0.0, 0.0, 0.0, *turn, 0.0)), times=2)
    once = Rotation.from_rotvec(0.5 * np.array(turn))
    off = Rotation.from_rotvec(state[3:6]) * (once * once * DOWN).inv()
    assert off.magnitude() < 0.02
    assert np.linalg.norm(state[3:6]) <= 2 * np.pi


def test_rotation_reads_without_jumps(blind: Tabletop) -> None:
    readings = [proprioception(blind, np.array((0, 0, 0, 0, 0, 0.3, 0.0)), times=1, rest=0)[3:6] for _ in range(16)]
    assert max(np.linalg.norm(b - a) for a, b in itertools.pairwise(readings)) < 0.5


def test_gripper_signs(blind: Tabletop) -> None:
    def fingers(gripper: float) -> np.ndarray:
        return proprioception(blind, np.array((0, 0, 0, 0, 0, 0, gripper)), times=10, rest=0)[6:]

    assert fingers(0.0) == pytest.approx((0.04, -0.04), abs=1e-3)
    assert fingers(0.2) == pytest.approx((0.0, 0.0), abs=1e-3)
    assert fingers(0.0) == pytest.approx((0.0, 0.0), abs=1e-3), "0 must leave the command"
    assert fingers(-1.0) == pytest.approx((0.04, -0.04), abs=1e-3)


def test_actions_are_clipped(blind: Tabletop, make_episode: Callable[..., Episode]) -> None:
    states = []
    for scale in (1.0, 50.0):
        blind.reset(make_episode())
        states.append(proprioception(blind, scale * np.array((1.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0)), times=2))
    assert np.array_equal(states[0], states[1])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_target_stays_in_reach_and_does_not_wind_up(blind: Tabletop, axis: int, sign: float) -> None:
    action = np.zeros(7)
    action[axis] = sign
    edge = proprioception(blind, action, times=40)
    back = proprioception(blind, -action, times=2)
    assert abs(back[axis] - edge[axis]) > 0.08, "coming back must take effect at once"
    assert edge[2] > 0.01


@pytest.mark.parametrize("axis", [3, 4, 5])
def test_orientation_does_not_wind_up(blind: Tabletop, axis: int) -> None:
    action = np.zeros(7)
    action[axis] = 1.0
    edge = Rotation.from_rotvec(proprioception(blind, action, times=30)[3:6])
    back = Rotation.from_rotvec(proprioception(blind, -action, times=2)[3:6])
    assert (back * edge.inv()).magnitude() > 0.7


def test_the_arm_holds_still(blind: Tabletop) -> None:
    assert proprioception(blind, np.zeros(7), times=40)[:3] == pytest.approx(HOME, abs=1e-3)


def test_wild_actions_never_break_the_simulation(blind: Tabletop, make_episode: Callable[..., Episode]) -> None:
    for seed in range(3):
        blind.reset(make_episode(seed=seed))
        for action in np.random.default_rng(seed).choice((-1.0, 1.0), (120, 7)):
            measured = blind.step(action).native
            assert np.isfinite(measured.target).all()
            assert np.linalg.norm(measured.gripper) < 1.2
