"""Batching against greedy and wait-for-all, on a fake model of given latencies: simulated, then in real time.

The simulation drives the server's own `Batcher` on a clock that it moves itself, so a sweep takes seconds and other
work on the machine changes nothing. The real-time check sends the same load through a `ModelHost` with a model that
sleeps, and through vla-eval's batching where that is installed.
"""

from __future__ import annotations

import heapq
import itertools
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from reporting import at_least, bench

from vlassess_link import Observation, PolicyIdentity, PolicySpec, PredictModelServer
from vlassess_link.policies.batching import Batcher
from vlassess_link.policies.inference import ModelHost
from vlassess_link.policies.model import ModelSession
from vlassess_link.testing import FakeClock

LATENCIES = {1: 0.0182, 2: 0.0185, 4: 0.0200, 8: 0.0239, 16: 0.0287}
"""Batch size -> seconds of the fake model; sizes in between are interpolated."""
MAX_BATCH = 16
CLIENTS = (1, 8, 16, 50)
THINK = (0.0, 0.020, 0.100, 0.500)
TURNAROUND = 0.0005
"""Seconds that a client which does not think takes from its answer to its next request."""
VLA_EVAL = Path(__file__).parent.parent / ".cache" / "peers" / "vla-eval" / "bin" / "python"


def seconds_of(size: int) -> float:
    """Return what the fake model takes for a batch."""
    return float(np.interp(size, list(LATENCIES), list(LATENCIES.values())))


def bound(clients: int, think: float, latency: Callable[[int], float] = seconds_of) -> float:
    """Return the most requests a second that any server can answer: each client alone, and the best batch there is.

    No batch holds more requests than there are clients.
    """
    best = max(size / latency(size) for size in range(1, min(clients, MAX_BATCH) + 1))
    return min(clients / (think + latency(1)), best)


class Greedy:
    """Never waits."""

    def __init__(self, clients: int) -> None:
        self.clients = clients

    def arrived(self, session: str) -> None:
        """Ignore it."""

    def answered(self, session: str) -> None:
        """Ignore it."""

    def ran(self, size: int, seconds: float) -> None:
        """Ignore it."""

    def wait_until(self, waiting: int) -> float | None:
        """Run now."""
        return None


class WaitForAll(Greedy):
    """Waits until a batch is full, or every client is in it."""

    def wait_until(self, waiting: int) -> float | None:
        """Run when nobody is missing."""
        return None if waiting >= min(self.clients, MAX_BATCH) else float("inf")


@dataclass
class Simulated:
    """Closed-loop clients of one server, on a simulated clock.

    Attributes:
        policy: Says when to run; see `Batcher`.
        clock: Its clock.
        think: Returns a think time, from the answer to the next request.
        latency: Batch size -> seconds.
    """

    policy: Any
    clock: FakeClock
    think: Callable[[], float]
    latency: Callable[[int], float] = seconds_of
    events: list[tuple[float, int, str, Any]] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def rate(self, clients: int, seconds: float, warm_up: float) -> float:
        """Return the requests a second that were answered after the warm-up."""
        for client in range(clients):
            self._at(self.think(), "arrives", client)
        waiting: list[int] = []
        busy = False
        answered = 0
        while True:
            at, _, what, subject = heapq.heappop(self.events)
            if at > seconds:
                return answered / (seconds - warm_up)
            self.clock.now = at
            if what == "arrives":
                waiting.append(subject)
                self.policy.arrived(str(subject))
            elif what == "ends":
                busy = False
                answered += len(subject) * (at > warm_up)
                self._hand_out(subject)
            if not busy and waiting:
                batch = self._decide(waiting)
                busy, waiting = bool(batch), waiting[len(batch) :]

    def _decide(self, waiting: list[int]) -> list[int]:
        until = self.policy.wait_until(min(len(waiting), MAX_BATCH))
        if until is not None:
            if until < float("inf"):
                self._at(until, "wakes", None)
            return []
        batch = waiting[:MAX_BATCH]
        self._at(self.clock.now + self.latency(len(batch)), "ends", batch)
        return batch

    def _hand_out(self, batch: list[int]) -> None:
        self.policy.ran(len(batch), self.latency(len(batch)))
        for client in batch:
            self.policy.answered(str(client))
            self._at(self.clock.now + self.think(), "arrives", client)

    def _at(self, when: float, what: str, subject: Any) -> None:
        heapq.heappush(self.events, (when, next(self.numbers), what, subject))


