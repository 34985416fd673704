"""Episodes and benchmarks of the loop's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vlassess_link.benchmarks.attempt import Job
from vlassess_link.data import ActionChunk, Episode, EpisodeStart, Observation, StepOutcome, StepResult
from vlassess_link.digest import content_id
from vlassess_link.policies.base import Policy
from vlassess_link.seeds import episode_seed, policy_seed
from vlassess_link.specs import PolicyIdentity, PolicySpec
from vlassess_link.testing import FakeBenchmark


def episode_of(index: int = 0, task: str = "to-4", limit: int = 20, **changes: Any) -> Episode:
    """One episode of `FakeBenchmark`."""
    pair_key = content_id(["fake@1", "walk", task, index, None])
    seed, repeat = episode_seed(0, pair_key), changes.get("repeat", 0)
    given = {
        "episode_id": content_id([pair_key, changes.get("perturbation", {}), changes.get("instruction"), seed, repeat]),
        "pair_key": pair_key,
        "benchmark": "fake@1",
        "suite": "walk",
        "task": task,
        "index": index,
        "seed": seed,
        "policy_seed": policy_seed(0, pair_key, repeat),
        "step_limit": limit,
        **changes,
    }
    return Episode(**given)


def job_of(episode: Episode | None = None, attempt: int = 1, horizon: int | None = None) -> Job:
    """One attempt of policy "main"."""
    return Job("item-0", attempt, "main", episode or episode_of(), horizon)


class ScriptedBenchmark(FakeBenchmark):
    """A `FakeBenchmark` whose step outcomes are given: step n (from 1) has outcomes[n - 1], the last one stays."""

    def __init__(self, outcomes: list[StepOutcome], ends_at: int | None = None, **params: Any) -> None:
        super().__init__(**params)
        self._outcomes = outcomes
        self._ends_at = ends_at
        self.steps = 0

    def step(self, action: np.ndarray) -> StepResult:
        """Count."""
        done = super().step(action)
        self.steps += 1
        return StepResult(done.raw, done.native, self.steps == self._ends_at)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Read the script."""
        return self._outcomes[min(self.steps, len(self._outcomes)) - 1]


class FunctionPolicy(Policy):
    """Answers what a function of the observation says, and keeps everything that it was given."""

    def __init__(self, answer: Callable[[Observation], Any], **spec: Any) -> None:
        self.spec = PolicySpec(PolicyIdentity("function"), **spec)
        self._answer = answer
        self.starts: list[EpisodeStart] = []
        self.seeds: list[int] = []
        self.seen: list[Observation] = []

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Keep what came."""
        self.starts.append(start)
        self.seeds.append(policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Answer."""
        self.seen.append(obs)
        answer: ActionChunk = self._answer(obs)
        return answer


def walk(chunk: int = 1, stride: float = 0.25) -> Callable[[Observation], ActionChunk]:
    """Go forward, whatever is seen."""
    return lambda obs: ActionChunk(np.full((chunk, 1), stride))
