"""Same episode, same bits: after anything else, in another process, whoever looks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vlassess_link import Episode
from vlassess_link.benchmarks.base import View
from vlassess_link.digest import ArrayDigest

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop

STEPS = 25


def rollout(tabletop: Tabletop, episode: Episode, *, look: bool = True) -> str:
    """Return a digest of initial state, pictures, proprioception, outcomes and final state."""
    actions = np.random.default_rng(3).uniform(-1, 1, (STEPS, 7))
    actions[:, 2] -= 0.5
    digest = ArrayDigest()
    raw = tabletop.reset(episode)
    for name, value in raw.state.items():
        digest.update(name, value)
    for action in actions:
        if look:
            obs = tabletop.make_obs(raw)
            assert obs.state is not None
            for name, picture in obs.images.items():
                digest.update(name, picture)
            digest.update("state", obs.state)
        result = tabletop.step(action)
        outcome = tabletop.get_step_result(result)
        digest.update("outcome", np.array([outcome.progress, *outcome.metrics.values()]))
        raw = result.raw
    return digest.hexdigest()


def test_other_episodes_leave_no_trace(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    first = rollout(tabletop, make_episode())
    rollout(tabletop, make_episode("place", "blue_block_bowl", seed=8))
    tabletop.view = View({"agent": (224, 224)})
    rollout(tabletop, make_episode(seed=9))
    tabletop.view = None
    assert rollout(tabletop, make_episode()) == first


def test_another_process_gives_the_same_bits(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    code = (
        f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]; import conftest, test_determinism as t; "
        "from vlassess_link import Benchmark; from vlassess_link.loading import load_target; "
        "b = load_target(f\"{conftest.FOLDER / 'adapter.py'}:Tabletop\", Benchmark, {}); "
        "print(t.rollout(b, conftest.new_episode()))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert other.stdout.strip() == rollout(tabletop, make_episode()), other.stderr


def test_looking_changes_nothing(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    ends = []
    for look in (True, False):
        rollout(tabletop, make_episode(), look=look)
        ends.append(tabletop.step(np.zeros(7)).native)
    assert np.array_equal(ends[0].target, ends[1].target)
    assert np.array_equal(ends[0].gripper, ends[1].gripper)


def test_the_layout_comes_from_the_seed_alone(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    pick = tabletop.reset(make_episode(seed=5)).state
    place = tabletop.reset(make_episode("place", "green_block_zone", seed=5, repeat=3, policy_seed=9)).state
    other = tabletop.reset(make_episode(seed=6)).state
    assert all(np.array_equal(pick[name], place[name]) for name in pick)
    assert not np.array_equal(pick["red_block"], other["red_block"])
