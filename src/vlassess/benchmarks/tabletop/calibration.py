"""Policies with a known grounding, to calibrate its scores: privileged, each chooses or fails in one stated way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vlassess_link import ActionChunk, EpisodeStart, Observation, PolicySpec
from vlassess_link.errors import ContractError

from .answers import IDS, AnswerTruth
from .expert import ScriptedExpert
from .routine import Job
from .truth import Truth

FAILING = 0.4
"""Share of episodes in which `Misses` and `Drops` fail."""


class Calibration(ScriptedExpert):
    """Brings the candidate that `pick` names to the zone, with the arm whose home is nearest from side to side."""

    embodiment = "bimanual"
    label = ""
    fails_in = ""
    """Phase of the routine in which an episode that fails comes to a halt; empty: none fails."""
    grip = 1.0
    """What the gripper does from then on: 1 closes, -1 opens."""

    def __init__(self, chunk: int = 1, horizon: int | None = None) -> None:
        super().__init__(chunk, horizon)
        self.spec = _named(self.spec, f"{IDS[self.embodiment]}-{self.label}")
        self._rng = np.random.default_rng(0)
        self._fails = self._halted = False

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin anew; whatever is drawn comes from the noise seed."""
        super().reset(start, policy_seed)
        self._rng = np.random.default_rng(policy_seed)
        self._fails = bool(self.fails_in) and float(self._rng.random()) < FAILING
        self._halted = False

    def choose(self, truth: Truth) -> Job:
        """Return the way of the chosen candidate to the zone.

        Raises:
            ContractError: the benchmark shows no candidates.
        """
        if not isinstance(truth, AnswerTruth):
            raise ContractError(f"{self.spec.identity.name} needs an answer scene: run it on tabletop-answers-v1")
        return _job(truth, self.pick(truth))

    def pick(self, truth: AnswerTruth) -> str:
        """Return the name of the candidate to take: the right one, the first where any is right. Override it."""
        return truth.task.target or truth.names[0]

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the next actions of the routine, or those of a halt."""
        before = self._job
        chunk = super().predict(obs)
        if self._fails and before is not None and self._plan is not None and self._plan.phase == self.fails_in:
            self._halted = True
        if not self._halted or self._job is None:
            return chunk
        actions = np.zeros_like(chunk.actions)
        actions[:, 6::7] = -1.0
        prefixes = [""] if self.embodiment == "single" else ["left_", "right_"]
        actions[:, 7 * prefixes.index(self._job.arm) + 6] = self.grip
        return ActionChunk(actions)


class Oracle(Calibration):
    """Takes the right one."""

    label = "oracle"


class Misses(Calibration):
    """Takes the right one, but in 40 % of episodes it closes its gripper above it and stops."""

    label, fails_in = "misses", "down"


class Drops(Calibration):
    """Takes the right one, but in 40 % of episodes it lets go after lifting it and stops."""

    label, fails_in, grip = "drops", "carry", -1.0


class Contrarian(Calibration):
    """Takes one of the wrong ones, each as likely."""

    label = "contrarian"

    def pick(self, truth: AnswerTruth) -> str:
        """Return a wrong one."""
        return _drawn([name for name in truth.names if name != truth.task.target], self._rng)


class Uniform(Calibration):
    """Takes any of them, each as likely."""

    label = "uniform"

    def pick(self, truth: AnswerTruth) -> str:
        """Return any."""
        return _drawn(truth.names, self._rng)


class AlwaysFirstLetter(Calibration):
    """Takes A, or the scene's first object, whatever is asked."""

    label = "always-a"

    def pick(self, truth: AnswerTruth) -> str:
        """Return the scene's first candidate."""
        return truth.names[0]


class Nearest(Calibration):
    """Takes the one nearest to a hand."""

    label = "nearest"

    def pick(self, truth: AnswerTruth) -> str:
        """Return the nearest."""
        return min(truth.names, key=lambda name: _distance(truth, name))


class FirstListed(Calibration):
    """Takes the one that the instruction lists first."""

    label = "first-listed"

    def pick(self, truth: AnswerTruth) -> str:
        """Return the first listed."""
        return truth.listed[0]


class SingleOracle(Oracle):
    """The same with one arm."""

    embodiment = "single"


class SingleUniform(Uniform):
    """The same with one arm."""

    embodiment = "single"


class SingleNearest(Nearest):
    """The same with one arm."""

    embodiment = "single"


def _named(spec: PolicySpec, name: str) -> PolicySpec:
    return replace(spec, identity=replace(spec.identity, name=name))


def _job(truth: AnswerTruth, name: str) -> Job:
    place = truth.items[name].position
    arm = min(truth.arms, key=lambda prefix: abs(float(truth.arms[prefix].home[1] - place[1])))
    return Job(arm, name, truth.task.goal)


def _drawn(names: tuple[str, ...] | list[str], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]


def _distance(truth: AnswerTruth, name: str) -> float:
    place = truth.items[name].position[:2]
    return min(float(np.linalg.norm(arm.home[:2] - place)) for arm in truth.arms.values())
