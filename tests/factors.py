"""A benchmark whose factors can be varied alone, one that breaks its word in one way at a time, and two policies.

Imports `vlassess_link` only: workers load it by its path.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from vlassess_link.data import Episode, Observation, RawObservation
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import Axis, CameraSpec, Level, PolicyIdentity, PolicySpec
from vlassess_link.testing import FakeBenchmark

BOTH = ("camera:front", "camera:side")
AXES = (
    Axis("light", (Level("dim"), Level("dark")), BOTH),
    Axis("camera_pose", (Level("near"), Level("far_2")), ("camera:side",)),
    Axis("language", (Level("paraphrase"),), ("instruction",)),
    Axis("object", (Level("size", touched=(*BOTH, "object")), Level("mug")), (*BOTH, "instruction", "object")),
    Axis("mass", (Level("heavy"),), ("mass",)),
    Axis("start", (Level("far"),), ("x", *BOTH), "unpaired"),
)
BREAKS = (
    "axis_in_prompt",
    "level_in_prompt",
    "seed_in_prompt",
    "id_in_prompt",
    "not_in_observation",
    "not_at_start",
    "moves_too",
    "other_camera_too",
    "other_text_too",
    "hidden_state_too",
    "no_op",
    "noise",
)
TEMPLATES = ("go to {}", "walk to {}", "move over to {}")


class Factors(FakeBenchmark):
    """Six axes.

    Args:
        broken: One of `BREAKS`, or None.
        same_templates: A paraphrase is always the control's.
    """

    def __init__(self, broken: str | None = None, same_templates: bool = False, **params: Any) -> None:
        super().__init__(**{"step_limit": 8, "tasks": 1, **params})
        cameras = tuple(CameraSpec(name, ((4, 4),)) for name in ("front", "side"))
        self.spec = dataclasses.replace(self.spec, cameras=cameras, axes=AXES)
        self._broken = broken
        self._same_templates = same_templates
        self._noise = np.random.default_rng()
        self._text = ""
        self._cell: Mapping[str, str] = {}

    def reset(self, episode: Episode) -> RawObservation:
        """Apply the cell to text and state."""
        self._cell = {} if self._broken == "no_op" else episode.perturbation
        start = {"start": "far"} if self._cell.get("start") else {}
        raw = super().reset(dataclasses.replace(episode, perturbation=start))
        self._text = self._worded(episode, raw.instruction)
        if self._broken == "moves_too" and "light" in self._cell:
            self._x += 0.25
        self._instruction = self._text
        state = {
            **raw.state,
            "x": np.array([self._x]),
            "mass": np.array([2.0 if "mass" in self._cell else 1.0]),
            "object": np.array([{"size": 1.0, "mug": 2.0}.get(self._cell.get("object", ""), 0.0)]),
            "hidden": np.array([0.5 if self._broken == "hidden_state_too" and "light" in self._cell else 0.0]),
        }
        told = raw.instruction if self._broken == "not_at_start" else self._text
        return RawObservation(self._x, told, state)

    def make_obs(self, raw: RawObservation) -> Observation:
        """Apply the cell to pictures."""
        obs = super().make_obs(raw)
        images = {name: self._lit(name, image) for name, image in obs.images.items()}
        text = f"go to {self._goal:g}" if self._broken == "not_in_observation" else self._text
        return dataclasses.replace(obs, images=images, instruction=text)

    def _worded(self, episode: Episode, text: str) -> str:
        if "language" in self._cell and not self._same_templates:
            text = TEMPLATES[episode.rng("language").integers(3)].format(f"{self._goal:g}")
        if self._cell.get("object") == "mug":
            text = f"{text} with the mug"
        leaks = {
            "axis_in_prompt": " (camera_pose)" * ("camera_pose" in self._cell),
            "level_in_prompt": "".join(f" {level}" for level in self._cell.values()),
            "seed_in_prompt": f" #{episode.seed}",
            "id_in_prompt": f" #{episode.episode_id}",
            "other_text_too": " now" * ("light" in self._cell),
        }
        return text + leaks.get(self._broken or "", "")

    def _lit(self, name: str, image: np.ndarray) -> np.ndarray:
        light = {"dim": 60, "dark": 20}.get(self._cell.get("light", ""), 100)
        seen = image // 4 + light
        moved = "camera_pose" in self._cell and (name == "side" or self._broken == "other_camera_too")
        if moved:
            seen = seen + (7 if self._cell["camera_pose"] == "near" else 14)
        if "object" in self._cell:
            seen = seen + (3 if self._cell["object"] == "size" else 5)
        if self._broken == "noise":
            seen = seen + self._noise.integers(0, 50, seen.shape)
        return np.asarray(seen, np.uint8)


class Sighted(PredictModelServer):
    """Walks while it sees enough light in front; says what it looks at.

    Args:
        cameras: Which cameras.
        reads: Whether it reads the state.
    """

    def __init__(self, cameras: tuple[str, ...] = ("front", "side"), reads: bool = True) -> None:
        x = Layout((Component("x", "other", 1),) if reads else ())
        self.spec = PolicySpec(
            PolicyIdentity("sighted", revision="1"),
            cameras=tuple(cameras),
            state=x,
            action=Layout((Component("dx", "other", 1),)),
        )

    def predict(self, obs: Observation, ctx: SessionContext) -> Mapping[str, Any]:
        """Walk."""
        bright = all(image.mean() > 40 for image in obs.images.values())
        return {"actions": np.full((1, 1), 1.0 if bright else 0.0)}
