"""Time in a real-time episode: when an answer is there, and when the next control step is due.

Two paces, the same to the loop. With `WallPace` a second passes as on the robot: the policy works in a thread of its
own while the simulator goes on. With `ModelledPace` time is a number: an answer is computed at once and counts as
there when the latency, drawn from a given distribution, has passed. So a slow policy's real-time behaviour is studied
as fast as the machine allows, and the same every time.
"""

from __future__ import annotations

import abc
import math
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Callable, List, Optional, Tuple

import numpy as np

from vlassess_link.data import ActionChunk, Observation
from vlassess_link.errors import ContractError
from vlassess_link.policies.base import Policy
from vlassess_link.seeds import latency_noise
from vlassess_link.spaces import require_one_of

PACES = ("wall", "modelled")
LATENCIES = ("constant", "lognormal", "empirical")


@dataclass(frozen=True)
class Latency:
    """From when an observation is taken until its answer is there.

    Attributes:
        kind: One of `LATENCIES`.
        seconds: "constant": the latency; "lognormal": its median; not for "empirical".
        sigma: "lognormal": standard deviation of its logarithm.
        samples: "empirical": measured seconds, one of which is drawn.
    """

    kind: str = "constant"
    seconds: float = 0.0
    sigma: float = 0.0
    samples: Tuple[float, ...] = ()

    def __post_init__(self) -> None:
        require_one_of("latency.kind", self.kind, LATENCIES)
        if (self.kind == "empirical") != bool(self.samples):
            raise ContractError("latency has samples if and only if its kind is empirical")
        for value in (self.seconds, self.sigma, *self.samples):
            if not (math.isfinite(value) and value >= 0.0):
                raise ContractError(f"latency has {value}; every number of it must be finite and not negative")

    def draw(self, rng: np.random.Generator) -> float:
        """Return seconds."""
        if self.kind == "empirical":
            return float(self.samples[int(rng.integers(len(self.samples)))])
        if self.kind == "lognormal":
            return float(self.seconds * math.exp(self.sigma * rng.standard_normal()))
        return self.seconds


@dataclass(frozen=True)
class RealTime:
    """How an episode runs in real time.

    Attributes:
        pace: One of `PACES`.
        latency: "modelled": how long answers take. "wall": how long they take at least; None: as long as they do.
        await_first: The environment stands still until the first answer is there.
        skip_past: Of a chunk that is late, the actions that were meant for steps already past are skipped.
        asynchronous: The policy is asked again while the rest of its chunk is executed, instead of after it.
    """

    pace: str = "wall"
    latency: Optional[Latency] = None
    await_first: bool = False
    skip_past: bool = False
    asynchronous: bool = False

    def __post_init__(self) -> None:
        require_one_of("realtime.pace", self.pace, PACES)
        if self.pace == "modelled" and self.latency is None:
            raise ContractError("realtime.pace is modelled, so realtime.latency must say how long answers take")


@dataclass(frozen=True)
class Late:
    """An answer that is there.

    Attributes:
        chunk: The policy's.
        step: Control steps executed before its observation was taken.
        seconds: From the observation to the answer.
    """

    chunk: ActionChunk
    step: int
    seconds: float


class Pace(abc.ABC):
    """Asks the policy and knows the time. One object serves one episode."""

    @abc.abstractmethod
    def now(self) -> float:
        """Return the time in seconds, from anywhere."""

    @abc.abstractmethod
    def wait_until(self, when: float) -> None:
        """Let time pass until then; returns at once where it is past."""

    @property
    @abc.abstractmethod
    def asked(self) -> bool:
        """Whether an answer is awaited."""

    @abc.abstractmethod
    def ask(self, obs: Observation) -> None:
        """Ask for an answer; only while none is awaited."""

    @abc.abstractmethod
    def answer(self) -> Optional[Late]:
        """Return the answer if it is there by now.

        Raises:
            Exception: whatever the policy raised.
        """

    @abc.abstractmethod
    def await_answer(self) -> Late:
        """Let time pass until the answer is there, and return it.

        Raises:
            Exception: whatever the policy raised.
        """

    def close(self) -> None:
        """Give up on an answer that is still awaited."""


