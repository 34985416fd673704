"""When to run a batch, and when to wait for one more: decisions only, no threads, no sleeping.

A closed-loop client asks, waits for its answer, thinks (simulates) and asks again; so its next request can be
predicted from its own past. A server that always runs at once computes many small batches, one that waits for
all of its clients stands still for the slowest. Here a session is waited for only if its predicted arrival is
sooner than what its joining would save, reckoned in the latency of everybody concerned:

- run the ``n`` that wait now: they are answered after ``s(n)``, and the ``k`` that come meanwhile only after
  the rest of that and ``s(k)``, for which those of the ``n`` that think shorter have to wait when they are back;
- wait ``d`` seconds for the ``k``: all are answered ``s(n + k)`` later.

``s`` is learned from the batches that were run. With a fixed number of clients, less latency is more throughput.
A session whose rhythm is uneven is reckoned later by its mean deviation, so that nobody waits for dice. A session
in reset, or between two episodes, is not expected at all.
"""

from __future__ import annotations

import statistics
from collections import deque
from typing import Callable, Deque, Dict, List, Optional

KEPT = 15
"""Batches of one size whose median latency counts."""
WEIGHT = 0.2
"""Of the newest think time in the running mean."""
MARGIN = 0.0005
"""Seconds by which nobody is called late: less than a thread needs to wake up."""
SPREADS = 2.0
"""Mean deviations after which a predicted session is no longer waited for."""


class LatencyModel:
    """Seconds that a batch of a size takes, as measured; sizes in between are interpolated.

    A size above all that were seen is expected to cost what its nearest two promise, so that larger batches are
    tried at all; the first one run corrects it.
    """

    def __init__(self) -> None:
        self._seen: Dict[int, Deque[float]] = {}
        self._median: Dict[int, float] = {}
        self._expected: Dict[int, float] = {}

    @property
    def known(self) -> bool:
        """Whether anything was measured."""
        return bool(self._median)

    def add(self, size: int, seconds: float) -> None:
        """Learn what a batch took. The median counts, so that a warm-up or a hiccup does not."""
        seen = self._seen.setdefault(size, deque(maxlen=KEPT))
        seen.append(seconds)
        self._median[size] = statistics.median(seen)
        self._expected.clear()

    def seconds(self, size: int) -> float:
        """Return the expected seconds of a batch of ``size``, 0.0 while nothing was measured."""
        known = self._expected.get(size)
        if known is None:
            known = self._expected[size] = self._reckon(size)
        return known

    def _reckon(self, size: int) -> float:
        if size in self._median:
            return self._median[size]
        sizes = sorted(self._median)
        if not sizes:
            return 0.0
        below = [known for known in sizes if known < size]
        above = [known for known in sizes if known > size]
        if not below:
            return self._median[above[0]]
        if above:
            return self._between(below[-1], above[0], size)
        if len(below) == 1:
            return self._median[below[0]]
        return max(self._between(below[-2], below[-1], size), self._median[below[-1]])

    def _between(self, low: int, high: int, size: int) -> float:
        share = (size - low) / (high - low)
        return self._median[low] + share * (self._median[high] - self._median[low])


class _Session:
    """What is known of one session's rhythm.

    Attributes:
        thinking_since: When it got its last answer; None while it waits for one or is in no episode.
        waiting: It waits for an answer.
    """

    def __init__(self) -> None:
        self.thinking_since: Optional[float] = None
        self.waiting = False
        self._mean: Optional[float] = None
        self._deviation = 0.0

    def learn(self, seconds: float) -> None:
        if self._mean is None:
            self._mean, self._deviation = seconds, seconds / 2
            return
        self._deviation += WEIGHT * (abs(seconds - self._mean) - self._deviation)
        self._mean += WEIGHT * (seconds - self._mean)

    def due(self) -> Optional[float]:
        """Return when its next request is predicted; None where nothing is."""
        if self.thinking_since is None or self._mean is None:
            return None
        return self.thinking_since + self._mean

    @property
    def mean(self) -> Optional[float]:
        """Running mean of its think time, None before the first."""
        return self._mean

    @property
    def deviation(self) -> float:
        """Mean absolute deviation of its think time."""
        return self._deviation

    @property
    def slack(self) -> float:
        """Seconds after `due` at which it is given up."""
        return SPREADS * self._deviation + MARGIN


