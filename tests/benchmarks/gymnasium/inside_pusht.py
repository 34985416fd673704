"""Run in PushT's own environment: measures what the tests beside it assert."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vlassess_link import Benchmark, Episode
from vlassess_link.errors import VlassessError
from vlassess_link.loading import load_target

BENCHMARKS = Path(__file__).parents[3] / "src" / "vlassess" / "benchmarks"
PENDULUM: dict[str, Any] = {
    "id": "pendulum",
    "tasks": [{"env_id": "Pendulum-v1", "instruction": "swing the pendulum up", "step_limit": 200}],
    "action": [{"name": "torque", "kind": "other", "size": 1}],
    "state": [{"name": "tip", "kind": "position", "size": 2, "from": "obs[0:2]"}],
    "cameras": {"front": {"size": [500, 500], "turn": 180}},
    "success": {"from": "reward", "at_least": -0.1},
    "progress": {"from": "reward", "low": -16.3, "high": 0},
}
"""An environment that nobody has prepared for the bridge."""


def load(params: dict[str, Any]) -> Any:
    return load_target(f"{BENCHMARKS / 'gym_bridge' / 'adapter.py'}:GymnasiumBenchmark", Benchmark, params)


def episode(benchmark: Any, seed: int, **fields: Any) -> Episode:
    task = benchmark.spec.tasks[0]
    return Episode("e", "00", benchmark.spec.ref, task.suite, task.name, 0, seed, 0, 300, **fields)


def start(benchmark: Any, seed: int) -> dict[str, Any]:
    raw = benchmark.reset(episode(benchmark, seed))
    observation = benchmark.make_obs(raw)
    picture = next(iter(observation.images.values()))
    return {
        "state": {name: value.tolist() for name, value in raw.state.items()},
        "proprioception": observation.state.tolist(),
        "picture": [int(picture.sum()), *picture.shape],
    }


def walk(benchmark: Any, seed: int) -> None:
    for action in np.random.default_rng(seed).uniform(-1, 1, (5, benchmark.spec.action.size)):
        benchmark.step(action)


def starts(benchmark: Any) -> list[dict[str, Any]]:
    """The same start twice, with another episode between them, and then the other start."""
    first = start(benchmark, 3)
    walk(benchmark, 0)
    other = start(benchmark, 4)
    walk(benchmark, 1)
    return [first, start(benchmark, 3), other]


def scored(benchmark: Any) -> list[Any]:
    """Score PushT with the block where it starts, and on its goal."""
    benchmark.reset(episode(benchmark, 3))
    before = benchmark.get_step_result(benchmark.step(np.zeros(2)))
    env = benchmark.privileged().env
    env.agent.position = (30.0, 30.0)  # out of the way
    env.space.reindex_shapes_for_body(env.agent)
    env.block.angle = float(env.goal_pose[2])
    env.block.position = [float(value) for value in env.goal_pose[:2]]
    env.space.reindex_shapes_for_body(env.block)
    result = benchmark.step(np.full(2, 30.0 / 256.0 - 1.0))
    after = benchmark.get_step_result(result)
    return [before.success, before.progress, after.success, after.progress, result.ended]


def scaled(benchmark: Any) -> list[list[float]]:
    """What the environment is told for the middle and the ends of the policy's range, and beyond them."""
    benchmark.reset(episode(benchmark, 3))
    return [benchmark._native_action(np.full(2, value)).tolist() for value in (-1.0, 0.0, 1.0, 7.0)]


def refusals() -> dict[str, str]:
    """What is said of parameters that do not fit the environment."""
    changes: dict[str, dict[str, Any]] = {
        "size": {"cameras": {"front": {"size": [96, 96]}}},
        "action": {"action": [{"name": "torque", "kind": "other", "size": 2}]},
        "source": {"state": [{"name": "tip", "kind": "position", "size": 2, "from": "obs.tip"}]},
        "missing": {"success": {"from": "info.solved"}},
        "module": {"imports": ["no_such_module"]},
        "env": {"tasks": [{**PENDULUM["tasks"][0], "env_id": "NoSuch-v0"}]},
        "make": {"tasks": [{**PENDULUM["tasks"][0], "make": {"wings": 2}}]},
    }
    said = {}
    for name, change in changes.items():
        benchmark = load({**PENDULUM, **change})
        try:
            raw = benchmark.reset(episode(benchmark, 1))
            benchmark.make_obs(raw)
            benchmark.get_step_result(benchmark.step(np.zeros(1)))
            said[name] = "nothing"
        except VlassessError as error:
            said[name] = f"{type(error).__name__}: {error}"
        benchmark.close()
    return said


def main() -> None:
    pusht, pendulum = load(json.loads(sys.argv[1])), load(PENDULUM)
    print(
        json.dumps(
            {
                "pusht": starts(pusht),
                "pendulum": starts(pendulum),
                "scored": scored(pusht),
                "scaled": scaled(pusht),
                "refusals": refusals(),
            }
        )
    )


if __name__ == "__main__":
    main()
