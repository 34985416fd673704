"""Suites, tasks, and what counts as having done them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vlassess_link.data import StepOutcome

from .scene import Item

OBJECTS: tuple[tuple[str, str], ...] = (
    ("red_block", "red block"),
    ("green_block", "green block"),
    ("blue_block", "blue block"),
)
GOALS: tuple[tuple[str, str], ...] = (("bowl", "in the bowl"), ("zone", "on the gray zone"))

LIFT_HEIGHT = 0.10
"""`pick` succeeds when the block has been lifted this far, meters."""

_REACH = 0.035
_CLEAR = 0.03
_RESTING_SPEED = 0.05
_RESTING_HEIGHT = 0.02
_FALLEN = -0.05


@dataclass(frozen=True)
class Task:
    """One task: bring ``target`` up, or into ``goal`` where there is one.

    Attributes:
        suite, name: As the spec lists them.
        instruction: What the robot is told.
        target: The item to move.
        goal: The item to move it to, None for `pick`.
        step_limit: Control steps.
        expected_steps: How long an expert takes.
    """

    suite: str
    name: str
    instruction: str
    target: str
    goal: str | None
    step_limit: int
    expected_steps: float

    @property
    def stages(self) -> tuple[str, ...]:
        """Stages in the order in which they are reached; the last one is success."""
        return ("reach", "grasp", "lift") if self.goal is None else ("reach", "grasp", "transport", "place")


def _pick(item: str, words: str) -> Task:
    return Task("pick", item, f"pick up the {words}", item, None, 120, 40.0)


def _place(item: str, words: str, goal: str, where: str) -> Task:
    return Task("place", f"{item}_{goal}", f"put the {words} {where}", item, goal, 200, 75.0)


def _stack(item: str, words: str, other: str, other_words: str) -> Task:
    sentence = f"stack the {words} on the {other_words}"
    return Task("stack", f"{item}_on_{other}", sentence, item, other, 200, 75.0)


TASKS: dict[tuple[str, str], Task] = {
    (task.suite, task.name): task
    for task in (
        *(_pick(item, words) for item, words in OBJECTS),
        *(_place(item, words, goal, where) for item, words in OBJECTS for goal, where in GOALS),
        *(_stack(*item, *other) for item in OBJECTS for other in OBJECTS if item != other),
    )
}
"""(suite, name) -> task."""


@dataclass(frozen=True)
class Measured:
    """What scoring looks at, after one control step.

    Attributes:
        gripper: Position of the end effector, of the one nearest to the target, (3,) meters.
        target: Position of the target.
        rest_height: The target's height when it stands on the table.
        pads: For each arm, how many of its pads touch the target, 0 to 2.
        speed: Of the target, meters per second.
        goal: Position of the goal, None for `pick`.
        goal_radius: How near the target must be to it, horizontally.
        support: Height above the table of what the target shall rest on.
        supported: Whether it touches that, or what it shall rest on cannot be touched.
    """

    gripper: np.ndarray
    target: np.ndarray
    rest_height: float
    pads: tuple[int, ...]
    speed: float
    goal: np.ndarray | None = None
    goal_radius: float = 0.0
    support: float = 0.0
    supported: bool = True

    def towards(self, place: np.ndarray, goal: Item, meet: bool) -> Measured:
        """Return the same with a goal.

        Args:
            place: Where the goal is.
            goal: What it is. Where it can carry something, the target shall rest on its top.
            meet: Whether it touches the target.
        """
        aimed = replace(self, goal=place, goal_radius=goal.target_radius)
        return aimed if goal.top is None else replace(aimed, support=float(place[2]) + goal.top, supported=meet)


def score(task: Task, now: Measured) -> StepOutcome:
    """Return how a task stands.

    reach: a gripper is within 3.5 cm of the target's centre. grasp: both pads of one touch it. lift: grasped
    and 10 cm up. transport: grasped, above the goal and at least 3 cm above where it shall rest. place: in or
    on the goal, at rest, let go. Progress is the share of the stages up to the furthest that holds now.
    """
    reach = float(np.linalg.norm(now.gripper - now.target))
    height = float(now.target[2]) - now.rest_height
    grasped = max(now.pads) == 2
    holds = {"reach": reach < _REACH, "grasp": grasped, "lift": grasped and height >= LIFT_HEIGHT}
    metrics = {"reach_distance": reach, "height": height}
    if now.goal is not None:
        away = float(np.linalg.norm(now.goal[:2] - now.target[:2]))
        inside = away < now.goal_radius
        at_rest = now.supported and abs(height - now.support) < _RESTING_HEIGHT and now.speed < _RESTING_SPEED
        holds["transport"] = grasped and inside and height - now.support >= _CLEAR
        holds["place"] = inside and at_rest and max(now.pads) == 0
        metrics["goal_distance"] = away
    stages = tuple(stage for stage in task.stages if holds[stage])
    success = task.stages[-1] in stages
    progress = (task.stages.index(stages[-1]) + 1) / len(task.stages) if stages else 0.0
    return StepOutcome(success, progress, stages, metrics)


def fallen(now: Measured) -> bool:
    """Return whether target or goal has left the table, after which nothing can succeed."""
    return bool(now.target[2] < _FALLEN or (now.goal is not None and now.goal[2] < _FALLEN))
