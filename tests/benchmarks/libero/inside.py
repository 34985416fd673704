"""Run in LIBERO's own environment: measures what the tests beside it assert.

Usage: ``inside.py PARAMS PART...``; prints one JSON object with a key for each part.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vlassess_link import Benchmark, Episode, EpisodeStart, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.errors import EpisodeFault
from vlassess_link.loading import load_target

FOLDER = Path(__file__).parents[3] / "src" / "vlassess" / "benchmarks" / "libero"
DATA = Path(__file__).parents[3].parent / "shared" / "data" / "libero_observation.npz"
CAMERAS = ("agentview", "robot0_eye_in_hand")
SETTLE = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]
REPLAYED = (
    ("libero_spatial", 0, 1),
    ("libero_spatial", 8, 2),
    ("libero_object", 0, 1),
    ("libero_object", 4, 0),
    ("libero_goal", 8, 0),
)
"""(suite, task, stored start)."""
BETWEEN = (31, 77)
"""Control steps whose pictures are compared beside every tenth and the last."""


def looked_at(steps: int) -> set[int]:
    return {0, *range(10, steps + 1, 10), *BETWEEN, steps}


def load(**params: Any) -> Any:
    return load_target(f"{FOLDER / 'adapter.py'}:Libero", Benchmark, params)


def episode(suite: str, task: str, state: int, limit: int = 300, **more: Any) -> Episode:
    return Episode(f"{task}-{state}", "00", "libero@1", suite, task, state, 7, 0, limit, f"{state:02d}", **more)


def looking(benchmark: Any, size: tuple[int, int] = (256, 256)) -> None:
    benchmark.view = View(dict.fromkeys(CAMERAS, size))


def name_of(benchmark: Any, suite: str, index: int) -> str:
    return [task.name for task in benchmark.spec.tasks if task.suite == suite][index]


def simulator_state(benchmark: Any) -> np.ndarray:
    return benchmark._simulator._env.get_sim_state().copy()


def expert_actions(benchmark: Any, suite: str, task: str, state: int) -> tuple[np.ndarray, list[np.ndarray], bool]:
    """Return the expert's actions, the states after each, and whether it succeeded."""
    expert = load_target(f"{FOLDER / 'experts.py'}:Expert", Policy, {})
    expert.bind(benchmark)
    benchmark.view = View({})
    raw = benchmark.reset(episode(suite, task, state))
    expert.reset(EpisodeStart("x", suite, task, raw.instruction), 0)
    actions, states = [], [simulator_state(benchmark)]
    limit = next(one.step_limit for one in benchmark.spec.tasks if (one.suite, one.name) == (suite, task))
    for _ in range(limit):
        actions.append(expert.predict(None).actions[0])
        result = benchmark.step(actions[-1])
        states.append(simulator_state(benchmark))
        if benchmark.get_step_result(result).success:
            return np.array(actions), states, True
    return np.array(actions), states, False


def plain(suite: str, index: int, state: int, actions: np.ndarray) -> dict[str, Any]:
    """Do the same with the package's own API and no line of ours: a picture of each camera at every step."""
    from libero.libero import benchmark, get_libero_path
    from libero.libero.envs import OffScreenRenderEnv

    tasks = benchmark.get_benchmark_dict()[suite]()
    task = tasks.get_task(index)
    file = os.path.join(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file)
    env = OffScreenRenderEnv(bddl_file_name=file, camera_heights=256, camera_widths=256)
    env.seed(0)
    env.reset()
    seen = env.set_init_state(tasks.get_task_init_states(index)[state])
    for _ in range(10):
        seen, _, _, _ = env.step(SETTLE)
    states, observed, done = [env.get_sim_state().copy()], {0: seen}, False
    for number, action in enumerate(actions, 1):
        seen, _, done, _ = env.step(action)
        states.append(env.get_sim_state().copy())
        if number in looked_at(len(actions)):
            observed[number] = seen
    env.close()
    return {"states": states, "observed": observed, "done": bool(done), "language": task.language}


