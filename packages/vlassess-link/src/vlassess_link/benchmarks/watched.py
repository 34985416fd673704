"""Both sides of an episode under watch: timed by phase, checked against their contracts, digested.

They are wrappers, so that the loop knows nothing of them.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Callable, Dict, Mapping, Optional, Tuple, Type, TypeVar

import numpy as np

from vlassess_link.benchmarks.base import Benchmark, View
from vlassess_link.benchmarks.witness import Parts, Witness
from vlassess_link.data import (
    ActionChunk,
    Episode,
    EpisodeStart,
    Observation,
    RawObservation,
    StepOutcome,
    StepResult,
)
from vlassess_link.delivered import Delivered
from vlassess_link.digest import ArrayDigest
from vlassess_link.errors import BenchmarkFault, ObservationError
from vlassess_link.policies.base import Policy
from vlassess_link.specs import BenchmarkSpec, PolicySpec

Value = TypeVar("Value")

MOST_REASONING = 2000
"""Characters that a record keeps of a policy's reasoning."""

BESIDE = "beside"
"""Phase of a thread beside the attempt's own while it does nothing."""


class Monitor:
    """What is going on now and how long each phase took; another thread may read `now` at any time.

    A phase lasts until the next call begins, so that what is wrong with a call's answer is charged to it. A policy
    that works beside the simulator does so in a thread of its own, which has a phase of its own here.

    Attributes:
        now: (running phase, when it began in seconds of ``clock``): one value, so that a reader never sees
            the phase of one moment with the time of another. The phase is "idle" between episodes, and "other"
            while the harness is busy with itself.
        seconds: Seconds by phase of the running attempt.

    Args:
        clock: Seconds, from anywhere.
        tell: Told of each phase as it begins; must cost next to nothing.
    """

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, tell: Optional[Callable[[str], None]] = None
    ) -> None:
        self.clock = clock
        self._tell = tell
        self.now: Tuple[str, float] = ("idle", clock())
        self.seconds: Dict[str, float] = {}
        self._own = threading.get_ident()
        self._beside: Dict[int, Tuple[str, float]] = {}
        self._lock = threading.Lock()

    @property
    def phase(self) -> str:
        """The running phase of the thread that asks."""
        return self._beside.get(threading.get_ident(), self.now)[0]

    @property
    def running(self) -> Tuple[Tuple[str, float], ...]:
        """The running phase of every thread, and when it began."""
        return (self.now, *tuple(self._beside.values()))

    def enter(self, phase: str) -> str:
        """Begin a phase and return the one that it interrupts."""
        me = threading.get_ident()
        time_now = self.clock()
        before, since = self.now if me == self._own else self._beside.get(me, (BESIDE, time_now))
        with self._lock:
            self.seconds[before] = self.seconds.get(before, 0.0) + time_now - since
        if me != self._own:
            self._beside[me] = (phase, time_now)
            return before
        self.now = (phase, time_now)
        if self._tell is not None:
            self._tell(phase)
        return before

    def leave(self) -> None:
        """End the phase of a thread beside the attempt's own; nothing in that one itself."""
        if threading.get_ident() != self._own:
            self.enter(BESIDE)
            self._beside.pop(threading.get_ident(), None)

    def clear(self) -> None:
        """Forget the last attempt's seconds; the next one belongs to the thread that calls this."""
        self._own = threading.get_ident()
        self.seconds = {}
        self.now = (self.phase, self.clock())