class Batcher:
    """Says whether to run now or until when to wait. Not thread-safe: the caller holds its own lock.

    Args:
        max_batch: Most requests of one batch.
        clock: Seconds, from anywhere.

    Attributes:
        latency: What was learned of the model's speed.
    """

    def __init__(self, max_batch: int, clock: Callable[[], float]) -> None:
        self.max_batch = max_batch
        self.latency = LatencyModel()
        self._clock = clock
        self._sessions: Dict[str, _Session] = {}
        self._waiting_since: Optional[float] = None

    def arrived(self, session: str, when: Optional[float] = None) -> None:
        """Say that a session's request came; ``when``: on the clock, None: now."""
        known = self._sessions.setdefault(session, _Session())
        if known.thinking_since is not None:
            known.learn((self._clock() if when is None else when) - known.thinking_since)
        known.thinking_since, known.waiting = None, True

    def answered(self, session: str, when: Optional[float] = None) -> None:
        """Say that a session got its answer, so that it thinks from then on; ``when``: on the clock, None: now."""
        known = self._sessions.get(session)
        if known is not None:
            known.thinking_since, known.waiting = self._clock() if when is None else when, False

    def paused(self, session: str) -> None:
        """Say that a session is in reset or between episodes: it is not expected until its next request."""
        known = self._sessions.get(session)
        if known is not None:
            known.thinking_since, known.waiting = None, False

    def left(self, session: str) -> None:
        """Forget a session."""
        self._sessions.pop(session, None)

    def ran(self, size: int, seconds: float) -> None:
        """Say what a batch took."""
        self.latency.add(size, seconds)

    def wait_until(self, waiting: int) -> Optional[float]:
        """Return the time until which a further session is worth waiting for, None to run now.

        Ask again after each arrival and at that time. The answer is None sooner or later, whatever arrives: no
        wait is longer than the batch that it fills would take.

        Args:
            waiting: Requests that could run now, at least 1.
        """
        now = self._clock()
        until = self._worth_waiting(waiting, now) if waiting < self.max_batch and self.latency.known else None
        if until is None:
            self._waiting_since = None
            return None
        if self._waiting_since is None:
            self._waiting_since = now
        limit = self._waiting_since + self.latency.seconds(self.max_batch)
        if now >= limit:
            self._waiting_since = None
            return None
        return min(until, limit)

    def _worth_waiting(self, waiting: int, now: float) -> Optional[float]:
        """Return when the group of sessions is given up whose joining saves most, None where none saves anything."""
        expected = [
            (max(due, now) + known.deviation, due + known.slack)
            for known in self._sessions.values()
            if (due := known.due()) is not None and due + known.slack > now
        ]
        if not expected:
            return None
        expected.sort()
        pauses = [known.mean for known in self._sessions.values() if known.waiting and known.mean is not None]
        delays: List[float] = []
        best, until = 0.0, None
        for due, given_up in expected[: self.max_batch - waiting]:
            delays.append(due - now)
            gain = self._gain(waiting, delays, pauses)
            if gain > best:
                best, until = gain, given_up
        return until

    def _gain(self, waiting: int, delays: List[float], pauses: List[float]) -> float:
        """Return the seconds of latency, summed over all concerned, that waiting for the last of ``delays`` saves.

        Args:
            waiting: How many wait.
            delays: Until when each of those comes that would join.
            pauses: Mean think times of those that wait.
        """
        joining, wait = len(delays), delays[-1]
        alone, later = self.latency.seconds(waiting), self.latency.seconds(joining)
        together = self.latency.seconds(waiting + joining)
        at_once = waiting * alone + sum(max(alone - delay, 0.0) + later for delay in delays)
        at_once += sum(max(later - pause, 0.0) for pause in pauses)
        waited = waiting * (wait + together) + sum(wait - delay + together for delay in delays)
        return at_once - waited
