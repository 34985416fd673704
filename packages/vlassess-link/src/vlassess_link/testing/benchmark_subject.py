"""A benchmark under examination, and the policies that examine it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, List, Mapping, Optional

import numpy as np

from vlassess_link.benchmarks.base import Benchmark, View
from vlassess_link.data import ActionChunk, Episode, EpisodeStart, Observation
from vlassess_link.errors import ContractError
from vlassess_link.loading import load_target
from vlassess_link.policies.base import Policy
from vlassess_link.specs import BenchmarkSpec, PolicyIdentity, PolicySpec, TaskSpec
from vlassess_link.testing.courses import Course, lively, run_course

MOST_TASKS = 3
NO_CAMERAS = View({})
STEPS = 6
"""Control steps of a course: enough for a wrong start to show."""


@dataclass
class BenchmarkSubject:
    """A benchmark under examination.

    Attributes:
        make: Makes a fresh one.
        target: Its class by name, for a second process; None: there is none, and what needs one is skipped.
        params: Its constructor's keyword arguments.
        expert: Makes a policy that succeeds on it, told of nothing but the benchmark by `bind`; None: none is known.
        most_tasks: How many tasks are tried.

    Raises:
        ContractError: it declares no task, or an action of no component: there is nothing to try.
    """

    make: Callable[[], Benchmark]
    target: Optional[str] = None
    params: Mapping[str, Any] = field(default_factory=dict)
    expert: Optional[Callable[[], Policy]] = None
    most_tasks: int = MOST_TASKS

    def __post_init__(self) -> None:
        self.benchmark = self.make()
        spec = self.benchmark.spec
        if not spec.tasks:
            raise ContractError(f"{spec.name} declares no task, so nothing can be tried; give its spec `tasks`")
        if not spec.action.components:
            raise ContractError(f"{spec.name} declares no action, so no step can be taken; give its spec `action`")

    @property
    def spec(self) -> BenchmarkSpec:
        """What it declares."""
        return self.benchmark.spec

    @property
    def tasks(self) -> List[TaskSpec]:
        """The tasks that are tried: the first of each suite, then others, at most `most_tasks`."""
        firsts = [next(task for task in self.spec.tasks if task.suite == suite) for suite in self.spec.suites]
        others = [task for task in self.spec.tasks if task not in firsts]
        return [*firsts, *others][: max(1, self.most_tasks)]

    def course(self, episode: Episode, view: Optional[View] = None, steps: int = STEPS) -> Course:
        """Run an episode's beginning with actions that are the same for the same task."""
        return run_course(self.benchmark, episode, lively(self.spec, 7, steps), view)


def benchmark_subject(
    target: str,
    params: Optional[Mapping[str, Any]] = None,
    expert: Optional[str] = None,
    most_tasks: int = MOST_TASKS,
) -> BenchmarkSubject:
    """Return the benchmark that a target names, and a policy that succeeds on it.

    Raises:
        PluginError: the target cannot be loaded; says why.
    """

    def make() -> Benchmark:
        made: Benchmark = load_target(target, Benchmark, dict(params or {}))
        return made

    def make_expert() -> Policy:
        made: Policy = load_target(expert or "", Policy, {})
        return made

    return BenchmarkSubject(make, target, dict(params or {}), make_expert if expert else None, most_tasks)


class Lazy(Policy):
    """Answers the same action for ever and counts how often it was asked."""

    def __init__(self, action: np.ndarray) -> None:
        self.spec = PolicySpec(PolicyIdentity("lazy"), cameras=())
        self._chunk = ActionChunk(action[None])
        self.asked = 0

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin to count."""
        self.asked = 0

    def predict(self, obs: Observation) -> ActionChunk:
        """Count, and answer."""
        self.asked += 1
        return self._chunk


class Counted(Policy):
    """Another policy, of which one action at a time is taken."""

    def __init__(self, inner: Policy) -> None:
        self.spec = inner.spec
        self._inner = inner
        self.asked = 0

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode."""
        self._inner.reset(start, policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Count, and answer."""
        self.asked += 1
        return self._inner.predict(obs)
