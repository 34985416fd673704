"""The expert solves the tasks; doing nothing and doing anything do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from vlassess_link import ActionChunk, Episode, EpisodeStart, Observation, Outcome, Policy, PolicyIdentity, PolicySpec
from vlassess_link.benchmarks.base import View
from vlassess_link.benchmarks.disturbed import Disturbance, DisturbedBenchmark
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.errors import ContractError
from vlassess_link.loading import load_target

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop


class Blind(Policy):
    """Answers uniformly random actions of some size, 0 for none at all."""

    def __init__(self, size: float) -> None:
        self.spec = PolicySpec(PolicyIdentity("blind"), cameras=())
        self._size = size
        self._rng = np.random.default_rng(0)

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        self._rng = np.random.default_rng(policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        return ActionChunk(self._rng.uniform(-self._size, self._size, (1, 7)))


@pytest.fixture
def expert(folder: Path) -> Callable[[int], Any]:
    return lambda chunk: load_target(f"{folder / 'expert.py'}:ScriptedExpert", Policy, {"chunk": chunk})


def outcomes(
    tabletop: Tabletop, policy: Policy, make_episode: Callable[..., Episode], seeds: range, suite: str | None = None
) -> list[Outcome]:
    tabletop.view = View({})
    policy.bind(tabletop)
    return [
        run_episode(
            make_episode(task.suite, task.name, seed=seed, policy_seed=seed, step_limit=task.step_limit),
            tabletop,
            policy,
            policy.spec.horizon,
        )
        for task in tabletop.spec.tasks
        if suite in (None, task.suite)
        for seed in seeds
    ]


@pytest.mark.parametrize("chunk", [1, 10])
def test_the_expert_solves_every_task(
    tabletop: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode], chunk: int
) -> None:
    found = outcomes(tabletop, expert(chunk), make_episode, range(1))
    assert [outcome.success for outcome in found] == [True] * 15
    assert all(outcome.progress == 1.0 for outcome in found)
    lengths = [outcome.success_step or 0 for outcome in found]
    assert min(lengths) > 25
    assert max(lengths) < 110


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["pick", "place", "stack"])
def test_the_expert_succeeds_in_95_percent(
    tabletop: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode], suite: str
) -> None:
    seeds = range(100, 170) if suite == "pick" else range(100, 135)
    found = outcomes(tabletop, expert(1), make_episode, seeds, suite)
    assert len(found) >= 200
    assert sum(outcome.success for outcome in found) >= 0.95 * len(found)


@pytest.mark.parametrize("size", [0.0, 1.0])
def test_blind_policies_do_not_succeed(tabletop: Tabletop, make_episode: Callable[..., Episode], size: float) -> None:
    found = outcomes(tabletop, Blind(size), make_episode, range(1))
    assert sum(outcome.success for outcome in found) == 0
    assert size > 0 or max(outcome.progress for outcome in found) == 0.0


@pytest.mark.parametrize("suite", ["place", "stack"])
def test_stages_come_in_order(
    tabletop: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode], suite: str
) -> None:
    for outcome in outcomes(tabletop, expert(1), make_episode, range(1), suite):
        steps = [outcome.stages[stage] for stage in ("reach", "grasp", "transport", "place")]
        assert steps == sorted(steps)


def test_a_lost_block_is_grasped_again(
    tabletop: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode]
) -> None:
    policy = expert(1)
    tabletop.view = View({})
    policy.bind(tabletop)
    raw = tabletop.reset(make_episode())
    policy.reset(EpisodeStart("e", "pick", "red_block", ""), 0)
    dropped = False
    for _ in range(120):
        action = policy.predict(Observation({}, raw.instruction)).actions[0]
        now = tabletop.get_step_result(result := tabletop.step(action))
        if now.success:
            break
        if not dropped and now.metrics["height"] > 0.03:
            dropped = True
            for _ in range(8):
                tabletop.step(np.array((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)))
    assert dropped
    assert now.success
    assert not result.ended


def test_the_expert_says_what_it_needs(expert: Callable[[int], Any]) -> None:
    with pytest.raises(ContractError, match="run it as a local policy"):
        expert(1).predict(Observation({}, ""))
    with pytest.raises(ContractError, match="was bound to object"):
        expert(1).bind(object())


def test_friction_holds_a_grasped_block(
    tabletop: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode]
) -> None:
    policy = expert(1)
    tabletop.view = View({})
    policy.bind(tabletop)
    raw = tabletop.reset(make_episode())
    policy.reset(EpisodeStart("e", "pick", "red_block", ""), 0)
    for _ in range(60):
        result = tabletop.step(policy.predict(Observation({}, raw.instruction)).actions[0])

    def slipped() -> float:
        return float(np.linalg.norm(result.native.target - result.native.gripper))

    grasped = slipped()
    for _ in range(200):
        result = tabletop.step(np.zeros(7))
    assert abs(slipped() - grasped) < 0.002
    for k in range(60):
        swing = 0.5 if k // 4 % 2 else -0.5
        result = tabletop.step(np.array((0.0, swing, 0.0, 0.0, 0.0, swing, 0.0)))
    assert result.native.pads == (2,)
    assert abs(slipped() - grasped) < 0.01


@pytest.mark.parametrize("chunk", [1, 4])
@pytest.mark.parametrize("rules", [Disturbance(noise=0.1), Disturbance(noise=0.05, push_rate=0.03)])
def test_the_expert_bears_noise_and_pushes(
    tabletop: Tabletop, expert: Callable[..., Any], make_episode: Callable[..., Episode], chunk: int, rules: Disturbance
) -> None:
    tabletop.view = View({})
    policy = expert(chunk)
    policy.bind(tabletop)
    disturbed = DisturbedBenchmark(tabletop, rules)
    found = [
        run_episode(make_episode(task.suite, task.name, seed=seed, step_limit=200), disturbed, policy, chunk).success
        for seed, task in enumerate(tabletop.spec.tasks)
    ]
    assert disturbed.disturbed > 100
    assert sum(found) >= 14


def test_a_block_that_is_pushed_away_is_followed(
    tabletop: Tabletop, expert: Callable[[int], Any], make_episode: Callable[..., Episode]
) -> None:
    policy = expert(1)
    tabletop.view = View({})
    policy.bind(tabletop)
    raw = tabletop.reset(make_episode("stack", "red_block_on_green_block"))
    policy.reset(EpisodeStart("e", "stack", "red_block_on_green_block", ""), 0)
    pushed = False
    for _ in range(200):
        truth = tabletop.privileged()
        if not pushed and truth.arms[""].position[2] < 0.05:
            pushed = True
            for k in range(12):
                tabletop.step(np.array((0.4, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0 if k < 11 else 1.0)))
        result = tabletop.step(policy.predict(Observation({}, raw.instruction)).actions[0])
        if tabletop.get_step_result(result).success:
            break
    assert pushed
    assert tabletop.get_step_result(result).success
