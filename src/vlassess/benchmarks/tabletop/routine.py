"""How a hand brings an item somewhere: pure functions of the truth, no simulator.

Every step looks at what is, not at what was done: a hand that was pushed aside, a block that slipped or rolled away
and a release that missed send the routine back to where it can go on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .rotations import heading, rotated, turn_to, turned
from .truth import ArmTruth, ItemTruth, Truth

HELD = ("lift", "carry", "lower")
"""Phases in which the item has to be between the pads."""

_HOVER, _LIFT, _CARRY, _LEAVE = 0.078, 0.137, 0.117, 0.09
_LEAST_HEIGHT = 0.016
_OVER_GOAL = 0.06
_DROP = 0.006
_STEP, _TURN = 0.014, 0.15
_WAITS = {"close": 6, "open": 4}
_ASIDE, _SLIPPED_ASIDE = 0.015, 0.03
_THINNEST = 0.012
_PATIENCE, _MOST_PATIENT = 12, 2.5
_TIPPED = 0.7
_MOST_YAW = 1.7
_FINGER_PLACE, _FINGER_SIZE, _ITEM_MARGIN = 0.045, 0.016, 0.018
_NEAR = {
    "above": (0.012, 0.02),
    "down": (0.008, 0.004),
    "lift": (0.05, 0.012),
    "carry": (0.008, 0.02),
    "lower": (0.006, 0.004),
    "leave": (0.03, 0.03),
}
"""Phase -> how near the hand must be to its waypoint, horizontally and vertically, meters."""


@dataclass(frozen=True)
class Job:
    """What is to be brought where.

    Attributes:
        arm: Prefix of the arm that does it.
        target: Name of the item to take.
        goal: Name of the item to bring it to; None: it is lifted and held.
    """

    arm: str
    target: str
    goal: str | None


@dataclass(frozen=True)
class Plan:
    """Where the routine is, and where it expects the hand to be told to be.

    Attributes:
        phase: "above", "down", "close", "lift", "carry", "lower", "open" or "leave".
        hand: The end effector's target after the actions planned so far, (3,) meters.
        quaternion: Its orientation, wxyz.
        anchor: Where the hand was when the phase began.
        wait: Steps left in a phase that only waits.
        steps: Steps since the phase began.
        fresh: No action is planned yet: the truth is of the moment that is planned for.
    """

    phase: str
    hand: np.ndarray
    quaternion: np.ndarray
    anchor: np.ndarray
    wait: int = 0
    steps: int = 0
    fresh: bool = True


def begun(arm: ArmTruth) -> Plan:
    """Return the plan at the beginning of a routine."""
    return Plan("above", arm.position, arm.quaternion, arm.position)


def resumed(truth: Truth, job: Job, plan: Plan) -> Plan:
    """Return a plan made earlier as it stands now, back in an earlier phase where it cannot go on."""
    arm = truth.arms[job.arm]
    now = replace(plan, hand=arm.position, quaternion=arm.quaternion, fresh=True)
    if delivered(truth, job):
        return now if now.phase in ("open", "leave") else _entered(now, "leave")
    return _entered(now, "above") if _lost(truth, job, now) else now


def advanced(truth: Truth, job: Job, plan: Plan) -> tuple[Plan, np.ndarray]:
    """Return the plan after one more step, and that step: meters (3), radians about world axes (3), gripper."""
    if plan.wait > 0:
        plan = replace(plan, wait=plan.wait - 1)
    elif _arrived(truth, job, plan):
        plan = _entered(plan, _following(truth, job, plan))
    move = _limited(_waypoint(truth, job, plan) - plan.hand, _STEP)
    turn = _limited(_turn(truth, job, plan), _TURN)
    gripper = 1.0 if plan.phase in ("close", *HELD) else -1.0
    moved = replace(plan, hand=plan.hand + move, quaternion=turned(plan.quaternion, turn))
    return replace(moved, steps=plan.steps + 1, fresh=False), np.array((*move, *turn, gripper))


def homewards(arm: ArmTruth, steps: int) -> np.ndarray:
    """Return the next steps, (steps, 7), of an arm that has nothing to do: home, pointing down, fingers open."""
    position, quaternion, found = arm.position, arm.quaternion, []
    for _ in range(steps):
        move, turn = _limited(arm.home - position, _STEP), _limited(turn_to(quaternion, 0.0), _TURN)
        position, quaternion = position + move, turned(quaternion, turn)
        found.append((*move, *turn, -1.0))
    return np.array(found)


def delivered(truth: Truth, job: Job) -> bool:
    """Return whether the item lies in or on its goal and no pad touches it."""
    if job.goal is None or any(job.target in arm.touches for arm in truth.arms.values()):
        return False
    target, goal = truth.items[job.target], truth.items[job.goal]
    away = target.position - goal.position
    high = float(target.position[2]) - target.item.rest_height - _support(goal)
    return math.hypot(away[0], away[1]) < goal.item.target_radius and abs(high) < 0.02


def _support(goal: ItemTruth) -> float:
    """Return how high above the table an item rests in or on a goal."""
    return float(goal.position[2]) + goal.item.top if goal.item.top is not None else 0.0


def _lost(truth: Truth, job: Job, plan: Plan) -> bool:
    """Return whether the phase has nothing to work on any more."""
    if plan.phase in HELD:
        return not _between_pads(truth, job)
    if plan.phase == "close":
        aside = _grasp_point(truth.items[job.target]) - plan.hand
        return math.hypot(aside[0], aside[1]) > _SLIPPED_ASIDE
    return False


def _between_pads(truth: Truth, job: Job) -> bool:
    """Return whether the item is between the pads; a swinging hand loses contact for moments."""
    arm, target = truth.arms[job.arm], truth.items[job.target]
    if job.target in arm.touches:
        return True
    aside = _grasp_point(target) - arm.hand
    return arm.opening > _THINNEST and float(np.sqrt(aside @ aside)) < _SLIPPED_ASIDE


def _arrived(truth: Truth, job: Job, plan: Plan) -> bool:
    """Return whether the hand is where its phase wants it; a hand that never gets there may come less near."""
    if plan.phase not in _NEAR:
        return True
    gap = _waypoint(truth, job, plan) - plan.hand
    slack = min(_MOST_PATIENT, max(1.0, plan.steps / _PATIENCE))
    flat, tall = (slack * near for near in _NEAR[plan.phase])
    if math.hypot(gap[0], gap[1]) > flat or abs(gap[2]) > tall:
        return False
    return plan.phase != "above" or float(np.linalg.norm(_turn(truth, job, plan))) < 0.07 * slack


def _following(truth: Truth, job: Job, plan: Plan) -> str:
    """Return the phase that comes next; only what was seen, not what was planned, sends it back."""
    if plan.phase == "close":
        return "above" if plan.fresh and not _between_pads(truth, job) else "lift"
    if plan.phase == "lift":
        return "lift" if job.goal is None else "carry"
    if plan.phase == "leave":
        return "above" if plan.fresh and not delivered(truth, job) else "leave"
    return {"above": "down", "down": "close", "carry": "lower", "lower": "open", "open": "leave"}[plan.phase]


def _entered(plan: Plan, phase: str) -> Plan:
    if phase == plan.phase:
        return plan
    return replace(plan, phase=phase, anchor=plan.hand, wait=_WAITS.get(phase, 0), steps=0)


def _waypoint(truth: Truth, job: Job, plan: Plan) -> np.ndarray:
    """Return where the hand has to go in a phase."""
    if plan.phase in ("close", "open"):
        return plan.anchor
    if plan.phase in ("above", "down"):
        return _approach(_grasp_point(truth.items[job.target]), plan)
    if plan.phase == "leave":
        return _raised(plan.anchor, _LEAVE)
    if job.goal is None:
        return _raised(plan.anchor, _LIFT)
    goal, held = truth.items[job.goal], _hold(truth, job)
    low = _support(goal) + truth.items[job.target].item.rest_height + held[2] + _DROP
    high = max(low + _OVER_GOAL, held[2] + truth.items[job.target].item.rest_height + _CARRY)
    if plan.phase == "lift":
        return np.array((plan.anchor[0], plan.anchor[1], high))
    return np.array((goal.position[0] + held[0], goal.position[1] + held[1], low if plan.phase == "lower" else high))


def _approach(grasp: np.ndarray, plan: Plan) -> np.ndarray:
    """Return where to go to come down on a grasp: not lower than a funnel, and up first where the hand is aside."""
    above = _raised(grasp, _HOVER)
    aside = math.hypot(*(above - plan.hand)[:2])
    if plan.phase == "down":
        return _raised(grasp, min(_HOVER, 3 * max(0.0, aside - _ASIDE)))
    if aside > _ASIDE and plan.hand[2] < above[2] - 0.02:
        return np.array((plan.hand[0], plan.hand[1], above[2]))
    return above


def _hold(truth: Truth, job: Job) -> np.ndarray:
    """Return where the hand is, seen from the item that it holds, or will be once it holds it."""
    target, arm = truth.items[job.target], truth.arms[job.arm]
    if arm.touches.get(job.target, 0) == 2:
        return np.asarray(arm.hand - target.position)
    return np.asarray(_grasp_point(target) - target.position)


def _grasp_point(target: ItemTruth) -> np.ndarray:
    point = target.position + rotated(target.quaternion, target.item.grasp.point)
    return np.array((point[0], point[1], max(float(point[2]), _LEAST_HEIGHT)))


def _turn(truth: Truth, job: Job, plan: Plan) -> np.ndarray:
    """Return the rotation vector to the orientation that a phase wants: down, and on the grasp before closing."""
    yaw = heading(plan.quaternion)
    if plan.phase in ("above", "down"):
        yaw = min(_grasp_yaws(truth.items[job.target], yaw), key=lambda angle: _cost(truth, job, angle, yaw))
    return turn_to(plan.quaternion, yaw)


def _grasp_yaws(target: ItemTruth, yaw: float) -> list[float]:
    """Return the headings under which the item can be grasped."""
    period = target.item.grasp.period
    if period == 0:
        return [yaw, *(k * math.pi / 8 for k in range(-4, 5))]
    along = rotated(target.quaternion, (1.0, 0.0, 0.0))
    if abs(along[2]) > _TIPPED:
        along = rotated(target.quaternion, (0.0, 0.0, 1.0))
    first = math.atan2(along[1], along[0]) + target.item.grasp.yaw
    turns = (first + k * period for k in range(-8, 9))
    return [angle for angle in turns if abs(angle) <= max(_MOST_YAW, period / 2)]


def _cost(truth: Truth, job: Job, angle: float, yaw: float) -> float:
    """Return how bad a heading is: the turn to it, and how far a finger would come down on something else."""
    grasp = _grasp_point(truth.items[job.target])
    side = np.array((-math.sin(angle), math.cos(angle))) * _FINGER_PLACE
    worst = 0.0
    for name, other in truth.items.items():
        if name == job.target or not any(geom.solid for geom in other.item.geoms):
            continue
        taken = other.item.footprint - _ITEM_MARGIN + _FINGER_SIZE
        for finger in (grasp[:2] + side, grasp[:2] - side):
            worst = max(worst, taken - math.hypot(*(finger - other.position[:2])))
    return abs(angle - yaw) + 1.5 * min(1.0, worst / 0.02)


def _raised(point: np.ndarray, by: float) -> np.ndarray:
    return np.array((point[0], point[1], point[2] + by))


def _limited(vector: np.ndarray, most: float) -> np.ndarray:
    """Return a vector of the same direction that is at most so long."""
    length = float(np.sqrt(vector @ vector))
    return vector if length <= most else vector * (most / length)
