"""Both sides' conventions, brought together in the worker: one wrapper around the policy, one around the benchmark.

The order, from the loop inwards::

    loop -> ConvertedPolicy -> WatchedPolicy -> RecordedPolicy -> the policy
    loop -> BoundedBenchmark -> RecordedBenchmark -> WatchedBenchmark -> the benchmark

What a benchmark delivers is checked against its own contract first, then converted; so what is digested and recorded
as delivered is what the policy really gets, and what is digested and recorded as executed is what the simulator
really gets.
"""

from __future__ import annotations

import dataclasses
from typing import Callable, List, Optional, Sequence

import numpy as np

from vlassess_link.benchmarks.base import Benchmark, View
from vlassess_link.benchmarks.watched import check_observation
from vlassess_link.conventions.bounds import Bounds, component_at
from vlassess_link.conventions.compare import Plan
from vlassess_link.data import (
    ActionChunk,
    Episode,
    EpisodeStart,
    Observation,
    RawObservation,
    StepOutcome,
    StepResult,
    check_actions,
)
from vlassess_link.errors import InvalidActionError, ObservationError
from vlassess_link.policies.base import Policy
from vlassess_link.specs import BenchmarkSpec

NO_ROTATION = (
    "where these are a rotation in the declared form, they are none: a quaternion must not be zero, two columns not "
    "parallel, and a matrix nearly a rotation"
)


class ConvertedPolicy(Policy):
    """A policy that is given and gives what the benchmark means.

    Args:
        inner: The policy; its own numbers reach nobody but it.
        benchmark: Whose conventions are spoken outside.
        plan: What is done; see `conventions.compare.plan`.
        enter: `Monitor.enter`: converting is the harness's own time.

    Attributes:
        view: What it looks at; None: nobody knows, and cameras are not checked.
    """

    def __init__(self, inner: Policy, benchmark: BenchmarkSpec, plan: Plan, enter: Callable[[str], str]) -> None:
        self.spec = inner.spec
        self.view: Optional[View] = None
        self._inner = inner
        self._benchmark = benchmark
        self._plan = plan
        self._enter = enter

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode."""
        self._inner.reset(start, policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Check and convert what was delivered, ask, and convert the answer.

        Raises:
            ObservationError: the observation breaks the benchmark's contract, or its state is no rotation.
            InvalidActionError: an action has not as many numbers as the policy declares, or is no rotation.
        """
        check_observation(obs, self._benchmark, self.spec, self.view)
        self._enter("other")
        return self._answer(self._inner.predict(self._delivered(obs)))

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Convert, ask statelessly, and convert the answers."""
        answers = self._inner.query([self._delivered(obs) for obs in observations], noise_seed)
        return [self._answer(answer) for answer in answers]

    def _delivered(self, obs: Observation) -> Observation:
        plan, images = self._plan, dict(obs.images)
        for name, convert in plan.images.items():
            if name in images:
                images[name] = convert(images[name])
        if plan.to_float:
            images = {name: image.astype(np.float32) for name, image in images.items()}
        state = None if plan.drops_state else obs.state
        if state is not None and plan.state is not None:
            state = self._converted_state(state, plan.state)
        return dataclasses.replace(obs, images=images, state=state)

    def _answer(self, chunk: ActionChunk) -> ActionChunk:
        if self._plan.action_size is not None:
            check_actions(chunk.actions, self._plan.action_size, "the policy's spec declares")
        if self._plan.action is None:
            return chunk
        actions = self._plan.action(chunk.actions)
        if not np.isfinite(actions).all():
            row, place = (int(i) for i in np.argwhere(~np.isfinite(actions))[0])
            part = component_at(self._benchmark.action, place)[0].name
            raise InvalidActionError(
                f"action {row} of the chunk cannot be converted: for {part!r} the policy answers "
                f"{self._answered(part, chunk.actions[row])}; {NO_ROTATION}"
            )
        return dataclasses.replace(chunk, actions=check_actions(actions))

    def _answered(self, part: str, action: np.ndarray) -> List[float]:
        """Return the policy's own numbers of a component, all of them where it calls it otherwise."""
        begin = 0
        for component in self.spec.action.components if self.spec.action is not None else ():
            if component.name == part:
                action = action[begin : begin + component.size]
                break
            begin += component.size
        return [round(float(value), 4) for value in action]

    def _converted_state(self, state: np.ndarray, convert: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        converted = convert(state)
        if not np.isfinite(converted).all():
            assert self.spec.state is not None
            part = component_at(self.spec.state, int(np.argmin(np.isfinite(converted))))[0].name
            raise ObservationError(
                f"the state cannot be converted for the policy's {part!r}: the benchmark gives "
                f"{np.round(state, 4).tolist()}; {NO_ROTATION}"
            )
        return converted


class BoundedBenchmark(Benchmark):
    """A benchmark that is given legal actions only.

    Attributes:
        clipped: How many executed actions were outside the bounds and were clipped.
    """

    def __init__(self, inner: Benchmark) -> None:
        self.spec = inner.spec
        self.clipped = 0
        self._inner = inner
        self._bounds = Bounds(inner.spec.action)

    def reset(self, episode: Episode) -> RawObservation:
        """Reset."""
        return self._inner.reset(episode)

    def make_obs(self, raw: RawObservation) -> Observation:
        """Observe."""
        return self._inner.make_obs(raw)

    def step(self, action: np.ndarray) -> StepResult:
        """Step with the action inside the bounds.

        Raises:
            InvalidActionError: it is outside, and the benchmark's layout does not clip.
        """
        legal, clipped = self._bounds.enforced(action)
        self.clipped += clipped
        return self._inner.step(legal)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Score."""
        return self._inner.get_step_result(result)
