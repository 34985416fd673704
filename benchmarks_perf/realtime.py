"""Measures what modelled real time costs: wall time of 50 episodes against 50 synchronous ones of the same plan.

Prints one line a figure. The baseline, measured in the same run, is the synchronous loop. Random actions never
succeed, so both take every step of every limit, and the ratio is that of the loops; the expert's episodes are longer
in real time, since the arm stands still while it waits, so its ratio is given per control step too.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from reporting import at_most, bench

from vlassess_link import Benchmark, Policy, PredictModelServer
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.pacing import Latency, RealTime
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.loading import load_target
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.testing.courses import episode_for

SOURCE = Path(__file__).resolve().parent.parent / "src" / "vlassess"
TABLETOP = SOURCE / "benchmarks" / "tabletop"
EPISODES = 50
LATENCY = 0.2
TIMES = 3


def take(benchmark: Any, policy: Any, rules: RealTime | None) -> tuple[float, int]:
    """Run the episodes and return seconds and control steps."""
    steps = 0
    tasks = benchmark.spec.tasks
    begun = time.perf_counter()
    for number in range(EPISODES):
        episode = episode_for(benchmark.spec, tasks[number % len(tasks)], number // len(tasks))
        record = Attempt(Job("item", 1, "policy", episode, None, None, rules), benchmark, policy, Monitor()).run()
        if record.error is not None:
            raise RuntimeError(record.error.message)
        steps += record.steps
    return time.perf_counter() - begun, steps


def compare(benchmark: Any, policy: Any) -> tuple[float, float]:
    """Return the median ratios of modelled to synchronous: of whole episodes, and of one control step."""
    whole, step = [], []
    rules = RealTime("modelled", Latency(seconds=LATENCY))
    for _ in range(TIMES):
        (sync, sync_steps), (real, real_steps) = take(benchmark, policy, None), take(benchmark, policy, rules)
        whole.append(real / sync)
        step.append((real / real_steps) / (sync / sync_steps))
    return statistics.median(whole), statistics.median(step)


def main() -> None:
    """Print the figures."""
    benchmark: Any = load_target(f"{TABLETOP / 'adapter.py'}:Tabletop", Benchmark, {})
    model: Any = load_target(f"{SOURCE / 'policies' / 'random_.py'}:Random", PredictModelServer, {"chunk": 1})
    whole, _ = compare(benchmark, InProcessPolicy(model))
    at_most("realtime_modelled_200ms_random", whole, 1.1)
    for chunk in (1, 20):
        expert: Any = load_target(f"{TABLETOP / 'expert.py'}:ScriptedExpert", Policy, {"chunk": chunk})
        expert.bind(benchmark)
        whole, step = compare(benchmark, expert)
        bench(f"realtime_modelled_200ms_expert{chunk}", whole)
        at_most(f"realtime_modelled_200ms_expert{chunk}_per_step", step, 1.1)
    benchmark.close()


if __name__ == "__main__":
    main()
