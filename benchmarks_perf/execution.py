"""Measures the episode loop, the workers and the hand-out against what they are made of.

Prints one line a figure. Baselines, each measured in the same run: the simulator's own step and render; one
worker; the lower bound max(sum / workers, longest) of any schedule.
"""

from __future__ import annotations

import argparse
import queue
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reporting import at_least, at_most, bench, median_of

from vlassess.catalog import Catalog
from vlassess.execution import (
    Coordinator,
    Fleet,
    FleetSettings,
    PolicyServers,
    PolicySide,
    StopSwitch,
    Work,
    WorkerLaunch,
    group_of,
    worker_launch,
)
from vlassess.plan import make_plan
from vlassess.schema.config import BenchmarkSource, PolicySource, RunConfig
from vlassess.schema.events import SilentListener
from vlassess.schema.items import WorkItem, episode_item
from vlassess_link import Benchmark, Episode, EpisodeRecord, RawObservation
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.base import View
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import COMPARED
from vlassess_link.digest import content_id
from vlassess_link.loading import load_target
from vlassess_link.policies.model import InProcessPolicy

HERE = Path(__file__).resolve().parent
STAND_INS = HERE / "stand_ins.py"
CHUNK = 10
STEPS = 200


class MemorySink:
    """Keeps records in memory and notes when the last one came."""

    def __init__(self) -> None:
        self.records: list[EpisodeRecord] = []
        self.last = 0.0

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        """Keep them."""
        self.records.extend(records)
        self.last = time.perf_counter()


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("loop", "workers", "handout"), help="measure one part")
    only = parser.parse_args().only
    parts: dict[str, Callable[[], None]] = {
        "loop": measure_loop,
        "workers": measure_workers,
        "handout": measure_handout,
    }
    for name, part in parts.items():
        if only in (None, name):
            part()


def tabletop() -> tuple[Benchmark, WorkerLaunch, tuple[WorkItem, ...]]:
    """Return the tabletop benchmark in this process, its workers' launch, and 40 episodes of 200 steps."""
    config = RunConfig(
        benchmark=BenchmarkSource(name="tabletop-v1"),
        suites=("pick",),
        episodes=40,
        step_limit=STEPS,
        policies={"open": PolicySource(local=f"{STAND_INS}:OpenLoop")},
    )
    entry = Catalog.discover().resolve_benchmark(config.benchmark)
    assert entry.spec is not None
    benchmark: Any = load_target(entry.target, (Benchmark,), {})
    items = make_plan(config, entry.spec)[:40]
    return benchmark, worker_launch(entry.target, {}, entry.env), items


def measure_loop() -> None:
    """Observe on demand: renders per step, equal trajectories, CPU per step against its parts."""
    benchmark, _, items = tabletop()
    episode = items[0].episode
    each_step, on_demand = (run_once(benchmark, episode, horizon) for horizon in (1, CHUNK))
    at_most("renders_per_step_chunk_10", on_demand.observations / on_demand.steps, 1 / CHUNK)
    hidden = ("inputs_digest", "observations", "horizon", "identity")
    differing = [
        name for name in COMPARED if name not in hidden and getattr(each_step, name) != getattr(on_demand, name)
    ]
    at_most("fields_that_differ_from_observing_each_step", len(differing), 0)
    parts = median_of(lambda: parts_cpu(benchmark, episode), 7)
    whole = median_of(lambda: loop_cpu(benchmark, episode), 7)
    bench("parts_cpu_ms_per_step", parts * 1e3)
    bench("loop_cpu_ms_per_step", whole * 1e3)
    at_most("loop_over_parts_cpu", whole / parts, 1.15)


def run_once(benchmark: Benchmark, episode: Episode, horizon: int) -> EpisodeRecord:
    """Run one episode with the waving policy."""
    policy: Any = load_target(f"{STAND_INS}:OpenLoop", (object,), {"horizon": horizon})
    return Attempt(Job("item", 1, "open", episode), benchmark, InProcessPolicy(policy), Monitor()).run()


def loop_cpu(benchmark: Benchmark, episode: Episode) -> float:
    """Return CPU seconds per step of the loop, everything included but the reset."""
    policy: Any = load_target(f"{STAND_INS}:OpenLoop", (object,), {})
    attempt = Attempt(Job("item", 1, "open", episode), benchmark, InProcessPolicy(policy), Monitor())
    begin = time.process_time()
    record = attempt.run()
    total = time.process_time() - begin
    begin = time.process_time()
    benchmark.reset(episode)
    return (total - (time.process_time() - begin)) / record.steps


