"""vla-eval 0.8.0 in LIBERO's interpreter: ``theirs.py server ACTIONS PACKAGES``, ``theirs.py worker ... URL NUMBER``.

The benchmark is written on vla-eval's `StepBenchmark` and does what its own LIBERO adapter does: one environment for
all episodes of a task, ten settling steps, an observation with both cameras and the state after every step, images
turned by 180 degrees, PNG on the wire. vla-eval's own adapter needs torch, which LIBERO's package does without.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from typing import Any

sys.path.append(sys.argv[3])

import anyio
import numpy as np
from libero.libero import benchmark as libero_benchmark
from libero.libero import get_libero_path
from libero.libero.envs import OffScreenRenderEnv
from robosuite.utils.transform_utils import quat2axisangle
from shared import CHUNK, SUITE, WARM_STEPS, chunk, recorded
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.connection import Connection
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import serve_async
from vla_eval.protocol.image_codec import encode_image
from vla_eval.runners import SyncEpisodeRunner


class Replay(PredictModelServer):
    """Answers recorded actions, ten at a time."""

    def __init__(self, file: str) -> None:
        super().__init__(chunk_size=CHUNK)
        self._entries = recorded(file)

    def predict(self, obs: Any, ctx: Any) -> Any:
        """Answer."""
        return {"actions": chunk(self._entries, obs["task_description"], ctx.step)}

    def get_action_spec(self) -> Any:
        """Declare nothing."""
        return {}

    def get_observation_spec(self) -> Any:
        """Declare nothing."""
        return {}


class Libero(StepBenchmark):
    """One task of LIBERO on vla-eval's classes; notes the CPU time after each step's observation."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.marks: list[float] = []
        self.env: Any = None
        self._initializers: list[Any] = []
        self._suite = libero_benchmark.get_benchmark_dict()[SUITE]()
        self._index = index
        self.settled = 0.0

    def get_tasks(self) -> Any:
        """Return the task."""
        return [{"name": self._suite.get_task(self._index).language}]

    def reset(self, task: Any) -> Any:
        """Reset as vla-eval's adapter does."""
        if self.env is None:
            entry = self._suite.get_task(self._index)
            file = os.path.join(get_libero_path("bddl_files"), entry.problem_folder, entry.bddl_file)
            self.env = OffScreenRenderEnv(bddl_file_name=file, camera_heights=256, camera_widths=256)
            self._initializers = list(self.env.env.object_property_initializers)
        # Before every reset, where the adapter seeds once and lets LIBERO's list grow, from which it draws before it
        # places cabinet, stove and rack: so both sides have the same start.
        self.env.seed(0)
        self.env.env.object_property_initializers = list(self._initializers)
        self.env.reset()
        seen = self.env.set_init_state(self._suite.get_task_init_states(self._index)[task["state"]])
        for _ in range(10):
            seen, _, _, _ = self.env.step([0.0] * 6 + [-1.0])
        self.settled = time.process_time()
        return seen

    def step(self, action: Any) -> StepResult:
        """Step."""
        self.marks.append(time.process_time())
        seen, reward, done, info = self.env.step(np.asarray(action["actions"], np.float64))
        return StepResult(seen, reward, done, info)

    def make_obs(self, raw_obs: Any, task: Any) -> Any:
        """Turn the pictures and put the state together."""
        state = (raw_obs["robot0_eef_pos"], quat2axisangle(raw_obs["robot0_eef_quat"]), raw_obs["robot0_gripper_qpos"])
        return {
            "images": {
                "agentview": np.ascontiguousarray(raw_obs["agentview_image"][::-1, ::-1]),
                "wrist": np.ascontiguousarray(raw_obs["robot0_eye_in_hand_image"][::-1, ::-1]),
            },
            "states": np.concatenate(state),
            "task_description": task["name"],
        }

    def get_step_result(self, step_result: StepResult) -> Any:
        """Return whether the goal holds."""
        return {"success": bool(step_result.done)}


async def serve(file: str, _packages: str) -> None:
    """Serve until killed."""
    async with anyio.create_task_group() as group:
        port = await group.start(serve_async, Replay(file), "127.0.0.1", 0)
        print(f"ws://127.0.0.1:{port}", flush=True)


async def work(file: str, _packages: str, url: str, number: str) -> None:
    """Run a short episode to warm up, then the whole one; print what it cost."""
    entry = recorded(file)[int(number)]
    benchmark = Libero(entry["index"])
    task = {"name": entry["words"], "state": entry["state"]}
    async with Connection(url, timeout=300) as connection:
        runner = SyncEpisodeRunner()
        await runner.run_episode(benchmark, task, connection, max_steps=WARM_STEPS)
        benchmark.marks.clear()
        begin = time.process_time()
        result = await runner.run_episode(benchmark, task, connection, max_steps=len(entry["actions"]))
        end = time.process_time()
    encode = []
    images = benchmark.make_obs(benchmark._last_result.obs, task)["images"]
    for _ in range(5):
        before = time.process_time()
        for image in images.values():
            encode_image(image, "png")
        encode.append(time.process_time() - before)
    marks = [benchmark.settled, *benchmark.marks[1:], end]
    found = {
        "steps": result["steps"],
        "success": result["metrics"]["success"],
        "state": benchmark.env.get_sim_state().tolist(),
        "reset": benchmark.settled - begin,
        "per_step": [after - before for before, after in itertools.pairwise(marks)],
        "encode": encode,
    }
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    anyio.run({"server": serve, "worker": work}[sys.argv[1]], *sys.argv[2:])
