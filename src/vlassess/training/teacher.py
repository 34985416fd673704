"""What a scripted teacher would do next in a state, for every task at once.

The benchmark's own expert remembers which part of its routine it is in. A policy that sees one moment cannot, so
it is taught by a function of the state alone: the same state always has the same label, also in states that only a
half-trained policy gets into. All tasks are labelled in one go, since one picture with nine instructions teaches
to read them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STEP = 0.014
"""Farthest move of one action, meters."""

TURN = 0.15
"""Farthest turn of one action, radians."""

GRIPPER = 4
"""Column of the gripper in a label; before it x, y, z in meters and the turn about the vertical in radians."""

_HOVER, _CARRY, _LIFTED = 0.078, 0.118, 0.15
_DROP = 0.008
_SLOPE = 4.0
_CLOSE_WITHIN, _STAY_CLOSED_WITHIN, _OPEN_WITHIN = 0.009, 0.015, 0.012
_ALIGNED = 0.25
_CLOSING, _CLOSING_ON, _OPENING = 5, 3, 3


@dataclass(frozen=True)
class Scene:
    """A state, as far as a teacher looks at it; n is the number of tasks.

    Attributes:
        hand: Where the end effector is told to be, (3,) meters.
        yaw: Its angle about the vertical, radians.
        closed: Whether the fingers are told to close.
        grips: Where the hand takes each task's target, (n, 3).
        yaws: At which angle, (n,).
        periods: After which turn it is taken as well, (n,); 0 where any angle will do.
        pads: How many pads touch the target, (n,).
        goals: Where the hand is when the target rests in the goal, (n, 3); NaN where there is none.
        radii: How near to that it counts as in the goal, horizontally, (n,).
        possible: Whether the task's things are there, (n,); where not, its label means nothing.
    """

    hand: np.ndarray
    yaw: float
    closed: bool
    grips: np.ndarray
    yaws: np.ndarray
    periods: np.ndarray
    pads: np.ndarray
    goals: np.ndarray
    radii: np.ndarray
    possible: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """Whether each task's target is in the closed gripper, (n,)."""
        held: np.ndarray = (self.pads == 2) & self.closed
        return held


def label(scene: Scene, length: int) -> np.ndarray:
    """Return the next ``length`` actions of every task, (n, length, 5): x, y, z, turn, gripper (1 closes, -1 opens).

    Moves are planned on the expected motion: the hand goes where it is told, what was held long enough follows,
    what was let go stays.
    """
    plan = _Plan(scene)
    return np.stack([plan.advance() for _ in range(length)], axis=1)


class _Plan:
    """The expected course of every task from one state."""

    def __init__(self, scene: Scene) -> None:
        count = len(scene.grips)
        self._scene = scene
        self._hand = np.tile(scene.hand, (count, 1))
        self._yaw = np.full(count, scene.yaw)
        self._grip = scene.grips.copy()
        self._has_goal = np.isfinite(scene.goals[:, 0])
        self._held = scene.held
        self._closed = np.full(count, scene.closed)
        self._touched = (scene.pads > 0) & ~self._held
        self._wait = np.full(count, _CLOSING_ON if scene.closed else _CLOSING)

    def advance(self) -> np.ndarray:
        """Return the next action of every task, (n, 5), and expect its outcome."""
        closing, releasing, placed = self._closing(), self._releasing(), self._placed()
        still = closing | releasing | (placed & self._touched)
        move = np.where(still[:, None], 0.0, self._move(placed))
        turn = np.where(self._held | still | placed, 0.0, np.clip(self._misaligned(), -TURN, TURN))
        closes = closing | (self._held & ~releasing)
        self._expect(move, turn, closing, releasing)
        self._closed = closes
        return np.column_stack((move, turn, np.where(closes, 1.0, -1.0)))

    def _away(self, place: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(self._hand[:, :2] - place[:, :2], axis=1))

    def _misaligned(self) -> np.ndarray:
        """Return the smallest turn after which the fingers lie flat on the target."""
        period = np.where(self._scene.periods > 0, self._scene.periods, 1.0)
        turn = (self._scene.yaws - self._yaw + period / 2) % period - period / 2
        return np.where(self._scene.periods > 0, turn, 0.0)

    def _closing(self) -> np.ndarray:
        within = np.where(self._closed, _STAY_CLOSED_WITHIN, _CLOSE_WITHIN)
        # The pads' ends are 1.1 cm below the hand: what lies flat has to be met more closely.
        share = np.clip((self._grip[:, 2] - 0.011) / _CLOSE_WITHIN, 0.3, 1.0)
        low = np.abs(self._hand[:, 2] - self._grip[:, 2]) < within * share
        aligned = np.abs(self._misaligned()) < np.where(self._closed, 2 * _ALIGNED, _ALIGNED)
        return np.asarray(~self._held & ~self._placed() & (self._away(self._grip) < within) & low & aligned)

    def _releasing(self) -> np.ndarray:
        over = self._away(self._scene.goals) < _OPEN_WITHIN
        low = self._hand[:, 2] < self._scene.goals[:, 2] + _DROP + 0.006
        return np.asarray(self._held & self._has_goal & over & low)

    def _placed(self) -> np.ndarray:
        away = self._grip - self._scene.goals
        inside = np.linalg.norm(away[:, :2], axis=1) < 0.75 * self._scene.radii
        return np.asarray(~self._held & self._has_goal & inside & (np.abs(away[:, 2]) < 0.02))

    def _move(self, placed: np.ndarray) -> np.ndarray:
        """Return the move towards where the hand should be: over its place, lower the nearer it is."""
        carrying = self._held & self._has_goal
        place = np.where(carrying[:, None], self._scene.goals, self._grip)
        low = place[:, 2] + np.where(carrying, _DROP, 0.0)
        top = place[:, 2] + np.where(carrying, _CARRY, _HOVER)
        funnel = low + _SLOPE * (self._away(place) - 0.008)
        # While it still has to turn it comes no lower. Open fingers go round a block, so it need not rise either.
        turning = low + 0.3 * (np.abs(self._misaligned()) * ~self._held - _ALIGNED)
        height = np.clip(np.maximum(funnel, np.minimum(turning, self._hand[:, 2])), low, top)
        upwards = (self._held & ~self._has_goal) | placed
        height = np.where(upwards, self._grip[:, 2] + _LIFTED, height)
        missing = np.column_stack((place[:, :2], height)) - self._hand
        # What is too low first rises, or it would push over what stands in its way.
        sideways = np.clip(1.0 - (height - self._hand[:, 2] - 0.02) / 0.02, 0.0, 1.0) * ~upwards
        missing[:, :2] *= sideways[:, None]
        distance = np.linalg.norm(missing, axis=1)
        return np.asarray(missing * np.minimum(1.0, STEP / np.maximum(distance, 1e-9))[:, None])

    def _expect(self, move: np.ndarray, turn: np.ndarray, closing: np.ndarray, releasing: np.ndarray) -> None:
        self._hand = self._hand + move
        self._yaw = self._yaw + turn
        self._grip = self._grip + np.where(self._held[:, None], move, 0.0)
        self._wait = np.where(closing | releasing, self._wait - 1, self._wait)
        done = (closing | releasing) & (self._wait <= 0)
        self._held = (self._held | (closing & done)) & ~(releasing & done)
        self._wait = np.where(done | (self._held & ~releasing), _OPENING, self._wait)
        self._touched = self._touched & closing
