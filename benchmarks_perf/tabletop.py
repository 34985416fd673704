"""What the tabletop costs and how often its expert succeeds, with one arm and with two, measured here and now.

Usage: ``python benchmarks_perf/tabletop.py``. The full scene is that of two arms with eight distractors, in ever new
scenes; it may cost twice what the plain one may. CPU milliseconds are of the whole process, all threads, so
other work on the machine hardly moves them; each is the median of several blocks. Two baselines run beside:
MuJoCo's own ``Renderer`` with default quality on the same scene, and compiling the model with a new renderer
for every episode.
"""

from __future__ import annotations

import importlib
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import collecting
import mini_vla_cost
import numpy as np

from vlassess_link import Benchmark, Episode, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.loading import load_target

FOLDER = Path(__file__).resolve().parent.parent / "src" / "vlassess" / "benchmarks" / "tabletop"
BLOCKS = 7
EPISODES_PER_SUITE = 210
SIZE = 128
CROWD = {"distractors": "8"}


class Setting(NamedTuple):
    """What is measured: a benchmark and the cell that its episodes are of, named for the lines."""

    name: str
    benchmark: Benchmark
    perturbation: dict[str, str]
    budget: float


def declare_environment() -> None:
    """Set what ``benchmark.toml`` declares, before MuJoCo is loaded: the part that a worker's parent plays."""
    text = (FOLDER / "benchmark.toml").read_text(encoding="utf-8")
    os.environ.update(re.findall(r'^([A-Z_]+) = "(.*)"$', text, re.M))


def episodes(benchmark: Benchmark, suite: str, perturbation: dict[str, str] | None = None) -> Iterator[Episode]:
    """Yield the suite's episodes, its tasks in turn."""
    tasks = [task for task in benchmark.spec.tasks if task.suite == suite]
    for number in range(EPISODES_PER_SUITE):
        task = tasks[number % len(tasks)]
        yield Episode(
            episode_id=f"{suite}{number}",
            pair_key="00",
            benchmark=benchmark.spec.ref,
            suite=suite,
            task=task.name,
            index=number,
            seed=1_000_000 + number,
            policy_seed=number,
            step_limit=task.step_limit,
            perturbation=perturbation or {},
        )


def cpu_ms(action: Callable[[], object], times: int) -> float:
    """Return the median over blocks of the CPU milliseconds that one call takes."""
    blocks = []
    for _ in range(BLOCKS):
        before = time.process_time()
        for _ in range(times):
            action()
        blocks.append(1000 * (time.process_time() - before) / times)
    return statistics.median(blocks)


def report(name: str, value: float, unit: str, target: tuple[str, float]) -> None:
    """Print one line; the target is a bound from above ("<=") or below (">=")."""
    sign, bound = target
    ok = value <= bound if sign == "<=" else value >= bound
    print(f"BENCH name={name} value={value:.4g}{unit} target={sign}{bound:g}{unit} ok={'yes' if ok else 'no'}")


def measure_reset(setting: Setting) -> float:
    """Return CPU milliseconds of one reset, over ever new layouts."""
    benchmark = setting.benchmark
    benchmark.view = View({})
    upcoming = iter(list(episodes(benchmark, "place", setting.perturbation)) * 2)
    return cpu_ms(lambda: benchmark.reset(next(upcoming)), times=40)


def measure_step(setting: Setting) -> float:
    """Return CPU milliseconds of one control step with its scoring, under random actions."""
    benchmark = setting.benchmark
    benchmark.view = View({})
    benchmark.reset(next(episodes(benchmark, "place", setting.perturbation)))
    actions = np.random.default_rng(0).uniform(-1, 1, (2000, benchmark.spec.action.size))
    upcoming = iter(actions)
    return cpu_ms(lambda: benchmark.get_step_result(benchmark.step(next(upcoming))), times=200)


def measure_render(setting: Setting, camera: str) -> float:
    """Return CPU milliseconds of one picture of one camera."""
    benchmark = setting.benchmark
    benchmark.view = View({camera: (SIZE, SIZE)})
    raw = benchmark.reset(next(episodes(benchmark, "place", setting.perturbation)))
    benchmark.make_obs(raw)
    return cpu_ms(lambda: benchmark.make_obs(raw), times=60)


