"""A small policy that tells what its model is given, and the mistakes that can be planted in it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.link.episodes import episode_of, job_of
from vlassess_link.benchmarks.attempt import Attempt
from vlassess_link.benchmarks.recording import ArtifactRequest
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.conventions import rotations
from vlassess_link.conventions.images import resized
from vlassess_link.conventions.traces import Trace, load
from vlassess_link.data import Observation, RawObservation
from vlassess_link.jsonable import to_json
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer, SessionContext
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.specs import CameraSpec, PolicyIdentity, PolicySpec
from vlassess_link.testing import FakeBenchmark

STATE = Layout(
    (
        Component("eef_position", "position", 3, "absolute", "base", unit="meter", source="site"),
        Component("eef_rotation", "rotation", 4, "absolute", "base", rotation="quaternion_xyzw", source="site"),
        Component("gripper", "gripper", 1, "absolute", gripper="positive_opens", low=0.0, high=0.08, source="joint"),
    )
)
SIDE = 64


class Arm(FakeBenchmark):
    """An arm that ignores its actions: where it is depends on the step alone, so that two traces see the same."""

    def __init__(self) -> None:
        super().__init__(termination="at_limit")
        self.spec = replace(
            self.spec,
            action=end_effector_delta(),
            state=STATE,
            cameras=(CameraSpec("front", ((SIDE, SIDE),)), CameraSpec("wrist", ((SIDE, SIDE),))),
            extras=("controller_position",),
            hold_action=None,
        )
        self._moment = 0

    def reset(self, episode: Any) -> RawObservation:
        self._moment = 0
        return super().reset(episode)

    def step(self, action: np.ndarray) -> Any:
        self._moment += 1
        return super().step(np.zeros(1))

    def make_obs(self, raw: RawObservation) -> Observation:
        rng = np.random.default_rng(self._moment)
        turn = rng.standard_normal(4)
        turn[3] = -abs(turn[3])
        position, gripper = rng.uniform(0.1, 0.6, 3), rng.uniform(0.0, 0.08, 1)
        state = np.concatenate((position, turn / np.linalg.norm(turn), gripper))
        images = {"front": scene(self._moment), "wrist": scene(self._moment + 100)}
        extras = {"controller_position": position + rng.uniform(0.01, 0.05, 3)}
        return replace(super().make_obs(raw), images=images, state=state, extras=extras)


def scene(seed: int) -> np.ndarray:
    """A picture with shapes in it: noise alone would look like itself after no crop at all."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return resized(coarse, (SIDE, SIDE), "bilinear")


class Small(PredictModelServer):
    """Answers chunks of 6 actions, and what its model was given; ``mistake`` names what it does wrong."""

    spec = PolicySpec(
        PolicyIdentity("small"),
        state=STATE,
        action=end_effector_delta(),
        chunk=6,
        horizon=2,
        extras=("controller_position",),
    )

    def __init__(self, mistake: str | None = None, **changes: Any) -> None:
        self.mistake = mistake
        self.spec = replace(self.spec, **changes)

    def predict(self, obs: Observation, ctx: SessionContext) -> dict[str, Any]:
        prompt = "pick up the red block" if self.mistake == "wrong instruction" else obs.instruction
        return {
            "actions": self.actions(obs),
            "model_state": self.state(obs),
            "model_image": self.image(obs.images["front"]),
            "prompt": f"What should the robot do to {prompt}?",
        }

    def state(self, obs: Observation) -> np.ndarray:
        assert obs.state is not None
        position, quaternion, gripper = np.split(obs.state, (3, 7))
        if self.mistake == "state source":
            position = obs.extras["controller_position"]
        read = "quaternion_wxyz" if self.mistake == "wxyz for xyzw" else "quaternion_xyzw"
        form = {"antipodal flip": "axis_angle_pi", "euler for axis-angle": "euler_xyz"}.get(self.mistake or "")
        turn = rotations.convert(quaternion, read, form or "axis_angle_2pi")
        turn = np.rad2deg(turn) if self.mistake == "degrees" else turn
        whole = self.normalised(np.concatenate((position, gripper)))
        whole = self.normalised(whole) if self.mistake == "normalised twice" else whole
        kept = (turn, whole[3:]) if self.mistake == "missing state field" else (whole[:3], turn, whole[3:])
        return np.concatenate(kept)

    def normalised(self, values: np.ndarray) -> np.ndarray:
        if self.mistake == "state source":
            return values
        once: np.ndarray = (values - np.array((0.3, 0.35, 0.4, 0.04))) / np.array((0.2, 0.15, 0.1, 0.02))
        return once

    def image(self, image: np.ndarray) -> np.ndarray:
        if self.mistake == "missing centre crop":
            return image
        cropped = resized(image, (SIDE, SIDE), "bilinear", 0.9)
        turned = cropped[::-1, ::-1] if self.mistake == "turned" else cropped
        return turned[..., ::-1] if self.mistake == "BGR" else turned

    def actions(self, obs: Observation) -> np.ndarray:
        assert obs.state is not None
        rng = np.random.default_rng(obs.step)
        chunk = rng.uniform(-0.7, 0.7, (7, 7))
        chunk[:, 6] = np.where(chunk[:, 6] > 0, 1.0, -1.0)
        chunk[0, 6], chunk[1, 6] = 1.0, -1.0
        if self.mistake == "absolute for delta":
            chunk[:, :3] = obs.state[:3] + 0.05 * np.cumsum(chunk[:, :3], axis=0)
        if self.mistake == "euler in actions":
            chunk[:, 3:6] = rotations.convert(0.5 * chunk[:, 3:6], "axis_angle_pi", "euler_xyz") / 0.5
        if self.mistake == "gripper 0..1 for -1..1":
            chunk[:, 6] = (chunk[:, 6] + 1) / 2
        if self.mistake == "gripper sign":
            chunk[:, 6] *= -1
        return chunk[1:] if self.mistake == "chunk index" else chunk[:-1]


def traced(policy: PredictModelServer, benchmark: FakeBenchmark | None = None, steps: int = 8) -> Trace:
    """Trace an episode of a policy on the arm."""
    arm = benchmark or Arm()
    with tempfile.TemporaryDirectory() as folder:
        job = replace(job_of(episode_of(limit=steps)), artifacts=ArtifactRequest(folder, trace=steps))
        record = Attempt(job, arm, InProcessPolicy(policy), Monitor()).run()
        assert record.error is None, record.error
        found = load(str(Path(folder) / "trace.npz"))
    return replace(found, about={"benchmark_spec": to_json(arm.spec), "policy_spec": to_json(policy.spec)})