RHYTHMS: Mapping[str, Callable[[np.random.Generator], float]] = {
    "steady": lambda rng: 1.0,
    "jitter": lambda rng: float(rng.uniform(0.9, 1.1)),
    "uneven": lambda rng: float(rng.exponential()),
}
"""How the think times of a client spread around their mean."""


def simulated_rates(clients: int, think: float, rhythm: str, seconds: float = 30.0) -> dict[str, float]:
    """Return requests a second of each way to decide."""
    found = {}
    for name in ("adaptive", "greedy", "all"):
        clock, rng = FakeClock(), np.random.default_rng(7)
        policy = {"greedy": Greedy, "all": WaitForAll}[name](clients) if name != "adaptive" else Batcher(16, clock)

        def pause(rng: np.random.Generator = rng) -> float:
            return think * RHYTHMS[rhythm](rng) + TURNAROUND * float(rng.uniform(0.5, 1.5))

        found[name] = Simulated(policy, clock, pause).rate(clients, seconds, seconds / 5)
    return found


def measure_simulated() -> None:
    """Print the sweep: the share of the bound, and of the better of greedy and wait-for-all."""
    for rhythm, think, clients in itertools.product(RHYTHMS, THINK, CLIENTS):
        if think == 0 and rhythm != "steady":
            continue
        rates = simulated_rates(clients, think, rhythm)
        where = f"{rhythm}.think_{think * 1000:g}ms.clients_{clients}"
        if think in (0.0, 0.5) and rhythm != "uneven":
            at_least(f"batching.share_of_bound.{where}", rates["adaptive"] / bound(clients, think), 0.95)
        best = max(rates["greedy"], rates["all"])
        at_least(f"batching.over_better_of_greedy_and_all.{where}", rates["adaptive"] / best, 0.97)
    single = Batcher(MAX_BATCH, FakeClock())
    waits = []
    for _ in range(100):
        single.arrived("only")
        waits.append(single.wait_until(1) is not None)
        single.ran(1, seconds_of(1))
        single.answered("only")
    at_least("batching.single_client_never_waits", float(not any(waits)), 1.0)


class Sleeper(PredictModelServer):
    """Sleeps as long as the fake model computes, and notes how much longer the system lets it sleep.

    Attributes:
        late: Seconds that each sleep took too long.
    """

    spec = PolicySpec(PolicyIdentity("sleeper", revision="1"), cameras=())
    max_batch_size = MAX_BATCH

    def __init__(self) -> None:
        self.late: list[float] = []

    def predict_batch(self, obs: list[Any], ctx: list[Any]) -> list[Any]:
        """Sleep, and answer zeros."""
        begin = time.perf_counter()
        time.sleep(seconds_of(len(obs)))
        self.late.append(time.perf_counter() - begin - seconds_of(len(obs)))
        return [np.zeros(1) for _ in obs]


class RealRate(NamedTuple):
    """What threads in real time get.

    Attributes:
        rate: Requests a second.
        share: Of the bound, for a model that sleeps as long as this one did.
    """

    rate: float
    share: float


