"""How many episodes of the answer suites the oracle does in a second: the whole harness, two workers, no images.

Usage: ``python benchmarks_perf/grounding.py``. Seconds are from the first episode's start to the last one's end, the
median of several runs; other work on the machine makes them longer. A line beside each suite is the CPU time of one
episode, measured in this process, which other work hardly moves.
"""

from __future__ import annotations

import os
import re
import statistics
import time
from pathlib import Path

from reporting import at_least, bench

from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.pipeline import hold, planned, summary_of
from vlassess.schema.events import SilentListener
from vlassess_link import Benchmark, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.loading import load_target

FOLDER = Path(__file__).resolve().parent.parent / "src" / "vlassess" / "benchmarks" / "tabletop"
SUITES = ("rsb-math-4", "rsb-math-10", "beyond-math-10")
LEAST = 1.5
"""Episodes per second on two cores."""
RUNS, EPISODES, ALONE = 5, 40, 20


def rate(suite: str, seed: int) -> float:
    """Return episodes per second of one run."""
    overrides = [f"suites=[{suite}]", f"episodes={EPISODES}", f"seed={seed}", "execution.workers=2"]
    held = hold(load_config("rsb", [*overrides, "policies={oracle: oracle}"]), Catalog.discover(), SilentListener())
    summary = summary_of(held.items, held.records, held.manifest)
    seconds = summary.throughput.running_seconds
    if seconds is None or not summary.counts.complete:
        raise SystemExit(f"{suite}: {summary.counts}")
    return EPISODES / seconds


def cpu_seconds(suite: str) -> float:
    """Return the CPU seconds of one episode, scenes compiled before."""
    benchmark = load_target(f"{FOLDER / 'answers.py'}:Answers", Benchmark, {})
    policy = load_target(f"{FOLDER / 'calibration.py'}:Oracle", Policy, {})
    benchmark.view = View({})
    policy.bind(benchmark)
    config = load_config("rsb", [f"suites=[{suite}]", f"episodes={ALONE}"])
    spent = []
    for item in planned(config, benchmark.spec):
        before = time.process_time()
        run_episode(item.episode, benchmark, policy, 1)
        spent.append(time.process_time() - before)
    benchmark.close()
    return statistics.median(spent)


def main() -> None:
    """Print the rate and the cost of each suite."""
    text = (FOLDER / "benchmark.toml").read_text(encoding="utf-8")
    os.environ.update(re.findall(r'^([A-Z_]+) = "(.*)"$', text, re.M))
    for suite in SUITES:
        at_least(f"grounding_{suite}_per_s", statistics.median(rate(suite, seed) for seed in range(RUNS)), LEAST)
        bench(f"grounding_{suite}_cpu_s", cpu_seconds(suite))


if __name__ == "__main__":
    main()
