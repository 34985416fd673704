"""What a hand does to candidates, step by step: contact, grasp, lift, transport, place; pure, no simulator.

A grasp of a candidate is contact of one gripper, that gripper closed, and the candidate lifted off the table or both
pads of the gripper in contact with it for eight control steps in a row (RoboSemanticBench, appendix C, which leaves
open what stable contact is).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vlassess_link.data import StepOutcome

STAGES = ("reach", "contact", "grasp", "lift", "transport", "place")
"""Of a candidate, in the order in which they are reached."""

STABLE_STEPS = 8
RESTING_STEPS = 10
"""Control steps that a candidate must rest in the zone before the episode ends."""

_REACH = 0.05
_OFF_TABLE = 0.01
_LIFTED = 0.04
_CLEAR = 0.02
_RESTING_SPEED = 0.05
_RESTING_HEIGHT = 0.02
_LET_GO = 5
"""Steps without contact after which a grasp is over: a swinging hand loses contact for moments."""


@dataclass(frozen=True)
class HandNow:
    """One gripper after a control step.

    Attributes:
        position: Of its end effector, (3,) meters.
        closed: It is told to close.
        touches: Candidate -> how many of its two pads touch it.
    """

    position: np.ndarray
    closed: bool
    touches: Mapping[str, int]


@dataclass(frozen=True)
class CandidateNow:
    """One candidate after a control step.

    Attributes:
        position: (3,) meters.
        height: Above where it rests on the table, meters.
        speed: Meters per second.
    """

    position: np.ndarray
    height: float
    speed: float


@dataclass
class _Course:
    """What has happened to one candidate so far."""

    stage: int = 0
    stable: dict[str, int] = field(default_factory=dict)
    held_by: str | None = None
    loose: int = 0
    grasps: int = 0


class Judge:
    """Follows the candidates of one episode.

    Args:
        names: The candidates, in the order that numbers in metrics count in, from 1.
        target: The right one; empty where any will do.
        zone: Middle of the zone, (2,) or (3,) meters.
        radius: How near a candidate's centre must be to it, horizontally.

    Attributes:
        over: A candidate has rested in the zone for `RESTING_STEPS`, so the episode ends.
    """

    def __init__(self, names: Sequence[str], target: str, zone: np.ndarray, radius: float) -> None:
        self._names, self._target = tuple(names), target
        self._zone, self._radius = zone, radius
        self._courses = {name: _Course() for name in names}
        self._first = self._first_step = self._first_arm = self._regrasps = 0
        self._rested = self._steps = 0
        self.over = False

    def update(self, hands: Mapping[str, HandNow], now: Mapping[str, CandidateNow]) -> StepOutcome:
        """Take in one control step and return how things stand.

        Success: the right candidate, and no other, rests in the zone and is let go. Stages are those of any candidate,
        progress is that of the right one, both as they are now. Metrics: `first_grasp` and `placed` are numbers of
        candidates (0: none; `placed` -1: several), `first_grasp_arm` counts hands from 1, `stage_NAME` is the furthest
        of `STAGES` that a candidate has reached, from 1.
        """
        self._steps += 1
        holds = {name: self._followed(name, hands, now[name]) for name in self._names}
        resting = [name for name in self._names if "place" in holds[name]]
        self._rested = self._rested + 1 if resting else 0
        self.over = self._rested >= RESTING_STEPS
        success = len(resting) == 1 and self._target in ("", resting[0])
        every = {stage for held in holds.values() for stage in held}
        mine = holds.get(self._target, every)
        progress = max((STAGES.index(stage) + 1 for stage in mine), default=0) / len(STAGES)
        stages = tuple(stage for stage in STAGES if stage in every)
        return StepOutcome(success, 1.0 if success else min(progress, 0.95), stages, self._metrics(resting))

    def _metrics(self, resting: Sequence[str]) -> dict[str, float]:
        placed = -1 if len(resting) > 1 else self._names.index(resting[0]) + 1 if resting else 0
        found = {
            "first_grasp": self._first,
            "first_grasp_step": self._first_step,
            "first_grasp_arm": self._first_arm,
            "regrasps": self._regrasps,
            "placed": placed,
        }
        found |= {f"stage_{name}": course.stage for name, course in self._courses.items()}
        return {name: float(value) for name, value in found.items()}

    def _followed(self, name: str, hands: Mapping[str, HandNow], now: CandidateNow) -> tuple[str, ...]:
        """Return the stages of a candidate that hold now."""
        course = self._courses[name]
        touching = {prefix: hand.touches.get(name, 0) for prefix, hand in hands.items()}
        grasping = self._grasping(course, name, hands, touching, now)
        contact = any(touching.values())
        inside = math.hypot(*(now.position[:2] - self._zone[:2])) < self._radius
        near = min(float(np.linalg.norm(hand.position - now.position)) for hand in hands.values())
        at_rest = abs(now.height) < _RESTING_HEIGHT and now.speed < _RESTING_SPEED
        held = {
            "reach": near < _REACH,
            "contact": contact,
            "grasp": grasping,
            "lift": grasping and now.height >= _LIFTED,
            "transport": grasping and inside and now.height >= _CLEAR,
            "place": inside and at_rest and not contact and not self._gripped(hands, now),
        }
        stages = tuple(stage for stage in STAGES if held[stage])
        course.stage = max([course.stage, *(STAGES.index(stage) + 1 for stage in stages)])
        return stages

    def _grasping(
        self,
        course: _Course,
        name: str,
        hands: Mapping[str, HandNow],
        touching: Mapping[str, int],
        now: CandidateNow,
    ) -> bool:
        """Return whether a candidate is grasped, and count new grasps."""
        for prefix, hand in hands.items():
            both = hand.closed and touching[prefix] == 2
            course.stable[prefix] = course.stable.get(prefix, 0) + 1 if both else 0
        takers = [
            prefix
            for prefix, hand in hands.items()
            if hand.closed and touching[prefix] and (now.height >= _OFF_TABLE or course.stable[prefix] >= STABLE_STEPS)
        ]
        if course.held_by is not None:
            course.loose = 0 if touching[course.held_by] and hands[course.held_by].closed else course.loose + 1
            if course.loose >= _LET_GO or (takers and course.held_by not in takers and course.loose):
                course.held_by = None
        if course.held_by is None and takers:
            course.held_by, course.loose = takers[0], 0
            self._count(course, name, list(hands).index(takers[0]) + 1)
        return bool(takers)

    def _count(self, course: _Course, name: str, arm: int) -> None:
        course.grasps += 1
        if self._first == 0:
            self._first, self._first_step, self._first_arm = self._names.index(name) + 1, self._steps, arm
        else:
            self._regrasps += 1

    @staticmethod
    def _gripped(hands: Mapping[str, HandNow], now: CandidateNow) -> bool:
        """Return whether the hand nearest to a candidate is there and closed."""
        hand = min(hands.values(), key=lambda each: float(np.linalg.norm(each.position - now.position)))
        return hand.closed and float(np.linalg.norm(hand.position - now.position)) < _REACH
