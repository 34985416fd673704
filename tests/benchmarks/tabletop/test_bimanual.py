"""Two arms: each half of an action moves one, both reach everything, the one on the target's side works."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from vlassess_link import Episode, EpisodeStart, Observation, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.digest import ArrayDigest
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import to_json
from vlassess_link.loading import load_target

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop

BASES = {"left_": np.array((0.0, 0.2, 0.0)), "right_": np.array((0.0, -0.2, 0.0))}
HOME = np.array((0.30, 0.0, 0.30))
"""Of each arm, in the axes of its own base."""


def proprioception(benchmark: Tabletop, actions: np.ndarray) -> np.ndarray:
    for action in actions:
        result = benchmark.step(action)
    state = benchmark.make_obs(result.raw).state
    assert state is not None
    return state.reshape(2, 8)


def rollout(benchmark: Tabletop, episode: Episode) -> str:
    """Return a digest of the initial state, and of pictures and proprioception under wild actions."""
    digest = ArrayDigest()
    raw = benchmark.reset(episode)
    for name, value in raw.state.items():
        digest.update(name, value)
    for action in np.random.default_rng(3).uniform(-1, 1, (15, 14)):
        obs = benchmark.make_obs(raw)
        assert obs.state is not None
        for name, picture in obs.images.items():
            digest.update(name, picture)
        digest.update("state", obs.state)
        raw = benchmark.step(action).raw
    return digest.hexdigest()


@pytest.fixture
def expert(folder: Path) -> Callable[[int], Any]:
    return lambda chunk: load_target(f"{folder / 'expert.py'}:BimanualExpert", Policy, {"chunk": chunk})


def test_its_spec_is_shipped_and_its_own(bimanual: Tabletop, tabletop: Tabletop, folder: Path) -> None:
    shipped = json.loads((folder.parent / "tabletop_bimanual" / "spec.json").read_text(encoding="utf-8"))
    assert shipped == to_json(bimanual.spec), "run python tools/write_specs.py"
    assert bimanual.spec.name == "tabletop-bimanual-v1"
    assert bimanual.spec.tasks == tabletop.spec.tasks
    assert [camera.name for camera in bimanual.spec.cameras] == ["agent", "left_wrist", "right_wrist"]
    names = [component.name for component in bimanual.spec.action.components]
    assert names == [side + part for side in ("left_", "right_") for part in ("position", "rotation", "gripper")]
    assert bimanual.spec.action.size == 2 * tabletop.spec.action.size
    assert bimanual.spec.state is not None
    assert bimanual.spec.state.size == 16


def test_an_unknown_embodiment_is_named(bimanual: Tabletop) -> None:
    with pytest.raises(ContractError, match=r"embodiment is 'triple'; it must be one of single, bimanual"):
        type(bimanual)("triple")


def test_each_half_of_an_action_moves_its_arm(bimanual: Tabletop, make_episode: Callable[..., Episode]) -> None:
    bimanual.view = View({})
    bimanual.reset(make_episode())
    left = np.tile((0.0, -0.4, 0.0, 0.0, 0.0, 0.3, 1.0, *(0.0,) * 7), (4, 1))
    state = proprioception(bimanual, np.concatenate((left, np.zeros((6, 14)))))
    assert state[0, :3] == pytest.approx(HOME + np.array((0.0, -0.08, 0.0)), abs=2e-3)
    assert state[1, :3] == pytest.approx(HOME, abs=2e-3)
    assert state[0, 6:] == pytest.approx((0.0, 0.0), abs=1e-3)
    assert state[1, 6:] == pytest.approx((0.04, -0.04), abs=1e-3)
    assert abs(state[0, 3] - np.pi) > 0.05
    assert state[1, 3:6] == pytest.approx((np.pi, 0.0, 0.0), abs=5e-3)


def test_both_arms_reach_all_of_the_region(bimanual: Tabletop, make_episode: Callable[..., Episode]) -> None:
    bimanual.view = View({})
    for (x, y), (number, prefix) in itertools.product(
        itertools.product((0.29, 0.56), (-0.24, 0.24)), enumerate(("left_", "right_"))
    ):
        bimanual.reset(make_episode())
        way = np.array((x, y, 0.16)) - BASES[prefix] - HOME
        actions = np.zeros((20, 14))
        actions[:, 7 * number : 7 * number + 3] = way / 20 / 0.05
        state = proprioception(bimanual, np.concatenate((actions, np.zeros((4, 14)))))
        assert state[number, :3] + BASES[prefix] == pytest.approx((x, y, 0.16), abs=4e-3)
        assert state[1 - number, :3] == pytest.approx(HOME, abs=4e-3)


def test_the_same_episode_gives_the_same_bits(bimanual: Tabletop, make_episode: Callable[..., Episode]) -> None:
    bimanual.view = None
    first = rollout(bimanual, make_episode("stack", "red_block_on_green_block"))
    rollout(bimanual, make_episode(seed=9))
    assert rollout(bimanual, make_episode("stack", "red_block_on_green_block")) == first


def test_both_embodiments_start_alike(
    bimanual: Tabletop, tabletop: Tabletop, make_episode: Callable[..., Episode]
) -> None:
    two, one = (benchmark.reset(make_episode(seed=5)).state for benchmark in (bimanual, tabletop))
    assert set(two) ^ set(one) == {"arm", "left_arm", "right_arm"}
    for name in set(two) & set(one):
        assert two[name] == pytest.approx(one[name], abs=1e-6)


def test_three_cameras_see_three_things(bimanual: Tabletop, make_episode: Callable[..., Episode]) -> None:
    bimanual.view = None
    images = bimanual.make_obs(bimanual.reset(make_episode())).images
    assert {name: image.shape for name, image in images.items()} == dict.fromkeys(
        ("agent", "left_wrist", "right_wrist"), (128, 128, 3)
    )
    for one, other in itertools.combinations(images.values(), 2):
        assert np.abs(one.astype(int) - other).mean() > 5


@pytest.mark.parametrize("chunk", [1, 10])
def test_the_expert_solves_every_task(
    bimanual: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode], chunk: int
) -> None:
    policy = expert(chunk)
    bimanual.view = View({})
    policy.bind(bimanual)
    for number, task in enumerate(bimanual.spec.tasks):
        episode = make_episode(task.suite, task.name, seed=number, step_limit=task.step_limit)
        assert run_episode(episode, bimanual, policy, policy.spec.horizon).success, (task.suite, task.name)


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["pick", "place", "stack"])
def test_the_expert_succeeds_in_95_percent(
    bimanual: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode], suite: str
) -> None:
    policy = expert(1)
    bimanual.view = View({})
    policy.bind(bimanual)
    tasks = [task for task in bimanual.spec.tasks if task.suite == suite]
    found = [
        run_episode(make_episode(suite, task.name, seed=seed, step_limit=task.step_limit), bimanual, policy, 1).success
        for seed in range(100, 100 + 120 // len(tasks))
        for task in tasks
    ]
    assert sum(found) >= 0.95 * len(found)


def test_the_arm_on_the_target_s_side_works(
    bimanual: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode]
) -> None:
    policy = expert(1)
    bimanual.view = View({})
    policy.bind(bimanual)
    sides = set()
    for seed in range(6):
        state = bimanual.reset(make_episode(seed=seed)).state
        policy.reset(EpisodeStart("e", "pick", "red_block", ""), 0)
        action = policy.predict(Observation({}, "")).actions[0].reshape(2, 7)
        works = 0 if state["red_block"][1] > 0 else 1
        assert np.abs(action[works, :3]).max() > 0.1
        assert action[1 - works] == pytest.approx((0,) * 6 + (-1,), abs=1e-9)
        sides.add(works)
    assert sides == {0, 1}
