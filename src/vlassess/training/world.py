"""The embedded benchmark, run in this process for training: seeds of its own, and what a teacher may read.

The adapter is loaded by its target, as a worker loads it; nothing here runs in an evaluation.
"""

from __future__ import annotations

import importlib
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vlassess.training.places import ADAPTER
from vlassess.training.teacher import Scene
from vlassess_link.benchmarks.base import Benchmark, View
from vlassess_link.data import Episode, Observation, RawObservation, StepOutcome
from vlassess_link.digest import content_id
from vlassess_link.loading import load_target
from vlassess_link.seeds import episode_seed

BASE_SEED = 20_261_201
"""Of every training start. A run's starts come from other hashed keys, whatever its own base seed is."""

RENDERED = 128
"""Height and width at which a policy gets its images."""

CAMERAS = ("agent", "wrist")


@dataclass(frozen=True)
class Job:
    """One task with the words for it.

    Attributes:
        suite, name, target, goal, step_limit: As the benchmark has them; `goal` is None for `pick`.
        instructions: Every seen template's text, the control's first.
    """

    suite: str
    name: str
    target: str
    goal: str | None
    step_limit: int
    instructions: tuple[str, ...]


class Started(NamedTuple):
    """An episode that has begun.

    Attributes:
        job: Number of the task among the world's.
        said: The instruction.
    """

    job: int
    said: str


def training_seed(part: str, number: int) -> int:
    """Return the seed of one training start; no run draws it but by a collision of hashes."""
    return episode_seed(BASE_SEED, content_id(["training", part, number]))


class World:
    """One tabletop with one arm; `begin`, `look`, `act`, and `scene` for the teacher.

    Args:
        suites: Whose tasks are trained.
        perturbation: Axis -> level that every episode is varied by.
    """

    asks = False
    """Questions decide what is done: frames teach what was done in the words that were said, and nothing else."""

    def __init__(self, suites: Sequence[str], perturbation: Mapping[str, str] | None = None) -> None:
        self._load(f"{ADAPTER}:Tabletop", {})
        self._perturbation = dict(perturbation or {})
        self.jobs = tuple(self._job(task) for task in self._module("tasks").TASKS.values() if task.suite in suites)

    def _load(self, target: str, params: Mapping[str, Any]) -> None:
        _declare_environment()
        self._benchmark: Any = load_target(target, Benchmark, params)
        self._benchmark.view = View({camera: (RENDERED, RENDERED) for camera in CAMERAS})
        self._package = type(self._benchmark).__module__.rpartition(".")[0]
        self._raw = RawObservation(0, "")

    @property
    def varied(self) -> bool:
        """Whether episodes differ from the control, and may be worded by what varies them."""
        return bool(self._perturbation)

    def start(self, number: int, seed: int, rng: np.random.Generator) -> Started:
        """Begin the training episode of this number: tasks take turns, and the words are one of a task's sentences."""
        turn = number % len(self.jobs)
        job = self.jobs[turn]
        return Started(turn, self.begin(job, seed, None if self.varied else str(rng.choice(job.instructions))))

    def texts(self) -> Iterator[str]:
        """Yield every sentence that a training says."""
        yield from (text for job in self.jobs for text in job.instructions)

    def begin(self, job: Job, seed: int, instruction: str | None) -> str:
        """Put everything into the start of a seed; return the instruction, the benchmark's own where none is given."""
        episode = Episode(
            *("training", "00", self._benchmark.spec.ref, job.suite, job.name, 0, seed, 0, job.step_limit),
            instruction=instruction,
            perturbation=self._perturbation,
        )
        self._raw = self._benchmark.reset(episode)
        return str(self._raw.instruction)

    def look(self) -> Observation:
        """Render both cameras and read proprioception."""
        observation: Observation = self._benchmark.make_obs(self._raw)
        return observation

    def act(self, action: np.ndarray) -> StepOutcome:
        """Apply one action of seven numbers."""
        result = self._benchmark.step(action)
        self._raw = result.raw
        outcome: StepOutcome = self._benchmark.get_step_result(result)
        return outcome

    def scene(self) -> Scene:
        """Return what the teacher reads, for every job; a job whose things are not there is not possible."""
        truth = self._benchmark.privileged()
        arm = truth.arms[""]
        rows = [_row(job, truth.items) for job in self.jobs]
        return Scene(
            hand=arm.position,
            yaw=_heading(arm.quaternion),
            closed=arm.closed,
            grips=np.array([row.grip for row in rows]),
            yaws=np.array([row.yaw for row in rows]),
            periods=np.array([row.period for row in rows]),
            pads=np.array([arm.touches.get(job.target, 0) for job in self.jobs]),
            goals=np.array([row.goal for row in rows]),
            radii=np.array([row.radius for row in rows]),
            possible=np.array([row.possible for row in rows]),
        )

    def close(self) -> None:
        """Free the simulator."""
        self._benchmark.close()

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{self._package}.{name}")

    def _job(self, task: Any) -> Job:
        language, words = self._module("language"), self._module("axes").words_of(task)
        texts = tuple(language.say(template, words) for template in language.SEEN[task.suite])
        return Job(task.suite, task.name, task.target, task.goal, task.step_limit, texts)


@dataclass(frozen=True)
class _Row:
    """What the teacher reads of one job."""

    grip: np.ndarray
    yaw: float
    period: float
    goal: np.ndarray
    radius: float
    possible: bool = True


def _declare_environment() -> None:
    """Set what the benchmark's folder declares, before MuJoCo is loaded: what a worker's parent does."""
    manifest = (ADAPTER.parent / "benchmark.toml").read_text(encoding="utf-8")
    for name, value in re.findall(r'^([A-Z_]+) = "(.*)"$', manifest, re.M):
        os.environ.setdefault(name, value)


_NOWHERE = np.full(3, np.nan)
_IMPOSSIBLE = _Row(np.zeros(3), 0.0, 0.0, _NOWHERE, 0.0, possible=False)


def _row(job: Job, items: Mapping[str, Any]) -> _Row:
    if job.target not in items or (job.goal is not None and job.goal not in items):
        return _IMPOSSIBLE
    target = items[job.target]
    yaw, grasp = _heading(target.quaternion), target.item.grasp
    offset = _turned(grasp.point, yaw)
    grip, angle = target.position + offset, yaw + grasp.yaw
    if job.goal is None:
        return _Row(grip, angle, grasp.period, _NOWHERE, 0.0)
    goal = items[job.goal]
    support = 0.0 if goal.item.top is None else float(goal.position[2]) + goal.item.top
    place = np.array((goal.position[0], goal.position[1], support + target.item.rest_height + offset[2]))
    return _Row(grip, angle, grasp.period, place, goal.item.target_radius)


def _heading(quaternion: np.ndarray) -> float:
    w, x, y, z = quaternion
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def _turned(point: Sequence[float], yaw: float) -> np.ndarray:
    cosine, sine = math.cos(yaw), math.sin(yaw)
    x, y, z = point
    return np.array((cosine * x - sine * y, sine * x + cosine * y, z))
