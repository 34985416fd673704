"""What demonstrations cost: episodes a second of ``vlassess collect``, and of writing and reading a data set.

Usage: ``python benchmarks_perf/collecting.py [EPISODES]``; also called by ``tabletop.py``. The command is measured
from the outside with two workers. Baseline of the command: the same episodes in one process, run by the bare loop with
nothing recorded. What the start of the command takes, with one episode, is told apart.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reporting import at_least, at_most, bench, median_of

from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.datasets.lerobot import Images, LeRobotReader
from vlassess.pipeline.collecting import collect_config
from vlassess.pipeline.demonstrating import Choice
from vlassess.pipeline.exporting import export_lerobot
from vlassess.plan import make_plan
from vlassess.records import RunDirectory
from vlassess_link import Benchmark, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.loading import load_target

EPISODES = 240
FILMED = 24
WORKERS = 2
TARGET = 6.0
"""Episodes a second without pictures, on two cores."""


class Collected(NamedTuple):
    """What one command took: wall and processor seconds, all its processes together; and the run's folder."""

    seconds: float
    cpu: float
    run: Path


def collect(folder: Path, episodes: int, *options: str) -> Collected:
    """Collect demonstrations by the command, as people do."""
    command = [sys.executable, "-m", "vlassess", "collect", "tabletop", "--episodes", str(episodes), "--json"]
    command += ["--workers", str(WORKERS), "--set", f"output={folder / 'runs'}", *options]
    begin, before = time.perf_counter(), cpu_of_children()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, cpu = time.perf_counter() - begin, cpu_of_children() - before
    told = json.loads(done.stdout)
    kept = told["dataset"]["episodes"] + sum(told["dataset"]["left_out"].values())
    assert kept == episodes, done.stderr
    return Collected(seconds, cpu, Path(told["run_dir"]))


def cpu_of_children() -> float:
    """Return processor seconds of every process that has ended since this one began."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bare(run: Path) -> float:
    """Return the CPU seconds that the run's own episodes take in one process, with nothing around the loop."""
    entry = Catalog.discover().benchmarks["tabletop-v1"]
    benchmark: Benchmark = load_target(entry.target, Benchmark, dict(entry.params))
    expert: Policy = load_target(entry.policies["expert"], Policy, {})
    expert.bind(benchmark)
    benchmark.view = View({})
    items = RunDirectory.open(run).items()
    run_episode(items[0].episode, benchmark, expert, expert.spec.horizon)
    begin = time.process_time()
    for item in items:
        run_episode(item.episode, benchmark, expert, expert.spec.horizon)
    seconds = time.process_time() - begin
    benchmark.close()
    return seconds


def without_pictures(folder: Path, episodes: int) -> None:
    """Print the speed of collecting states and actions."""
    one = collect(folder / "one", 1, "--images", "off")
    many = collect(folder / "many", episodes, "--images", "off")
    bench("collect_start_s", one.seconds)
    at_least("collect_episodes_per_s", episodes / many.seconds, TARGET)
    more = episodes - 1
    at_least("collect_episodes_per_s_once_started", more / max(many.seconds - one.seconds, 1e-3), TARGET)
    # Other work on the machine takes wall time away, and hardly moves this.
    cpu = (many.cpu - one.cpu) / more
    at_most("collect_cpu_ms_per_episode", 1000 * cpu, 1000 * WORKERS / TARGET)
    alone = bare(many.run) / episodes
    print(f"baseline: the bare loop in one process takes {1000 * alone:.0f} CPU-ms for one of these episodes")
    bench("collect_cpu_vs_bare_loop", cpu / alone)


def with_pictures(folder: Path, episodes: int) -> None:
    """Print the speed of collecting, writing and reading pictures."""
    filmed = collect(folder / "filmed", episodes)
    bench("collect_with_two_cameras_episodes_per_s", episodes / filmed.seconds)
    bench("collect_with_two_cameras_cpu_ms_per_episode", 1000 * filmed.cpu / episodes)
    kinds: tuple[Images, ...] = ("video", "lossless")
    for images in kinds:
        data_set(RunDirectory.open(filmed.run), folder / images, images)


def data_set(run: RunDirectory, folder: Path, images: Images) -> None:
    """Print the speed of writing and reading a run's pictures, and their size."""
    frames = sum(record.steps for record in run.records().records)
    written = median_of(partial(timed, partial(export_lerobot, run, folder, Choice(keep="all"), images)), 3)
    bench(f"dataset_written_frames_per_s.{images}", frames / written)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    bench(f"dataset_kb_per_frame.{images}", size / 1000 / frames)
    read = median_of(partial(timed, partial(read_all, LeRobotReader(folder))), 3)
    at_least(f"dataset_read_frames_per_s.{images}", frames / read, 200)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def read_all(reader: LeRobotReader) -> None:
    """Read everything, both cameras."""
    for number in range(len(reader)):
        reader.arrays(number)
        for camera in reader.cameras:
            reader.pictures(number, camera)


def planning() -> None:
    """Print what it costs to decide what is collected."""
    catalog = Catalog.discover()
    config = collect_config(load_config("tabletop"), None, ["episodes=100"], catalog)
    spec = catalog.benchmarks["tabletop-v1"].spec
    assert spec is not None
    at_most("collect_plan_s", median_of(partial(timed, partial(make_plan, config, spec)), 3), 1.0)


def main(arguments: Sequence[str] = ()) -> None:
    """Measure and print everything."""
    episodes = int(arguments[0]) if arguments else EPISODES
    with tempfile.TemporaryDirectory() as made:
        without_pictures(Path(made), episodes)
        with_pictures(Path(made), FILMED)
    planning()


if __name__ == "__main__":
    main(sys.argv[1:])