def replayed(benchmark: Any, suite: str, task: str, state: int, actions: np.ndarray) -> dict[str, Any]:
    looking(benchmark)
    raw = benchmark.reset(episode(suite, task, state))
    seen, states, result = {0: benchmark.make_obs(raw)}, [simulator_state(benchmark)], None
    for number, action in enumerate(actions, 1):
        result = benchmark.step(action)
        states.append(simulator_state(benchmark))
        if number in looked_at(len(actions)):
            seen[number] = benchmark.make_obs(result.raw)
    return {"states": states, "seen": seen, "success": bool(benchmark.get_step_result(result).success)}


def fidelity(cases: tuple[tuple[str, int, int], ...] = REPLAYED, longest: int | None = None) -> list[dict[str, Any]]:
    """Replay the expert's actions through ours, looked at and not, and through upstream's own API."""
    found = []
    for suite, index, state in cases:
        benchmark = load()
        task = name_of(benchmark, suite, index)
        actions, unseen, success = expert_actions(benchmark, suite, task, state)
        actions = actions[:longest]
        ours = replayed(benchmark, suite, task, state, actions)
        theirs = plain(suite, index, state, actions)
        found.append(
            {
                "task": f"{suite}/{task}",
                "success": [success, ours["success"], theirs["done"]],
                "states": same(ours["states"], theirs["states"]),
                "unseen": same(unseen[: len(ours["states"])], ours["states"]),
                "pictures": [
                    bool(np.array_equal(seen.images[camera], theirs["observed"][step][f"{camera}_image"][::-1, ::-1]))
                    for step, seen in ours["seen"].items()
                    for camera in CAMERAS
                ],
                "proprioception": [
                    bool(np.array_equal(seen.state[part], theirs["observed"][step][name]))
                    for step, seen in ours["seen"].items()
                    for part, name in ((slice(0, 3), "robot0_eef_pos"), (slice(6, 8), "robot0_gripper_qpos"))
                ],
                "words": ours["seen"][0].instruction == theirs["language"],
            }
        )
        benchmark.close()
    return found


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def short_fidelity() -> list[dict[str, Any]]:
    """Replay a few steps of one episode."""
    return fidelity((REPLAYED[0],), 33)


def determinism() -> dict[str, Any]:
    """Begin one start fresh, and again after other starts and another task, whose cabinet has a drawer open."""
    found: dict[str, Any] = {}
    kept = load()
    for index in (4, 3):
        task = name_of(kept, "libero_goal", index)
        fresh = load()
        first = beginning(fresh, task, 5)
        fresh.close()
        beginning(kept, task, 6)
        beginning(kept, task, 7)
        again, other = beginning(kept, task, 5), beginning(kept, task, 6)
        found[task] = {
            "again": alike(first, again),
            "other": alike(first, other),
            "hard": kept._simulator.env.hard_reset,
        }
    kept.close()
    return found


def beginning(benchmark: Any, task: str, state: int) -> dict[str, np.ndarray]:
    looking(benchmark)
    raw = benchmark.reset(episode("libero_goal", task, state))
    start = dict(raw.state)
    for number in range(3):
        result = benchmark.step(np.array([0.5, -0.4, -0.6, 0.1, 0.2, -0.3, 1.0 if number else -1.0]))
    start["later"] = simulator_state(benchmark)
    start["picture"] = benchmark.make_obs(result.raw).images["agentview"]
    return start


