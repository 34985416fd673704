"""Draws ``docs/img/latency.svg``: success against latency on tabletop-v1, in modelled real time.

Usage: ``MUJOCO_GL=egl python tools/plot_latency.py [--episodes 45] [--output FILE]``. The policy is the scripted
expert's delayed twin: what it says of one moment takes effect later. Latencies are constant, so the picture is the
same on every machine whose simulator is.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from vlassess.stats import clopper_pearson
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.benchmarks.pacing import Latency, RealTime
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.loading import load_target
from vlassess_link.policies.base import Policy
from vlassess_link.testing.courses import episode_for

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "vlassess" / "benchmarks" / "tabletop"
LATENCIES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "vlassess", "font.size": 10}


class Way(NamedTuple):
    """How one curve's episodes run: actions in a chunk, after how many it is asked again, and whether beside them."""

    name: str
    chunk: int
    horizon: int
    asynchronous: bool = False


WAYS = (
    Way("chunk 1, held still meanwhile", 1, 1),
    Way("chunk 5, held still meanwhile", 5, 5),
    Way("chunk 20, held still meanwhile", 20, 20),
    Way("chunk 10, asked again after 5, late actions skipped", 10, 5, True),
)


def measure(way: Way, episodes: int) -> list[int]:
    """Return the successes of as many episodes at each latency; the tasks take turns."""
    benchmark: Any = load_target(f"{FOLDER / 'adapter.py'}:Tabletop", Benchmark, {})
    params = {"chunk": way.chunk, "horizon": way.horizon}
    expert: Any = load_target(f"{FOLDER / 'expert.py'}:ScriptedExpert", Policy, params)
    expert.bind(benchmark)
    found = []
    for seconds in LATENCIES:
        rules = RealTime(
            "modelled", Latency(seconds=seconds), skip_past=way.asynchronous, asynchronous=way.asynchronous
        )
        successes = 0
        for number in range(episodes):
            task = benchmark.spec.tasks[number % len(benchmark.spec.tasks)]
            episode = episode_for(benchmark.spec, task, number // len(benchmark.spec.tasks))
            record = Attempt(Job("item", 1, "expert", episode, None, None, rules), benchmark, expert, Monitor()).run()
            if record.error is not None:
                raise RuntimeError(record.error.message)
            successes += record.counts_as == "success"
        found.append(successes)
    benchmark.close()
    return found


def draw(found: dict[str, list[int]], episodes: int, path: Path) -> None:
    """Write the picture."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        axes = figure.add_subplot()
        for name, successes in found.items():
            bounds = [clopper_pearson(count, episodes) for count in successes]
            (line,) = axes.plot(LATENCIES, [100 * count / episodes for count in successes], marker="o", label=name)
            low = [100 * bound.low for bound in bounds if bound is not None]
            high = [100 * bound.high for bound in bounds if bound is not None]
            axes.fill_between(LATENCIES, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        axes.set(
            xlabel="latency, s (control step: 0.05 s)", ylabel=f"success, % of {episodes} episodes", ylim=(-2, 102)
        )
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
        figure.savefig(path, format="svg", metadata={"Date": None})


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=45, help="episodes at each point")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "img" / "latency.svg")
    options = parser.parse_args()
    found = {}
    for way in WAYS:
        found[way.name] = measure(way, options.episodes)
        print(way.name, found[way.name], flush=True)
    draw(found, options.episodes, options.output)
    print(options.output)


if __name__ == "__main__":
    main()
