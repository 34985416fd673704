"""A benchmark of vla-eval: a point in a picture, red, is to be reached; run by its own `vla-eval run`."""

import numpy as np
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.specs import GRIPPER_CLOSE_POS, IMAGE_RGB, LANGUAGE, POSITION_DELTA, ROTATION_AA


class Reach(StepBenchmark):
    render_backends = frozenset({"gpu", "cpu"})

    def __init__(self, send_state=False):
        super().__init__()
        self.send_state = send_state

    def get_tasks(self):
        return [{"name": "red", "suite": "reach"}, {"name": "green", "suite": "reach"}]

    def reset(self, task):
        self.episode = task.get("episode_idx", 0)
        self.goal = np.array([3.0 + self.episode, 5.0])
        self.point = np.array([1.0, 1.0])
        self.steps = 0
        return self.point

    def step(self, action):
        self.steps += 1
        self.point = self.point + np.clip(np.asarray(action["actions"])[:2], -1, 1)
        done = bool(np.abs(self.point - self.goal).max() < 0.6)
        return StepResult(obs=self.point, reward=float(done), done=done, info={})

    def make_obs(self, raw, task):
        image = np.zeros((12, 12, 3), np.uint8)
        image[int(self.goal[1]), int(self.goal[0]), 0] = 255
        obs = {"images": {"agentview": image}, "task_description": "reach " + task["name"]}
        if self.send_state:
            obs["states"] = raw.astype(np.float32)
        return obs

    def get_step_result(self, result):
        return {"success": result.done}

    def get_metadata(self):
        return {"max_steps": 12}

    def get_action_spec(self):
        return {"position": POSITION_DELTA, "rotation": ROTATION_AA, "gripper": GRIPPER_CLOSE_POS}

    def get_observation_spec(self):
        return {"image": IMAGE_RGB, "language": LANGUAGE}
