"""A policy that works beside the simulator under watch: phases, errors and seconds are told by thread."""

from __future__ import annotations

from typing import List, Optional, Sequence

from vlassess_link.benchmarks.pacing import Late, Pace, RealTime, pace_for
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.policies.base import Policy


def pace_beside(rules: RealTime, policy: Policy, seed: int, monitor: Monitor) -> Pace:
    """Return a pace for one episode whose waiting and whose policy are told to a monitor."""
    return WatchedPace(pace_for(rules, BesidePolicy(policy, monitor), seed), monitor)


class BesidePolicy(Policy):
    """A policy whose thread has no phase any more once it has answered."""

    def __init__(self, inner: Policy, monitor: Monitor) -> None:
        self.spec = inner.spec
        self._inner = inner
        self._monitor = monitor

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode."""
        self._inner.reset(start, policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Ask, and leave."""
        try:
            return self._inner.predict(obs)
        finally:
            self._monitor.leave()

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Ask statelessly."""
        return self._inner.query(observations, noise_seed)


class WatchedPace(Pace):
    """A pace whose waiting is nobody's phase, and whose policy's errors are charged to inference."""

    def __init__(self, inner: Pace, monitor: Monitor) -> None:
        self._inner = inner
        self._monitor = monitor

    def now(self) -> float:
        """Return the time."""
        return self._inner.now()

    def wait_until(self, when: float) -> None:
        """Let time pass."""
        self._monitor.enter("other")
        self._inner.wait_until(when)

    @property
    def asked(self) -> bool:
        """Whether an answer is awaited."""
        return self._inner.asked

    def ask(self, obs: Observation) -> None:
        """Ask."""
        self._inner.ask(obs)

    def answer(self) -> Optional[Late]:
        """Return the answer if it is there; what it raises is raised in the phase "inference"."""
        before = self._monitor.enter("inference")
        late = self._inner.answer()
        self._monitor.enter(before)
        return late

    def await_answer(self) -> Late:
        """Wait for the answer."""
        self._monitor.enter("inference")
        return self._inner.await_answer()

    def close(self) -> None:
        """Wait until the policy is free again, in the phase "inference"; the one before comes back."""
        before = self._monitor.enter("inference")
        self._inner.close()
        self._monitor.enter(before)
