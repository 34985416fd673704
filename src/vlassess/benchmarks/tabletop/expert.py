"""A scripted expert: it reads the simulator and moves block by block as a person would program it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from vlassess_link import ActionChunk, EpisodeStart, Observation, Policy, PolicyIdentity, PolicySpec
from vlassess_link._version import __version__
from vlassess_link.errors import ContractError

from .declared import POSITION_SCALE, ROTATION_SCALE, tabletop_spec
from .truth import Truth

_HOVER = 0.10
_LIFT = 0.14
_GRASP_HEIGHT = 0.022
_RELEASE_HEIGHT = 0.03
_STEP = 0.014
_TURN = 0.15
_NEAR = 0.004
_CLOSING_STEPS = 6
_OPENING_STEPS = 4


@runtime_checkable
class Readable(Protocol):
    """What the expert needs of a benchmark."""

    def privileged(self) -> Truth:
        """Return the present truth."""


@dataclass(frozen=True)
class Privileged:
    """What the routine reads."""

    hand: np.ndarray
    yaw: float
    pads: int
    target: np.ndarray
    target_yaw: float
    goal: np.ndarray | None


def _read(truth: Truth) -> Privileged:
    arm, task = truth.arms[""], truth.task
    target = truth.items[task.target]
    return Privileged(
        arm.position,
        _heading(arm.quaternion),
        arm.touches.get(task.target, 0),
        target.position,
        _heading(target.quaternion),
        None if task.goal is None else truth.items[task.goal].position,
    )


def _heading(quaternion: np.ndarray) -> float:
    w, x, y, z = quaternion
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


@dataclass(frozen=True)
class _Plan:
    """Where the expert is in its routine, and what it expects of the hand.

    Attributes:
        phase: "above", "down", "close", "lift", "carry", "lower", "open", "leave".
        wait: Steps left in a phase that only waits.
        hand: Target of the end effector after the actions planned so far.
        yaw: Its angle about the vertical.
    """

    phase: str
    wait: int
    hand: np.ndarray
    yaw: float


class ScriptedExpert(Policy):
    """Picks and places the named block in almost every episode; privileged, an upper bound only.

    Args:
        chunk: Actions in one answer. Beyond the first they are planned on the expected motion of the hand.
        horizon: After how many of them it is asked again: its routine goes on by so many; None: after all.
    """

    def __init__(self, chunk: int = 1, horizon: int | None = None) -> None:
        self.spec = PolicySpec(
            PolicyIdentity("tabletop-expert", revision=__version__, weights_digest="none"),
            cameras=(),
            action=tabletop_spec().action,
            chunk=chunk,
            horizon=chunk if horizon is None else horizon,
            privileged=True,
        )
        self._benchmark: Readable | None = None
        self._phase = "above"
        self._wait = 0

    def bind(self, benchmark: Any) -> None:
        """Take the benchmark that is read.

        Raises:
            ContractError: it has no `privileged()`.
        """
        if not isinstance(benchmark, Readable):
            raise ContractError(
                f"the tabletop expert was bound to {type(benchmark).__name__}; it reads tabletop-v1 only"
            )
        self._benchmark = benchmark

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin the routine anew; there is no noise to seed."""
        self._phase, self._wait = "above", 0

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the next ``chunk`` actions of the routine.

        Raises:
            ContractError: `bind` was not called.
        """
        if self._benchmark is None:
            raise ContractError("the tabletop expert reads the simulator: run it as a local policy, which is bound")
        world = _read(self._benchmark.privileged())
        if self._phase in ("lift", "carry", "lower") and world.pads < 2:
            self._phase = "above"
        plan = _Plan(self._phase, self._wait, world.hand, world.yaw)
        actions: list[np.ndarray] = []
        for number in range(1, self.spec.chunk + 1):
            plan, action = _advance(world, plan)
            actions.append(action)
            if number == self.spec.horizon:
                self._phase, self._wait = plan.phase, plan.wait
        return ActionChunk(np.array(actions))


def _advance(world: Privileged, plan: _Plan) -> tuple[_Plan, np.ndarray]:
    """Return the routine after one more action, and the action."""
    if plan.wait > 0:
        plan = replace(plan, wait=plan.wait - 1)
    elif _arrived(world, plan):
        plan = _next(world, plan)
    goal = _waypoint(world, plan)
    turn = _grasp_turn(world, plan) if plan.phase in ("above", "down") else 0.0
    turn = max(-_TURN, min(_TURN, turn))
    away = goal - plan.hand
    distance = float(np.linalg.norm(away))
    move = away if distance <= _STEP else away * (_STEP / distance)
    closes = plan.phase in ("close", "lift", "carry", "lower")
    action = np.array((*(move / POSITION_SCALE), 0.0, 0.0, turn / ROTATION_SCALE, 1.0 if closes else -1.0))
    return replace(plan, hand=plan.hand + move, yaw=plan.yaw + turn), action


def _arrived(world: Privileged, plan: _Plan) -> bool:
    """Return whether the hand is where its phase wants it."""
    near = float(np.linalg.norm(_waypoint(world, plan) - plan.hand)) < _NEAR
    return near and (plan.phase != "above" or abs(_grasp_turn(world, plan)) < 0.03)


def _next(world: Privileged, plan: _Plan) -> _Plan:
    """Return the routine in the phase that follows."""
    lifted = "carry" if world.goal is not None else "lift"
    following = {
        "above": ("down", 0),
        "down": ("close", _CLOSING_STEPS),
        "close": ("lift", 0),
        "lift": (lifted, 0),
        "carry": ("lower", 0),
        "lower": ("open", _OPENING_STEPS),
        "open": ("leave", 0),
        "leave": ("leave", 0),
    }
    phase, wait = following[plan.phase]
    return replace(plan, phase=phase, wait=wait)


def _waypoint(world: Privileged, plan: _Plan) -> np.ndarray:
    """Return where the hand has to go in a phase."""
    if plan.phase in ("above", "down"):
        height = _HOVER if plan.phase == "above" else _GRASP_HEIGHT
        return np.array((world.target[0], world.target[1], height))
    if plan.phase in ("close", "open"):
        return plan.hand
    if plan.phase == "lift" or world.goal is None:
        return np.array((plan.hand[0], plan.hand[1], _LIFT + 0.02))
    height = {"carry": _LIFT, "lower": _RELEASE_HEIGHT, "leave": _LIFT}[plan.phase]
    return np.array((world.goal[0], world.goal[1], height))


def _grasp_turn(world: Privileged, plan: _Plan) -> float:
    """Return the smallest turn that puts the fingers flat on two faces: a cube looks the same every 90 degrees."""
    quarter = math.pi / 2
    return (world.target_yaw - plan.yaw + quarter / 2) % quarter - quarter / 2