def measure_costs(setting: Setting) -> tuple[float, float]:
    """Report an embodiment's budgets; return CPU milliseconds of a reset and of the agent camera's picture."""
    name, factor = setting.name, setting.budget
    reset = measure_reset(setting)
    report(f"{name}.reset_cpu", reset, "ms", ("<=", 30 * factor))
    report(f"{name}.step_cpu", measure_step(setting), "ms", ("<=", 1.5 * factor))
    renders = {camera.name: measure_render(setting, camera.name) for camera in setting.benchmark.spec.cameras}
    for camera, value in renders.items():
        report(f"{name}.render_{SIZE}_cpu.{camera}", value, "ms", ("<=", 1.5 * factor))
    return reset, renders["agent"]


def default_quality_xml() -> str:
    """Return the same scene with MuJoCo's default picture quality: shadows, four samples, its own buffer."""
    xml: str = importlib.import_module("tabletop.mjcf").scene_mjcf(importlib.import_module("tabletop.scene").SCENE)
    xml = re.sub(r"<quality[^>]*/>|<global[^>]*/>", "", xml)
    return xml.replace('castshadow="false"', 'castshadow="true"')


def measure_default_render() -> float:
    """Return CPU milliseconds of one 128x128 picture by ``mujoco.Renderer`` with its defaults."""
    mujoco: Any = importlib.import_module("mujoco")
    model = mujoco.MjModel.from_xml_string(default_quality_xml())
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, SIZE, SIZE) as renderer:

        def picture() -> None:
            renderer.update_scene(data, "agent")
            renderer.render()

        picture()
        return cpu_ms(picture, times=4)


def measure_new_world(benchmark: Benchmark) -> float:
    """Return CPU milliseconds of a fresh benchmark's first reset and first picture: model and context anew."""
    episode = next(episodes(benchmark, "place"))

    def world() -> None:
        fresh = type(benchmark)()
        fresh.view = View({"agent": (SIZE, SIZE)})
        fresh.make_obs(fresh.reset(episode))
        fresh.close()

    world()
    return cpu_ms(world, times=1)


def measure_expert(benchmark: Benchmark, expert: Policy, suite: str) -> tuple[float, float]:
    """Return (success rate, median steps of a success)."""
    benchmark.view = View({})
    found = [run_episode(episode, benchmark, expert, expert.spec.horizon) for episode in episodes(benchmark, suite)]
    steps = [outcome.success_step for outcome in found if outcome.success_step is not None]
    return sum(outcome.success for outcome in found) / len(found), statistics.median(steps)


def report_experts(name: str, benchmark: Benchmark, expert: Policy) -> None:
    """Report how often an expert succeeds, suite by suite, and how many of its episodes a core runs in a second."""
    expert.bind(benchmark)
    for suite in benchmark.spec.suites:
        before = time.process_time()
        rate, steps = measure_expert(benchmark, expert, suite)
        pace = EPISODES_PER_SUITE / (time.process_time() - before)
        print(
            f"{name} expert on {suite}: {EPISODES_PER_SUITE} episodes, median {steps:g} steps, {pace:.1f} a CPU-second"
        )
        report(f"{name}.expert_success.{suite}", rate, "", (">=", 0.95))


def main() -> None:
    """Measure and print everything."""
    declare_environment()
    # First, since this script's own folder holds a `tabletop` too: the script itself.
    sys.path.insert(0, str(FOLDER.parent))
    adapter, experts = f"{FOLDER / 'adapter.py'}:Tabletop", f"{FOLDER / 'expert.py'}"
    single: Benchmark = load_target(adapter, Benchmark, {})
    bimanual: Benchmark = load_target(adapter, Benchmark, {"embodiment": "bimanual"})

    reset, picture = measure_costs(Setting("tabletop", single, {}, 1))
    measure_costs(Setting("tabletop.full", bimanual, CROWD, 2))
    default = measure_default_render()
    print(
        f"baseline: mujoco.Renderer with default quality (two shadows, 4 samples) takes {default:.1f} CPU-ms a picture"
    )
    report("tabletop.render_gain_over_default_renderer", default / picture, "x", (">=", 10))
    world = measure_new_world(single)
    print(f"baseline: a new model and a new OpenGL context, with a first picture, take {world:.1f} CPU-ms")
    report("tabletop.reset_gain_over_new_world", world / (reset + picture), "x", (">=", 1))
    for name, benchmark, expert in (
        ("tabletop", single, "ScriptedExpert"),
        ("tabletop.bimanual", bimanual, "BimanualExpert"),
    ):
        report_experts(name, benchmark, load_target(f"{experts}:{expert}", Policy, {}))
        benchmark.close()
    mini_vla_cost.main()
    collecting.main()


if __name__ == "__main__":
    main()