def parts_cpu(benchmark: Benchmark, episode: Episode) -> float:
    """Return CPU seconds of one step plus a tenth of one observation, measured apart along the same trajectory."""
    benchmark.view = View({camera.name: (128, 128) for camera in benchmark.spec.cameras})
    raw = benchmark.reset(episode)
    actions = 0.4 * np.sin(np.arange(STEPS)[:, None] / 8 + 2 * np.pi * np.arange(7) / 7)
    step = render = 0.0
    for number, action in enumerate(actions):
        if number % CHUNK == 0:
            render += cpu_of(benchmark.make_obs, raw)
        begin = time.process_time()
        result = benchmark.step(action)
        benchmark.get_step_result(result)
        step += time.process_time() - begin
        raw = result.raw
    return (step + render) / STEPS


def cpu_of(function: Callable[[RawObservation], object], raw: RawObservation) -> float:
    """Return the CPU seconds of one call, all threads."""
    begin = time.process_time()
    function(raw)
    return time.process_time() - begin


def measure_workers() -> None:
    """Two workers against one, policy in the worker, both cameras rendered."""
    _, launch, items = tabletop()
    source = {"open": {"local": f"{STAND_INS}:OpenLoop", "params": {}}}
    rates: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(5):
        for workers, found in rates.items():
            found.append(len(items) / makespan(launch, items, source, workers))
    bench("episodes_per_second_1_worker", float(np.median(rates[1])))
    bench("episodes_per_second_2_workers", float(np.median(rates[2])))
    at_least("two_workers_over_one", float(np.median(np.divide(rates[2], rates[1]))), 1.8)


def measure_handout() -> None:
    """2,000 sleeping episodes of long-tailed length on 50 workers."""
    rng = np.random.default_rng(7)
    lengths = rng.lognormal(0.0, 1.0, 2000)
    lengths *= 0.6 / lengths.mean()
    guessed = lengths * rng.lognormal(0.0, 0.5, lengths.size)
    bound = max(lengths.sum() / 50, lengths.max())
    launch = worker_launch(f"{STAND_INS}:Sleeping", {}, {})
    source = {"still": {"local": f"{STAND_INS}:Still", "params": {}}}
    bench("handout_lower_bound_seconds", bound)
    named = [sleeping_item(f"{number}", seconds) for number, seconds in enumerate(lengths)]
    expected = {group_of("still", "sleep", str(number)): float(guess) for number, guess in enumerate(guessed)}
    at_most("handout_over_bound", makespan(launch, named, source, 50, expected) / bound, 1.03)
    alike = [sleeping_item("any", seconds, number) for number, seconds in enumerate(lengths)]
    bench("handout_over_bound_lengths_unknown", makespan(launch, alike, source, 50) / bound)
    static = max(lengths[worker::50].sum() for worker in range(50))
    bench("static_index_mod_n_over_bound_without_overhead", static / bound)


def sleeping_item(task: str, seconds: float, index: int = 0) -> WorkItem:
    """Return one episode that sleeps."""
    name = content_id([task, seconds, index])
    scene = {"seconds": float(seconds)}
    return episode_item("still", Episode(name, name, "sleeping@1", "sleep", task, index, 0, 0, 1, scene=scene))


def makespan(
    launch: WorkerLaunch,
    items: Sequence[WorkItem],
    sources: Mapping[str, Mapping[str, Any]],
    workers: int,
    expected: Mapping[tuple[str, str, str], float] | None = None,
) -> float:
    """Return the seconds from the first hand-out, all workers loaded and warm, to the last record."""
    settings = FleetSettings(workers, deadlines={"reset": 600, "step": 600, "load": 600})
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(launch, settings, Path(folder))
        fleet.grow_to(workers)
        await_loaded(fleet, workers)
        side = PolicySide(sources, {}, PolicyServers({}, Path(folder), 60.0))
        sink = MemorySink()
        begin = time.perf_counter()
        Coordinator(
            Work(items, settings, expected_steps=expected or {}), fleet, side, sink, SilentListener(), StopSwitch()
        ).run()
        assert len(sink.records) == len(items)
        assert not any(record.error for record in sink.records)
        return sink.last - begin


def await_loaded(fleet: Fleet, workers: int) -> None:
    """Wait until every worker has loaded its benchmark; what they said stays in the queue."""
    said = []
    while sum(getattr(event, "message", {}).get("type") == "load" for event in said) < workers:
        try:
            said.append(fleet.events.get(timeout=600))
        except queue.Empty:
            raise SystemExit("the workers did not load") from None
    for event in said:
        fleet.events.put(event)


if __name__ == "__main__":
    main()
