"""Labelled frames from episodes that a teacher, a half-trained policy, or both in turn drive.

What a policy learns from a teacher's own episodes fails where it drifts off them. So frames are taken where the
policy itself goes, and labelled with what the teacher would do there (DAgger, Ross et al. 2011, arXiv:1011.0686);
the teacher's own episodes are disturbed (DART, Laskey et al. 2017, arXiv:1703.09327).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vlassess.training.store import LONGEST, Frame
from vlassess.training.teacher import STEP, Scene, label
from vlassess.training.world import Job, World, training_seed
from vlassess_link.data import EpisodeStart, Observation
from vlassess_link.policies.base import Policy

CHUNK = 10
POSITION_SCALE, ROTATION_SCALE = 0.05, 0.5
_ALONE, _AT_MOST = 0.4, 0.65
"""Shares of the step limit: when a policy that drives alone has shown enough, and when an episode ends."""


@dataclass(frozen=True)
class Driving:
    """How an episode is driven.

    Attributes:
        policy: The half-trained policy, None for the teacher alone.
        alone: Share of episodes that the policy drives until it should have been done, and the teacher from there; in
            half of the others it hands over earlier, the rest is the teacher's.
        kept: Share of the steps between two looks whose frames are kept as well.
        noise: An episode's moves are disturbed by one of these, in units of the farthest move.
        pushes: How often a step begins a push, or a slip of the fingers, of a few steps.
    """

    policy: Policy | None = None
    alone: float = 0.6
    kept: float = 0.15
    noise: tuple[float, ...] = (0.0, 0.1, 0.3, 0.6)
    pushes: float = 0.02


def collect(world: World, part: str, numbers: range, driving: Driving) -> Iterator[list[Frame]]:
    """Yield the frames of one episode after the other; an episode is a function of (part, number, policy)."""
    for number in numbers:
        yield _Episode(world, number, training_seed(part, number), driving).run()


def action_of(row: np.ndarray) -> np.ndarray:
    """Return the benchmark's seven numbers for one row of a label."""
    x, y, z, turn, gripper = (float(number) for number in row)
    scale = POSITION_SCALE
    return np.array((x / scale, y / scale, z / scale, 0.0, 0.0, turn / ROTATION_SCALE, gripper))


def frame_of(job: int, observation: Observation, scene: Scene, labels: np.ndarray) -> Frame:
    """Return a labelled frame."""
    goals = np.nan_to_num(scene.goals[:, :2])
    turns = np.where(scene.periods > 0, 2 * np.pi / np.where(scene.periods > 0, scene.periods, 1.0), 0.0)
    angle = turns * scene.yaws
    places = np.column_stack((scene.grips, goals, np.cos(angle), np.sin(angle)))
    return Frame(
        halved(observation.images["agent"]),
        halved(observation.images["wrist"]),
        np.asarray(observation.state, np.float32),
        labels.astype(np.float16),
        places.astype(np.float32),
        np.array(job, np.int16),
        scene.held & scene.possible,
        scene.possible,
        np.array(observation.instruction[:LONGEST], f"<U{LONGEST}"),
    )


def halved(image: np.ndarray) -> np.ndarray:
    """Return means of 2x2 pixels, uint8."""
    height, width, channels = image.shape
    quads = image.reshape(height // 2, 2, width // 2, 2, channels).astype(np.uint16)
    return np.asarray((quads.sum((1, 3)) + 2) // 4, np.uint8)


class _Episode:
    """One episode with its noise."""

    def __init__(self, world: World, number: int, seed: int, driving: Driving) -> None:
        self._world, self._driving = world, driving
        self._rng = rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(99,)))
        self._number, self._said = world.start(number, seed, rng)
        self._job: Job = world.jobs[self._number]
        self._noise = STEP / POSITION_SCALE * float(rng.choice(driving.noise))
        self._horizon = int(rng.integers(3, 9))
        self._hands_over = 0
        if driving.policy is not None:
            drawn = float(rng.uniform())
            mixed = int(rng.integers(5, 60)) if drawn < (1 + driving.alone) / 2 else 0
            self._hands_over = int(_ALONE * self._job.step_limit) if drawn < driving.alone else mixed
        self._kick = np.zeros(7)
        self._kicked = 0

    def run(self) -> list[Frame]:
        """Drive to success or until enough is seen; return the frames."""
        world, driving, rng = self._world, self._driving, self._rng
        if driving.policy is not None:
            start = EpisodeStart("training", self._job.suite, self._job.name, self._said)
            driving.policy.reset(start, 0)
        frames: list[Frame] = []
        chunk, used = np.zeros((1, 7)), self._horizon
        for step in range(int(_AT_MOST * self._job.step_limit)):
            asked = used >= self._horizon
            if asked or rng.uniform() < driving.kept:
                scene = world.scene()
                labels = label(scene, CHUNK)
                observation = world.look()
                frames.append(frame_of(self._number, observation, scene, labels))
                if asked:
                    chunk, used = self._next(step, observation, labels[self._number]), 0
            outcome = world.act(self._disturbed(chunk[used]))
            used += 1
            if outcome.success:
                break
        return frames

    def _next(self, step: int, observation: Observation, labels: np.ndarray) -> np.ndarray:
        policy = self._driving.policy
        if policy is not None and step < self._hands_over:
            return policy.predict(observation).actions
        return np.stack([action_of(row) for row in labels])

    def _disturbed(self, action: np.ndarray) -> np.ndarray:
        """Return the action with noise, and now and then with a push or a slip of the fingers that lasts."""
        rng = self._rng
        if self._kicked == 0 and rng.uniform() < self._driving.pushes:
            self._kicked = int(rng.integers(2, 7))
            self._kick = np.zeros(7)
            self._kick[:3] = rng.normal(0.0, STEP / POSITION_SCALE, 3)
            self._kick[5] = rng.normal(0.0, 0.2)
            self._kick[6] = rng.choice((0.0, 0.0, -2.0, 2.0))
        out = np.array(action, np.float64)
        out[:3] += rng.normal(0.0, self._noise, 3) if self._noise else 0.0
        if self._kicked:
            self._kicked -= 1
            out += self._kick
        return np.clip(out, -1.0, 1.0)
