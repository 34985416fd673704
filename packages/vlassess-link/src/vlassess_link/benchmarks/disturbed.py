"""Disturbs what is executed: a demonstration visits states that its expert alone would never show.

An expert that is followed exactly shows one narrow path, and who learns from it has seen no way back. So what is
executed may be the expert's action with noise, and now and then with a push; what the expert said stays the label,
since it answers from the state that was really reached (Laskey et al., "DART: Noise Injection for Robust Imitation
Learning", CoRL 2017). It stands between the loop and the recording, so that digests and steps are of what the
simulator was told:

    loop -> BoundedBenchmark -> DisturbedBenchmark -> RecordedBenchmark -> WatchedBenchmark -> the benchmark
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, List, Optional, Tuple

import numpy as np

from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import Episode, Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.errors import ContractError
from vlassess_link.spaces import Component, Layout

STREAM = "disturbance"
"""The episode's stream that everything here is drawn from."""
VECTOR_ROTATIONS = ("axis_angle_pi", "axis_angle_2pi", "euler_xyz", "euler_xyz_fixed")
"""Rotation forms to which numbers can be added and that still are rotations."""

Meant = Callable[[np.ndarray], None]


@dataclass(frozen=True)
class Disturbance:
    """What is added to actions before they are executed. Grippers are never disturbed.

    Sizes are shares of half the range between a number's bounds; where it has none, they are in its own unit.

    Attributes:
        noise: Standard deviation of what is added to each number in each step, drawn anew.
        push_rate: Chance in each step that a push begins, where none lasts; 0: never.
        push_size: Length of what a push adds to one position, the same in each of its steps, in a drawn direction.
        push_steps: How many steps a push lasts.
    """

    noise: float = 0.0
    push_rate: float = 0.0
    push_size: float = 0.5
    push_steps: int = 6

    def __post_init__(self) -> None:
        for name in ("noise", "push_rate", "push_size"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ContractError(f"disturbance: {name} is {value}; it must be at least 0")
        if self.push_rate > 1:
            raise ContractError(f"disturbance: push_rate is {self.push_rate}; a chance is at most 1")
        if self.push_steps < 1:
            raise ContractError(f"disturbance: push_steps is {self.push_steps}; it must be at least 1")


class DisturbedBenchmark(Benchmark):
    """A benchmark that executes something else than it is told.

    Args:
        inner: What executes.
        rules: How much else.
        meant: Told of each action as it was meant, before it is executed disturbed; None: nobody asks.

    Attributes:
        disturbed: How many steps so far executed another action than was meant.

    Raises:
        ContractError: the benchmark's actions have no number that could be disturbed.
    """

    def __init__(self, inner: Benchmark, rules: Disturbance, meant: Optional[Meant] = None) -> None:
        self.spec = inner.spec
        self.disturbed = 0
        self._inner = inner
        self._rules = rules
        self._meant = meant
        self._space = DisturbedSpace(inner.spec.action)
        self._rng = np.random.default_rng(0)
        self._push = np.zeros(inner.spec.action.size)
        self._push_left = 0

    def reset(self, episode: Episode) -> RawObservation:
        """Reset, and begin the episode's stream anew; each repeat of a start has its own part of it."""
        generator = episode.rng(STREAM)
        jumped = generator.bit_generator.jumped(episode.repeat)  # type: ignore[attr-defined]
        self._rng = np.random.Generator(jumped)
        self._push_left = 0
        return self._inner.reset(episode)

    def make_obs(self, raw: RawObservation) -> Observation:
        """Observe."""
        return self._inner.make_obs(raw)

    def step(self, action: np.ndarray) -> StepResult:
        """Step with what comes of the action."""
        if self._meant is not None:
            self._meant(action)
        executed: np.ndarray = self._space.inside(action + self._drawn()).astype(action.dtype)
        self.disturbed += not np.array_equal(executed, action)
        return self._inner.step(executed)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Score."""
        return self._inner.get_step_result(result)

    def _drawn(self) -> np.ndarray:
        """Return what this step adds; it draws the same numbers whatever is done with them."""
        space, rules = self._space, self._rules
        noise: np.ndarray = self._rng.standard_normal(len(space.scale)) * space.scale * rules.noise
        begins, push = bool(self._rng.random() < rules.push_rate), space.push(self._rng, rules.push_size)
        if self._push_left == 0 and begins:
            self._push, self._push_left = push, rules.push_steps
        if self._push_left == 0:
            return noise
        self._push_left -= 1
        return np.asarray(noise + self._push)


class DisturbedSpace:
    """Which numbers of an action can be disturbed, and by how much.

    Attributes:
        scale: Half the range of each number, 1 where it has no bounds, 0 where it is not disturbed.
    """

    def __init__(self, layout: Layout) -> None:
        self.scale = _numbers(layout, lambda part: _half_range(part) if _disturbable(part) else 0.0)
        if not self.scale.any():
            names = ", ".join(component.name for component in layout.components) or "nothing"
            raise ContractError(
                f"no action component can be disturbed (there is {names}): leave the disturbance out, or name a "
                "component of kind position, joints, base or other in the benchmark's action layout"
            )
        self._low = _numbers(layout, lambda part: -np.inf if part.low is None else part.low)
        self._high = _numbers(layout, lambda part: np.inf if part.high is None else part.high)
        self._pushed = _pushed(layout) or [tuple(int(i) for i in np.flatnonzero(self.scale))]

    def inside(self, action: np.ndarray) -> np.ndarray:
        """Return the action inside the benchmark's bounds: a disturbance must be nobody's error."""
        return np.asarray(np.clip(action, self._low, self._high))

    def push(self, rng: np.random.Generator, size: float) -> np.ndarray:
        """Return a push of a drawn position in a drawn direction, each direction as likely as another."""
        places = list(self._pushed[int(rng.integers(len(self._pushed)))])
        direction = rng.standard_normal(len(places))
        pushed = np.zeros(len(self.scale))
        pushed[places] = size * direction / max(float(np.linalg.norm(direction)), 1e-12) * self.scale[places]
        return pushed


def _pushed(layout: Layout) -> List[Tuple[int, ...]]:
    """Return the places of each position component: a push moves one arm."""
    found, begin = [], 0
    for component in layout.components:
        if component.kind == "position":
            found.append(tuple(range(begin, begin + component.size)))
        begin += component.size
    return found


def _disturbable(component: Component) -> bool:
    if component.kind == "rotation":
        return component.rotation in VECTOR_ROTATIONS
    return component.kind != "gripper"


def _half_range(component: Component) -> float:
    if component.low is None or component.high is None:
        return 1.0
    return (component.high - component.low) / 2


def _numbers(layout: Layout, of: Callable[[Component], float]) -> np.ndarray:
    return np.array([of(component) for component in layout.components for _ in range(component.size)], np.float64)