def alike(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def words() -> dict[str, Any]:
    """Read each task's text from its file, for LIBERO-PRO's variants as the adapter would say it."""
    adapter = load()
    suites = importlib.import_module(f"{type(adapter).__module__.rpartition('.')[0]}.suites")
    simulator = importlib.import_module(f"{type(adapter).__module__.rpartition('.')[0]}.simulator")
    from libero.libero.envs import bddl_utils

    found: dict[str, dict[str, list[str]]] = {}
    for task in adapter.spec.tasks:
        if task.suite == "libero_90":
            continue
        for level in suites.UPSTREAM_LEVELS:
            start = suites.start_of(episode(task.suite, task.name, 0, perturbation={"pro": level}))
            file = simulator.bddl_file(start.suite, start.task)
            own = bddl_utils.get_problem_info(str(file))["language_instruction"]
            assert len(simulator.initial_states(start.suite, start.task)) == len(task.initial_states)
            found.setdefault(f"{task.suite}_{level}", {})[task.name] = [start.instruction, own, task.instruction]
    return found


def instructions() -> dict[str, str]:
    """Reset one task under each perturbation; what the policy is told, and which goal holds."""
    benchmark, found = load(), {}
    benchmark.view = View({})
    task = name_of(benchmark, "libero_goal", 8)
    for axis, level in (("", ""), ("wording", "lan"), ("pro", "lan"), ("pro", "task"), ("pro", "swap")):
        raw = benchmark.reset(episode("libero_goal", task, 0, perturbation={axis: level} if axis else {}))
        found[f"{axis}={level}"] = [raw.instruction, json.dumps(benchmark._simulator.env.parsed_problem["goal_state"])]
        found[f"{axis}={level}"].append([float(np.round(value, 9).sum()) for value in raw.state.values()])
    benchmark.close()
    return found


def traps() -> dict[str, Any]:
    """An exception inside upstream's reset, placement that never fits, and a state that is not looked at."""
    from robosuite.utils.errors import RandomizationError

    benchmark, found = load(), {}
    benchmark.view = View({})
    task = name_of(benchmark, "libero_spatial", 0)
    start = episode("libero_spatial", task, 0)
    raw = benchmark.reset(start)
    inner = benchmark._simulator.env
    for name, error in (("broken", OSError("no such mesh")), ("crowded", RandomizationError("no place"))):
        calls = []

        def failing(error: Exception = error, calls: list[int] = calls) -> None:
            calls.append(1)
            raise error

        inner.reset = failing
        try:
            benchmark.reset(start)
        except (OSError, EpisodeFault) as raised:
            found[name] = [type(raised).__name__, str(raised), len(calls)]
        del inner.reset
    generator = np.random.get_state()[1].tolist()
    raw = benchmark.reset(start)
    found["generator"] = np.random.get_state()[1].tolist() == generator
    looking(benchmark)
    try:
        benchmark.make_obs(raw)
    except ValueError as error:
        found["unseen"] = str(error)
    benchmark.close()
    return found


def observation() -> dict[str, Any]:
    """Compare with a real observation that a published model was tested with."""
    if not DATA.is_file():
        return {}
    with np.load(DATA) as stored:
        theirs = {name: stored[name] for name in stored}
    benchmark = load()
    looking(benchmark)
    task = name_of(benchmark, "libero_spatial", 0)
    ours = benchmark.make_obs(benchmark.reset(episode("libero_spatial", task, 0)))
    benchmark.close()
    images = importlib.import_module("vlassess_link.conventions.images")
    found = {"words": [str(theirs["task_description"]), ours.instruction]}
    found["state"] = float(np.abs(ours.state - theirs["state"]).max())
    for camera, name in zip(CAMERAS, ("full_image", "wrist_image"), strict=True):
        there = theirs[name].astype(np.float64)
        views = {
            turn: images.resized(images.oriented(ours.images[camera], "upright", turn), there.shape[:2], "lanczos")
            for turn in ("upright", "rotated_180", "flipped_rows")
        }
        found[camera] = {turn: float(np.corrcoef(view.ravel(), there.ravel())[0, 1]) for turn, view in views.items()}
    return found


def pictures() -> dict[str, Any]:
    """Take the same picture as upstream has it, fast, and unturned."""
    taken: dict[str, Any] = {}
    for name, params in (("default", {}), ("fast", {"render": "fast"}), ("raw", {"orientation": "rotated_180"})):
        benchmark = load(**params)
        looking(benchmark, (128, 128))
        task = name_of(benchmark, "libero_spatial", 0)
        raw = benchmark.reset(episode("libero_spatial", task, 0))
        taken[name] = benchmark.make_obs(raw).images["agentview"].astype(int)
        taken[f"{name}-version"] = benchmark.spec.version
        benchmark.close()
    return {
        "versions": [taken[f"{name}-version"] for name in ("default", "fast", "raw")],
        "difference": float(np.abs(taken["default"] - taken["fast"]).mean()),
        "turned": bool(np.array_equal(taken["default"], taken["raw"][::-1, ::-1])),
    }


PARTS: dict[str, Callable[[], Any]] = {
    part.__name__: part
    for part in (fidelity, short_fidelity, determinism, words, instructions, traps, observation, pictures)
}


def main() -> None:
    print(json.dumps({name: PARTS[name]() for name in sys.argv[2:]}))


if __name__ == "__main__":
    main()