def real_rate(clients: int, think: float, seconds: float = 3.0) -> RealRate:
    """Send requests through a `ModelHost`, clients being threads of this process.

    Each client's rate counts from its first answer after a second of warm-up to its last, so that it does not matter
    how many batches the time holds.
    """
    host, model = ModelHost(), Sleeper()
    host.load(model)
    host.loaded.result()
    begin = time.monotonic() + 1.0
    answers: list[list[float]] = [[] for _ in range(clients)]

    def play(own: list[float], number: int) -> None:
        session = ModelSession(host.model, str(number))
        while (now := time.monotonic()) < begin + seconds:
            if now > begin:
                own.append(now)
            host.predict(session, Observation({}, "go"))
            if think:
                time.sleep(think)

    threads = [threading.Thread(target=play, args=(own, number)) for number, own in enumerate(answers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    host.close(1.0)
    rate = sum((len(own) - 1) / (own[-1] - own[0]) for own in answers if len(own) > 1)
    late = statistics.median(model.late)
    return RealRate(rate, rate / bound(clients, think, lambda size: seconds_of(size) + late))


PEER = r"""
import asyncio, json, sys, time
import anyio
import numpy as np
from vla_eval.model_servers.predict import PredictModelServer
from importlib.metadata import version
latencies, cases, seconds = json.loads(sys.argv[1])
sizes, values = [int(k) for k in latencies], list(latencies.values())
class Sleeper(PredictModelServer):
    def predict_batch(self, obs, ctx):
        time.sleep(float(np.interp(len(obs), sizes, values)))
        return [{"actions": np.zeros(1)} for _ in obs]
class Context:
    def __init__(self, number):
        self.session_id, self.step = str(number), 0
    async def send_action(self, action):
        pass
async def rate(clients, think):
    server = Sleeper(max_batch_size=16)
    counts = [0] * clients
    async with anyio.create_task_group() as group:
        await server.on_serve_start(group)
        until = time.monotonic() + 1.0 + seconds
        async def play(number):
            context = Context(number)
            while (now := time.monotonic()) < until:
                await server.on_observation({}, context)
                counts[number] += now > until - seconds
                if think:
                    await anyio.sleep(think)
        async with anyio.create_task_group() as players:
            for number in range(clients):
                players.start_soon(play, number)
        group.cancel_scope.cancel()
    return sum(counts) / seconds
found = [[clients, think, anyio.run(rate, clients, think)] for clients, think in cases]
print(json.dumps({"version": version("vla-eval"), "rates": found}))
"""


def peer_rates(cases: list[tuple[int, float]], seconds: float = 3.0) -> tuple[str, dict[tuple[int, float], float]]:
    """Return vla-eval's version and its requests a second for each case; an empty version where it is not installed."""
    if not VLA_EVAL.is_file():
        return "", {}
    given = json.dumps([LATENCIES, cases, seconds])
    done = subprocess.run([str(VLA_EVAL), "-c", PEER, given], capture_output=True, text=True, timeout=600, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["version"], {(clients, think): rate for clients, think, rate in answer["rates"]}


def measure_real() -> None:
    """Print what threads in real time get, beside vla-eval's batching on the same fake model."""
    cases = [(clients, think) for think in THINK for clients in CLIENTS]
    version, peers = peer_rates(cases)
    if not version:
        print(f"skipped: vla-eval's batching, which is not installed in {VLA_EVAL.parent.parent}")
    for clients, think in cases:
        found = [real_rate(clients, think) for _ in range(5 if think == 0 else 1)]
        where = f"think_{think * 1000:g}ms.clients_{clients}"
        bench(f"batching.real_time_share_of_bound.{where}", statistics.median(one.share for one in found))
        if version:
            rate = statistics.median(one.rate for one in found)
            bench(f"batching.real_time_over_vla_eval_{version}.{where}", rate / peers[clients, think])


def measure_batching(real_time: bool = True) -> None:
    """Measure and print everything about batching."""
    measure_simulated()
    if real_time:
        measure_real()


if __name__ == "__main__":
    measure_batching(real_time="--simulated" not in sys.argv)
