"""``tabletop-answers-v1``: of several candidates, one is brought to the gray answer zone; with two arms, or with one.

Which candidates stand there is told by `Episode.scene`, which is the right one by `Episode.private`; questions are made
elsewhere, and the instruction comes with the episode. The right one decides scores, and what privileged policies do:
nothing that a policy is given depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vlassess_link import BenchmarkSpec, Episode, RawObservation, StepOutcome, StepResult, TaskSpec
from vlassess_link.errors import ContractError
from vlassess_link.specs import CameraSpec, Termination

from .adapter import Tabletop
from .answer_scene import ZONE, answer_base, candidates_of, laid
from .declared import SIZES, action_layout, state_layout
from .judging import CandidateNow, HandNow, Judge
from .starts import Start
from .tasks import Task
from .truth import Truth

IDS = {"bimanual": "tabletop-answers", "single": "tabletop-answers-single"}
"""Embodiment -> the benchmark's id."""

SUITES = tuple(
    f"{family}-{domain}-{count}"
    for family in ("rsb", "beyond")
    for domain in ("math", "hardmath", "general")
    for count in (4, 10)
)
"""Lettered blocks (rsb) or everyday objects (beyond); the number of candidates comes last."""

TASK = "answer"
INSTRUCTION = "place one of the candidates in the gray answer zone"
STEP_LIMIT = 200
EXPECTED_STEPS = 85.0


@dataclass(frozen=True)
class AnswerTruth(Truth):
    """What a privileged policy may read of an answer scene.

    Attributes:
        names: The candidates, in the order of the scene.
        listed: The same in the order in which the instruction lists them.
    """

    names: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()


def answers_spec(embodiment: str) -> BenchmarkSpec:
    """Return an embodiment's whole spec.

    Raises:
        ContractError: there is no such embodiment.
    """
    base = answer_base(embodiment)
    action = action_layout(embodiment)
    return BenchmarkSpec(
        id=IDS[embodiment],
        version="1",
        tasks=tuple(TaskSpec(suite, TASK, STEP_LIMIT, INSTRUCTION, (), EXPECTED_STEPS) for suite in SUITES),
        action=action,
        cameras=tuple(CameraSpec(camera.name, SIZES[::-1]) for camera in base.cameras),
        state=state_layout(embodiment),
        control_rate_hz=20.0,
        settling_steps=25,
        termination=Termination("at_limit"),
        success="at_end",
        hold_action=(0.0,) * action.size,
        licence="Apache-2.0",
    )


class Answers(Tabletop):
    """Candidates, a gray zone and two arms or one; an episode ends at its limit, or once a candidate rests in the zone.

    Args:
        embodiment: "bimanual" or "single".
    """

    def __init__(self, embodiment: str = "bimanual") -> None:
        self.spec = answers_spec(embodiment)
        self._embodiment = embodiment
        self._base = answer_base(embodiment)
        self._set_up(self._base)
        self._judge: Judge | None = None
        self._names: tuple[str, ...] = ()
        self._listed: tuple[str, ...] = ()
        self._excluded = 0
        self._distances: dict[str, float] = {}

    def reset(self, episode: Episode) -> RawObservation:
        """Put candidates and zone where the stream "layout" says, and settle.

        Raises:
            ContractError: the episode names a suite, candidate, colour or target that does not exist.
            PluginError: MuJoCo or OpenGL cannot be used; says what to install.
        """
        raw = super().reset(episode)
        start, world = self._running()
        radius = start.scene.item(ZONE).target_radius
        hands = [world.simulation.end_effector(arm.prefix)[0] for arm in self._arms]
        self._distances = {
            f"distance_{name}": min(float(np.linalg.norm((hand - place)[:2])) for hand in hands)
            for name in self._names
            for place in (world.simulation.position(name),)
        }
        self._judge = Judge(self._names, start.task.target, world.simulation.position(ZONE), radius)
        return raw

    def step(self, action: np.ndarray) -> StepResult:
        """Move each arm's target pose by its part of an action in [-1, 1] and simulate 50 ms.

        Raises:
            BenchmarkFault: the simulation became unstable.
        """
        start, world = self._running()
        self._advance(action)
        simulation = world.simulation
        hands = {
            arm.prefix: HandNow(
                simulation.end_effector(arm.prefix)[0],
                simulation.arms[arm.prefix].closed,
                simulation.touches(arm.prefix),
            )
            for arm in self._arms
        }
        now = {
            name: CandidateNow(
                position := simulation.position(name),
                float(position[2]) - start.scene.item(name).rest_height,
                simulation.speed(name),
            )
            for name in self._names
        }
        judge = self._judged()
        outcome = judge.update(hands, now)
        return StepResult(RawObservation(self._steps, start.instruction), outcome, judge.over)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Return success, progress, stages and what happened to each candidate; see `judging.Judge.update`.

        Beside its metrics: `distance_NAME`, meters from the nearest hand at the start, horizontally, and
        `layouts_excluded`, how many layouts were drawn and did not work by geometry.
        """
        outcome: StepOutcome = result.native
        metrics = {**outcome.metrics, **self._distances, "layouts_excluded": float(self._excluded)}
        return StepOutcome(outcome.success, outcome.progress, outcome.stages, metrics)

    def privileged(self) -> AnswerTruth:
        """Return what a privileged policy may read; never reaches a policy behind the wire."""
        truth = super().privileged()
        return AnswerTruth(truth.task, truth.arms, truth.items, self._names, self._listed)

    def _start_of(self, episode: Episode) -> Start:
        if (episode.suite, episode.task) not in {(suite, TASK) for suite in SUITES}:
            raise ContractError(
                f"{self.spec.name} has no task {episode.suite}/{episode.task}; it has {TASK} of {', '.join(SUITES)}"
            )
        if episode.perturbation or episode.initial_state:
            raise ContractError(f"{self.spec.name} takes no perturbation and no stored initial state; leave them out")
        candidates = candidates_of(episode.scene, episode.suite, episode.rng("appearance"))
        target = str(episode.private.get("target", ""))
        listed = tuple(map(str, episode.private.get("listed", candidates.names)))
        if target not in ("", *candidates.names) or sorted(listed) != sorted(candidates.names):
            raise ContractError(
                f"the episode's target is {target!r}, listed {', '.join(listed)}; its candidates are "
                f"{', '.join(candidates.names)}"
            )
        found = laid(self._base, candidates, episode.rng("layout"))
        self._names, self._listed, self._excluded = candidates.names, listed, found.excluded
        instruction = INSTRUCTION if episode.instruction is None else episode.instruction
        task = Task(episode.suite, TASK, instruction, target, ZONE, STEP_LIMIT, EXPECTED_STEPS)
        return Start(task, found.scene, found.spots, instruction)

    def _judged(self) -> Judge:
        if self._judge is None:
            raise ContractError(f"{self.spec.name} has no episode yet; call reset first")
        return self._judge
