"""Measures what modelled real time costs: wall time of 50 episodes against 50 synchronous ones of the same plan.

Prints figures of each policy: the ratio of whole episodes, that of one control step, and that of the numbers of
control steps. The baseline, measured in the same run and by turns, is the synchronous loop.

What is to be shown is that a modelled latency costs no wall time, so whole episodes have a target where latency does
not make them longer by itself: random actions, and the expert on a benchmark that never ends early, take every step
of every limit; the expert that is asked again beside its own motion needs no wait. A policy that is waited for with
the arm standing still takes more control steps, on any clock and on the robot too, so only its steps have a target.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

from reporting import at_most, bench

from vlassess_link import Benchmark, Policy, PredictModelServer
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.pacing import Latency, RealTime
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.loading import load_target
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.specs import Termination
from vlassess_link.testing.courses import episode_for

SOURCE = Path(__file__).resolve().parent.parent / "src" / "vlassess"
TABLETOP = SOURCE / "benchmarks" / "tabletop"
EPISODES = 50
LATENCY = Latency(seconds=0.2)
WAITS = RealTime("modelled", LATENCY)
REPLANS = RealTime("modelled", LATENCY, skip_past=True, asynchronous=True)
TIMES = 5
LIMIT = 1.1


class Took(NamedTuple):
    """What some episodes took."""

    seconds: float
    steps: int
    successes: int


class Ratios(NamedTuple):
    """Modelled to synchronous: medians of seconds of whole episodes and of a control step; control steps; successes."""

    whole: float
    step: float
    steps: float
    successes: tuple[int, int]


def take(benchmark: Any, policy: Any, rules: RealTime | None) -> Took:
    """Run the episodes."""
    steps = successes = 0
    tasks = benchmark.spec.tasks
    begun = time.perf_counter()
    for number in range(EPISODES):
        episode = episode_for(benchmark.spec, tasks[number % len(tasks)], number // len(tasks))
        record = Attempt(Job("item", 1, "policy", episode, None, None, rules), benchmark, policy, Monitor()).run()
        if record.error is not None:
            raise RuntimeError(record.error.message)
        steps += record.steps
        successes += record.counts_as == "success"
    return Took(time.perf_counter() - begun, steps, successes)


def compare(benchmark: Any, policy: Any, rules: RealTime) -> Ratios:
    """Run both by turns, so that what else the machine does meets both."""
    pairs = [(take(benchmark, policy, None), take(benchmark, policy, rules)) for _ in range(TIMES)]
    whole = statistics.median(real.seconds / sync.seconds for sync, real in pairs)
    sync, real = pairs[0]
    steps = real.steps / sync.steps
    return Ratios(whole, whole / steps, steps, (sync.successes, real.successes))


def tell(name: str, found: Ratios, whole_has_target: bool) -> None:
    """Print a policy's figures."""
    name = f"realtime_modelled_200ms_{name}"
    at_most(name, found.whole, LIMIT) if whole_has_target else bench(name, found.whole)
    at_most(f"{name}_per_step", found.step, LIMIT)
    bench(f"{name}_control_steps", found.steps)
    for mode, successes in zip(("sync", "realtime"), found.successes, strict=True):
        bench(f"{name}_success_{mode}", successes / EPISODES)


def main() -> None:
    """Print the figures."""
    benchmark: Any = load_target(f"{TABLETOP / 'adapter.py'}:Tabletop", Benchmark, {})
    model: Any = load_target(f"{SOURCE / 'policies' / 'random_.py'}:Random", PredictModelServer, {"chunk": 1})

    def expert(chunk: int, horizon: int | None = None) -> Any:
        params = {"chunk": chunk, "horizon": horizon}
        made: Any = load_target(f"{TABLETOP / 'expert.py'}:ScriptedExpert", Policy, params)
        made.bind(benchmark)
        return made

    ends_early = benchmark.spec
    tell("random", compare(benchmark, InProcessPolicy(model), WAITS), True)
    benchmark.spec = dataclasses.replace(ends_early, termination=Termination("at_limit"), success="at_end")
    tell("fixed_length", compare(benchmark, expert(1), WAITS), True)
    benchmark.spec = ends_early
    tell("replanning", compare(benchmark, expert(10, 5), REPLANS), True)
    for chunk in (1, 20):
        tell(f"waiting{chunk}", compare(benchmark, expert(chunk), WAITS), False)
    benchmark.close()


if __name__ == "__main__":
    main()
