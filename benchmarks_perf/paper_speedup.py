"""The published speed-up of parallel evaluation, recomputed with the real hand-out and the real batching code.

Published for 2,000 LIBERO episodes with CogACT (arXiv 2603.13966, section II-C): environments make 11.2 observations a
second alone and 364.6 at 50 workers, the model answers 165.2 a second at batch 1 and 468.2 at batch 16, and everything
takes 18 minutes instead of 14 hours, 47 times as fast. An observation is one control step, and 18 minutes at 364.6/s
are 394,000 of them: 197 an episode.

From these curves alone no more than 34.8x can follow: one step after the other takes 1/11.2 + 1/165.2 seconds, and in
parallel not more than 364.6 are made a second. (The published 47x holds more overhead of the sequential run than the
curves tell of.)

What lies between the published points is modelled:

- the workers share a machine, which makes 364.6 steps a second and no more, however many of the 50 are stepping
  (``shared``: the published 18 minutes are exactly this, inference included); a worker alone steps at 11.2/s. Two
  other readings are printed beside it: a curve that still grows at 50 and peaks at 80, where the published one does
  (``curve``), and workers that do not feel each other, each taking 50/364.6 s for every step (``fixed``).
- the model takes ``a + b B`` seconds for a batch of B, which meets both published rates. Of a chunk of 12 actions one
  call is made every 12 steps; supply is per observation, so that call costs 12 observations' share.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reporting import at_least, bench

from vlassess.execution.handout import DurationModel, HandOut
from vlassess.schema.items import WorkItem, episode_item
from vlassess_link import Episode
from vlassess_link.policies.batching import Batcher
from vlassess_link.testing import FakeClock

EPISODES, STEPS, WORKERS, MAX_BATCH, CHUNK = 2000, 197, 50, 16, 12
ALONE, TOGETHER = 11.2, 364.6
"""Control steps a second: one worker, 50 workers."""
SUPPLY_1, SUPPLY_16 = 165.2, 468.2
"""Observations a second: batch 1, batch 16."""
PEAK = 80
"""Workers at which the published demand is greatest."""
UNOBSERVED_SHARE = 18.7 / 106.0
"""What a LIBERO step costs without its pictures, as a share: 18.7 of 106 CPU-ms, measured at 256 pixels."""

Rate = Callable[[int], float]
"""How many of the workers are stepping -> steps a second of one of them."""


def shared(stepping: int) -> float:
    """Return the rate of one worker on a machine that makes `TOGETHER` steps a second in all."""
    return min(ALONE, TOGETHER / stepping)


def curve(stepping: int) -> float:
    """Return the rate of one worker by the universal scalability law through both points, with its peak at `PEAK`."""
    # ALONE k / (1 + s (k - 1) + c k (k - 1)), with c = (1 - s) / PEAK^2 for the peak.
    load = WORKERS * ALONE / TOGETHER - 1
    spread = WORKERS * (WORKERS - 1) / PEAK**2
    contention = (load - spread) / (WORKERS - 1 - spread)
    coherence = (1 - contention) / PEAK**2
    return ALONE / (1 + contention * (stepping - 1) + coherence * stepping * (stepping - 1))


def fixed(stepping: int) -> float:
    """Return the rate of one worker that feels 50 others whatever they do."""
    return TOGETHER / WORKERS


def seconds_of(size: int) -> float:
    """Return what the model takes for a batch of observations."""
    first, last = 1 / SUPPLY_1, MAX_BATCH / SUPPLY_16
    return first + (last - first) * (size - 1) / (MAX_BATCH - 1)


@dataclass(frozen=True)
class Way:
    """How the episodes are run.

    Attributes:
        rate: How fast workers step.
        horizon: Steps between two requests to the model.
        share: What a step costs of a fully observed one, over one horizon's mean.
    """

    rate: Rate
    horizon: int = 1
    share: float = 1.0


@dataclass
class _Worker:
    name: str
    item: WorkItem | None = None
    steps: int = 0
    begun: float = 0.0


class Simulation:
    """All episodes on `WORKERS` workers and one model server, on a simulated clock.

    Workers that step share the machine: each burst of steps is an amount of work, and the rate changes whenever one
    begins or ends, so progress is kept as the work that a worker has done since the start (processor sharing).
    """

    def __init__(self, way: Way) -> None:
        self._way = way
        self._clock = FakeClock()
        self._batcher = Batcher(MAX_BATCH, self._clock)
        self._model = DurationModel({})
        self._handout = HandOut([_item(number) for number in range(EPISODES)], self._model.expected)
        self._bursts: list[tuple[float, int, _Worker]] = []
        self._done = 0.0
        self._waiting: list[_Worker] = []
        self._batch: list[_Worker] = []
        self._batch_ends = float("inf")
        self._numbers = itertools.count()

    def run(self) -> float:
        """Return the seconds until the last episode has ended."""
        for number in range(WORKERS):
            self._next_episode(_Worker(f"{number}"))
        while self._bursts or self._waiting or self._batch:
            self._serve()
        return self._clock.now

    def _serve(self) -> None:
        wake = float("inf")
        if not self._batch and self._waiting:
            until = self._batcher.wait_until(min(len(self._waiting), MAX_BATCH))
            if until is None:
                self._batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                self._batch_ends = self._clock.now + self._cost(len(self._batch))
            else:
                wake = until
        speed = self._way.rate(len(self._bursts)) / self._way.share if self._bursts else 0.0
        burst = self._clock.now + (self._bursts[0][0] - self._done) / speed if self._bursts else float("inf")
        at = min(burst, self._batch_ends, wake)
        self._done += (at - self._clock.now) * speed
        self._clock.now = at
        if at == burst:
            self._step_ended(heapq.heappop(self._bursts)[2])
        elif at == self._batch_ends:
            self._answered()

    def _cost(self, size: int) -> float:
        return seconds_of(size) * self._way.horizon

    def _step_ended(self, worker: _Worker) -> None:
        worker.steps += min(self._way.horizon, STEPS - worker.steps)
        if worker.steps == STEPS:
            self._batcher.paused(worker.name)
            self._next_episode(worker)
        else:
            self._ask(worker)

    def _ask(self, worker: _Worker) -> None:
        self._batcher.arrived(worker.name)
        self._waiting.append(worker)

    def _answered(self) -> None:
        self._batcher.ran(len(self._batch), self._cost(len(self._batch)))
        for worker in self._batch:
            self._batcher.answered(worker.name)
            work = min(self._way.horizon, STEPS - worker.steps)
            heapq.heappush(self._bursts, (self._done + work, next(self._numbers), worker))
        self._batch, self._batch_ends = [], float("inf")

    def _next_episode(self, worker: _Worker) -> None:
        worker.item, worker.steps = self._handout.next({"policy"}), 0
        if worker.item is not None:
            self._ask(worker)


def _item(number: int) -> WorkItem:
    task, index = divmod(number, EPISODES // 40)
    given: dict[str, Any] = {"benchmark": "libero@1", "suite": "libero", "task": f"{task}", "index": index}
    episode = Episode(f"{number}", f"{number}", seed=0, policy_seed=0, step_limit=STEPS, **given)
    return episode_item("policy", episode)


def sequential(share: float = 1.0) -> float:
    """Return the seconds of one worker that asks the model and steps in turn; ``share``: see `Way`."""
    return EPISODES * STEPS * (share / ALONE + 1 / SUPPLY_1)


def most() -> float:
    """Return the greatest speed-up that the published curves allow."""
    return sequential() / (EPISODES * STEPS / TOGETHER)


def measure_paper_speedup() -> None:
    """Print the speed-up, what the curves allow, and what observing on demand adds."""
    bench("paper.speedup_published", 47.0)
    bench("paper.speedup_that_the_curves_allow", most())
    times = {rate.__name__: Simulation(Way(rate)).run() for rate in (shared, curve, fixed)}
    bench("paper.minutes", times["shared"] / 60)
    at_least("paper.speedup_simulated", sequential() / times["shared"], 0.95 * most())
    for name in ("curve", "fixed"):
        bench(f"paper.speedup_simulated.{name}", sequential() / times[name])
    chunked = Simulation(Way(shared, CHUNK)).run()
    bench("paper.speedup_with_one_call_for_12_observed_steps", sequential() / chunked)
    share = (1 + (CHUNK - 1) * UNOBSERVED_SHARE) / CHUNK
    demand = Simulation(Way(shared, CHUNK, share)).run()
    bench("paper.speedup_with_observe_on_demand", sequential() / demand)
    bench("paper.observe_on_demand_adds", times["shared"] / demand)
    bench("paper.minutes_with_observe_on_demand", demand / 60)


if __name__ == "__main__":
    measure_paper_speedup()