class ModelledPace(Pace):
    """Time is a number that only `wait_until` and `await_answer` move.

    Args:
        policy: To ask.
        latency: Of each answer, drawn from (``seed``, step) alone.
        seed: The episode's policy seed.
    """

    def __init__(self, policy: Policy, latency: Latency, seed: int) -> None:
        self._policy = policy
        self._latency = latency
        self._seed = seed
        self._now = 0.0
        self._awaited: Optional[Tuple[float, Late]] = None

    def now(self) -> float:
        """Return the modelled time."""
        return self._now

    def wait_until(self, when: float) -> None:
        """Set the clock."""
        self._now = max(self._now, when)

    @property
    def asked(self) -> bool:
        """Whether an answer is awaited."""
        return self._awaited is not None

    def ask(self, obs: Observation) -> None:
        """Compute the answer now, and deliver it later."""
        chunk = self._policy.predict(obs)
        seconds = self._latency.draw(latency_noise(self._seed, obs.step))
        self._awaited = (self._now + seconds, Late(chunk, obs.step, seconds))

    def answer(self) -> Optional[Late]:
        """Return the answer once its time has come."""
        if self._awaited is None or self._awaited[0] > self._now + EPSILON:
            return None
        return self._take()

    def await_answer(self) -> Late:
        """Set the clock to when the answer is there."""
        assert self._awaited is not None
        self.wait_until(self._awaited[0])
        return self._take()

    def _take(self) -> Late:
        assert self._awaited is not None
        late = self._awaited[1]
        self._awaited = None
        return late


EPSILON = 1e-9
"""Seconds: a step's due time is a sum of periods, and an answer that comes with it is not late."""


class WallPace(Pace):
    """Time passes by itself, and the policy works beside the simulator.

    Args:
        policy: To ask. A privileged one reads the simulator, so it is asked while that stands still.
        latency: Least seconds of an answer; None: it is there when it is there.
        seed: The episode's policy seed, from which latencies are drawn.
        clock: Seconds, from anywhere.
        sleep: Lets so many seconds pass.
    """

    def __init__(
        self,
        policy: Policy,
        latency: Optional[Latency],
        seed: int,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._policy = policy
        self._latency = latency
        self._seed = seed
        self._clock = clock
        self._sleep = sleep
        # One thread for the whole episode: model libraries are at home in one.
        self._pool = None if policy.spec.privileged else ThreadPoolExecutor(1, "inference")
        self._awaited: Optional[Tuple[Observation, float, float, Future[Tuple[ActionChunk, float]]]] = None

    def now(self) -> float:
        """Return the clock's time."""
        return self._clock()

    def wait_until(self, when: float) -> None:
        """Sleep."""
        rest = when - self._clock()
        if rest > 0.0:
            self._sleep(rest)

    @property
    def asked(self) -> bool:
        """Whether an answer is awaited."""
        return self._awaited is not None

    def ask(self, obs: Observation) -> None:
        """Start the policy on an observation."""
        begun = self._clock()
        least = self._latency.draw(latency_noise(self._seed, obs.step)) if self._latency is not None else 0.0
        if self._pool is None:
            future: Future[Tuple[ActionChunk, float]] = Future()
            future.set_result(self._predict(obs))
        else:
            future = self._pool.submit(self._predict, obs)
        self._awaited = (obs, begun, least, future)

    def answer(self) -> Optional[Late]:
        """Return the answer if it has been computed and its least time is over."""
        if self._awaited is None:
            return None
        _, begun, least, future = self._awaited
        failed = future.done() and future.exception() is not None
        if not failed and (not future.done() or self._clock() < begun + least - EPSILON):
            return None
        return self._take()

    def await_answer(self) -> Late:
        """Wait for the answer."""
        assert self._awaited is not None
        _, begun, least, future = self._awaited
        future.result()
        self.wait_until(begun + least)
        return self._take()

    def close(self) -> None:
        """Wait until the policy is free again; what it says no longer matters."""
        self._awaited = None
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def _predict(self, obs: Observation) -> Tuple[ActionChunk, float]:
        chunk = self._policy.predict(obs)
        return chunk, self._clock()

    def _take(self) -> Late:
        assert self._awaited is not None
        obs, begun, least, future = self._awaited
        self._awaited = None
        chunk, ready = future.result()
        return Late(chunk, obs.step, max(ready - begun, least))


def pace_for(rules: RealTime, policy: Policy, seed: int) -> Pace:
    """Return a pace for one episode, on the machine's clock where it is the wall's."""
    if rules.pace == "modelled":
        assert rules.latency is not None
        return ModelledPace(policy, rules.latency, seed)
    return WallPace(policy, rules.latency, seed)


def percentiles(seconds: List[float]) -> Tuple[Optional[float], ...]:
    """Return the 50th, 95th and 99th percentile (nearest rank, so each is a measured one); None where there is none."""
    ordered = sorted(seconds)
    if not ordered:
        return (None, None, None)
    return tuple(ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.95, 0.99))