class WatchedBenchmark(Benchmark):
    """A benchmark whose calls are timed by phase, and whose initial state and actions are digested."""

    def __init__(self, inner: Benchmark, monitor: Monitor) -> None:
        self.spec = inner.spec
        self._inner = inner
        self._monitor = monitor
        self._actions = ArrayDigest()
        self.steps = 0
        self.instruction: Optional[str] = None
        self.initial_state: Mapping[str, np.ndarray] = {}
        self.low: Optional[np.ndarray] = None
        self.high: Optional[np.ndarray] = None

    @property
    def actions_digest(self) -> str:
        """Digest of every executed action so far."""
        return self._actions.hexdigest()

    def reset(self, episode: Episode) -> RawObservation:
        """Reset, and keep the measured initial state.

        Raises:
            BenchmarkFault: the state is missing or not finite, so the start could not be proved; the instruction
                is no text, or not the episode's.
        """
        self._monitor.enter("reset")
        raw = checked(self._inner.reset(episode), RawObservation, "reset")
        if not isinstance(raw.instruction, str):
            raise BenchmarkFault(f"reset() gave the instruction {raw.instruction!r}; it must be a text")
        if episode.instruction is not None and raw.instruction != episode.instruction:
            raise BenchmarkFault(
                f"reset() gave the instruction {raw.instruction!r} although the episode says {episode.instruction!r}"
            )
        self.instruction = raw.instruction
        state = {name: np.asarray(value, np.float64) for name, value in raw.state.items()}
        if not state:
            raise BenchmarkFault("reset() gave an empty `state`; it must hold the named initial state")
        for name, value in state.items():
            if not np.isfinite(value).all():
                raise BenchmarkFault(f"initial state {name!r} is not finite after reset()")
        self.initial_state = state
        return raw

    def step(self, action: np.ndarray) -> StepResult:
        """Step with a copy of the action, and digest it: the policy may hold on to the array."""
        self._actions.update("action", action)
        self.low = action.copy() if self.low is None else np.minimum(self.low, action)
        self.high = action.copy() if self.high is None else np.maximum(self.high, action)
        self._monitor.enter("step")
        result = checked(self._inner.step(action.copy()), StepResult, "step")
        self.steps += 1
        return result

    def make_obs(self, raw: RawObservation) -> Observation:
        """Render."""
        self._monitor.enter("render")
        return checked(self._inner.make_obs(raw), Observation, "make_obs")

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Score; counted with the step it belongs to."""
        return checked(self._inner.get_step_result(result), StepOutcome, "get_step_result")


def checked(value: Value, kind: Type[Value], call: str) -> Value:
    """Return what a benchmark's method returned, if it is what the contract says.

    Raises:
        BenchmarkFault: it is something else; names the method and both types.
    """
    if not isinstance(value, kind):
        raise BenchmarkFault(f"{call}() returned a {type(value).__name__}; it must return a {kind.__name__}")
    return value


class WatchedPolicy(Policy):
    """A policy whose calls are timed, and whose delivered inputs are digested.

    Args:
        inner: The policy.
        monitor: Told of the phases.
        parts: Components of the delivered state: see `Witness`.
    """

    def __init__(self, inner: Policy, monitor: Monitor, parts: Parts = ()) -> None:
        self.spec = inner.spec
        self._inner = inner
        self._monitor = monitor
        self._witness = Witness(inner, parts)
        self._inputs = ArrayDigest()
        self._images = ArrayDigest()
        self.observations = 0
        self.reasoning = ""

    @property
    def inputs_digest(self) -> str:
        """Digest of every delivered state, instruction and extra."""
        return self._inputs.hexdigest()

    @property
    def images_digest(self) -> str:
        """Digest of every delivered image."""
        return self._images.hexdigest()

    @property
    def delivered(self) -> Optional[Delivered]:
        """What reached it as the episode began; None where it was never asked."""
        return self._witness.delivered

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode."""
        self._witness.started(start)
        self._monitor.enter("inference")
        self._inner.reset(start, policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Digest what is delivered, then ask the policy; extras that it does not name are left out."""
        extras = {name: value for name, value in obs.extras.items() if name in self.spec.extras}
        obs = dataclasses.replace(obs, extras=extras)
        self._monitor.enter("other")
        for name in sorted(obs.images):
            self._images.update(name, obs.images[name])
        self._inputs.update_text("instruction", obs.instruction)
        if obs.state is not None:
            self._inputs.update("state", obs.state)
        for name in sorted(obs.extras):
            self._inputs.update(name, obs.extras[name])
        self._witness.observed(obs)
        self.observations += 1
        self._monitor.enter("inference")
        chunk = ActionChunk.of(self._inner.predict(obs))
        said = chunk.extras.get("reasoning", "")
        if not self.reasoning and isinstance(said, str):
            self.reasoning = said[:MOST_REASONING]
        return chunk


def check_observation(
    obs: Observation, benchmark: BenchmarkSpec, policy: PolicySpec, view: Optional[View] = None
) -> None:
    """Refuse an observation that breaks its contract, before it is delivered.

    Args:
        obs: What make_obs() returned.
        benchmark: Declares the state's layout and the extras.
        policy: Declares the image dtypes (bytes become floats where it takes floats only), and whether it reads a
            state.
        view: Cameras and sizes that were asked for; None: these are not checked.

    Raises:
        ObservationError: other cameras than asked for; an image of another size, shape or dtype; a state that is
            missing, not finite or not of the declared layout; extras that the benchmark does not declare.
    """
    if view is not None and set(obs.images) != set(view.cameras):
        raise ObservationError(
            f"make_obs() delivered the cameras {sorted(obs.images)}; {sorted(view.cameras)} were asked for: render "
            "what `self.view` says"
        )
    for name, image in obs.images.items():
        _check_image(name, image, policy, view)
    _check_state(obs.state, benchmark, policy)
    for name in obs.extras:
        if name not in benchmark.extras:
            raise ObservationError(f"make_obs() delivered the extra {name!r}; declare it in the spec's `extras`")


def _check_image(name: str, image: np.ndarray, policy: PolicySpec, view: Optional[View]) -> None:
    if image.ndim != 3 or image.shape[2] != 3:
        raise ObservationError(f"image {name!r} has shape {image.shape}; it must be (height, width, 3)")
    if view is not None and image.shape[:2] != tuple(view.cameras[name]):
        raise ObservationError(
            f"image {name!r} is {image.shape[0]}x{image.shape[1]}; "
            f"{'x'.join(str(side) for side in view.cameras[name])} was asked for: render what `self.view` says"
        )
    if image.dtype.name not in policy.image_dtypes and image.dtype != np.uint8:
        raise ObservationError(
            f"image {name!r} is {image.dtype}; the policy {policy.identity.name!r} takes "
            f"{' or '.join(policy.image_dtypes)}: declare it in its `image_dtypes` or convert"
        )


def _check_state(state: Optional[np.ndarray], benchmark: BenchmarkSpec, policy: PolicySpec) -> None:
    if state is None:
        if policy.state is not None and policy.state.components:
            raise ObservationError(f"make_obs() delivered no state; the policy {policy.identity.name!r} reads one")
        return
    size = benchmark.state.size if benchmark.state is not None else None
    if state.ndim != 1 or state.dtype.kind != "f" or state.size != size:
        raise ObservationError(
            f"state is {state.dtype} of shape {state.shape}; the spec declares {size} floats in one row"
        )
    if not np.isfinite(state).all():
        raise ObservationError(f"state has {state[~np.isfinite(state)][0]} in place {np.argmin(np.isfinite(state))}")
