"""Picks and places by waypoints: a person's program for a hand that is told where to go, 5 cm at most in a step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .geometry import Grasp, Scene, body_grasps, hand_room, rim_grasps

GAIN = 2.5
REACH = 0.05
"""Meters that 1.0 of a position component stands for."""
TURN = 0.5
"""Radians that 1.0 of a rotation component stands for."""
DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""Rotation of the site between the fingertips when the hand points down and its fingers close along y."""
OPEN, CLOSED = -1.0, 1.0
CLOSING = 13
"""Control steps until the fingers meet."""
HOVER = 0.10
CARRY = 0.12
GAP = 0.05
"""Meters that the lowest point of what is carried stays above its target's highest."""
RAISE, HIGHEST = 0.05, 1.5
WAY_GAP = 0.02
WAY = np.linspace(0.2, 1.0, 9)
"""Where along a straight way it is looked whether something is in it, in shares of its length."""
LIFTED = 0.03
HOLLOW = ("bowl", "ramekin", "mug")
ATTEMPTS = 4


@dataclass(frozen=True)
class Move:
    """Where the hand goes next.

    Attributes:
        point: In the world, in meters.
        yaw: About the world's z, in radians.
        gripper: `OPEN` or `CLOSED`.
        within: Distance in meters at which it is there.
        steps: Control steps after which the next move begins all the same.
        hold: Control steps that it takes at least.
        fastest: Greatest size of a position component of the action.
    """

    point: np.ndarray
    yaw: float
    gripper: float
    within: float = 0.01
    steps: int = 60
    hold: int = 0
    fastest: float = 1.0


def action_towards(scene: Scene, move: Move) -> np.ndarray:
    """Return the 7 numbers that bring the hand nearer."""
    position, rotation = scene.hand
    step = np.clip(GAIN * (move.point - position) / REACH, -move.fastest, move.fastest)
    cosine, sine = math.cos(move.yaw), math.sin(move.yaw)
    wanted = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]]) @ DOWN
    turn = np.clip(axis_angle(wanted @ rotation.T) / TURN, -1.0, 1.0)
    return np.concatenate((step, turn, [move.gripper]))


def axis_angle(rotation: np.ndarray) -> np.ndarray:
    """Return axis times angle, angle in [0, pi), of a rotation matrix that is no half turn."""
    angle = math.acos(float(np.clip((np.trace(rotation) - 1) / 2, -1.0, 1.0)))
    if angle < 1e-9:
        return np.zeros(3)
    axis = np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    return np.asarray(axis * angle / (2 * math.sin(angle)))


def pick_and_place(scene: Scene, thing: str, target: str, inside: bool) -> Iterator[Move]:
    """Yield the moves that put a thing onto a target, or into it; begun anew where the thing slips."""
    for attempt in range(ATTEMPTS):
        yield from _approach(scene, thing, _grasp(scene, thing, (target, inside), attempt))
        # Seen anew from near: things may have slid meanwhile.
        grasp = _grasp(scene, thing, (target, inside), attempt)
        before = scene.position(thing)[2]
        yield from _take(scene, grasp, thing, target)
        if scene.position(thing)[2] < before + LIFTED:
            continue
        yield from _put(scene, grasp, thing, target, inside)


def _grasp(scene: Scene, thing: str, place: tuple[str, bool], attempt: int) -> Grasp:
    """Return a grasp whose hand has room where the thing is and, if there is such a one, where it is put."""
    grasps = rim_grasps(scene, thing) if any(word in thing for word in HOLLOW) else body_grasps(scene, thing)
    position, goal = scene.position(thing), scene.position(place[0])
    way = np.array([*(goal - position)[:2], _rest(scene, *place) - scene.bottom(thing)])
    grasps.sort(key=lambda grasp: hand_room(scene, Grasp(grasp.point + way, grasp.yaw), thing) < WAY_GAP)
    return grasps[attempt % len(grasps)]


def _rest(scene: Scene, target: str, inside: bool) -> float:
    """Return the height at which the lowest point of a thing is let go."""
    return (scene.top(scene.parent(target)) if inside else float(scene.position(target)[2])) + 0.005


def _safe(scene: Scene, target: str) -> float:
    return scene.top(scene.parent(target)) if scene.parent(target) in scene.env.obj_body_id else 0.0


def _approach(scene: Scene, thing: str, grasp: Grasp) -> Iterator[Move]:
    above = grasp.point + np.array([0.0, 0.0, HOVER])
    hand = scene.hand[0]
    height = max(hand[2], above[2])
    while _blocked(scene, thing, grasp.yaw, np.array([*hand[:2], height]), np.array([*above[:2], height])):
        height += RAISE
        if height > HIGHEST:
            break
    if height > hand[2]:
        yield Move(np.array([hand[0], hand[1], height]), 0.0, OPEN, 0.03)
    if _blocked(scene, thing, grasp.yaw, hand, above):
        yield Move(np.array([*above[:2], height]), grasp.yaw, OPEN, 0.02)
    yield Move(above, grasp.yaw, OPEN, 0.015)


def _rise(scene: Scene, thing: str, yaw: float, over: np.ndarray) -> np.ndarray:
    """Return how far up a held thing must go to be carried to a place without meeting what stands between."""
    hand = scene.hand[0]
    foot = scene.foot(thing) - hand
    for rise in np.arange(0.0, HIGHEST - hand[2], RAISE):
        up = np.array([0.0, 0.0, rise])
        way = [hand + up + share * (over - hand) for share in WAY]
        nearest = min(scene.clearance(place + corner, (thing,)) for place in way for corner in foot)
        if nearest >= WAY_GAP and not _blocked(scene, thing, yaw, hand + up, over + up):
            return up
    return np.zeros(3)


def _blocked(scene: Scene, thing: str, yaw: float, begin: np.ndarray, end: np.ndarray) -> bool:
    """Whether something is in the hand's straight way, its fingertips or its broad part."""
    for share in WAY:
        place = begin + share * (end - begin)
        if min(scene.clearance(place, (thing,)), hand_room(scene, Grasp(place, yaw), thing)) < WAY_GAP:
            return True
    return False


def _take(scene: Scene, grasp: Grasp, thing: str, target: str) -> Iterator[Move]:
    yield Move(grasp.point + np.array([0.0, 0.0, HOVER]), grasp.yaw, OPEN, 0.015)
    yield Move(grasp.point, grasp.yaw, OPEN, 0.006, 30, fastest=0.6)
    yield Move(grasp.point, grasp.yaw, CLOSED, hold=CLOSING)
    below = grasp.point[2] - scene.bottom(thing)
    height = max(grasp.point[2] + CARRY, _safe(scene, target) + below + GAP)
    yield Move(np.array([*grasp.point[:2], height]), grasp.yaw, CLOSED, 0.015)


def _put(scene: Scene, grasp: Grasp, thing: str, target: str, inside: bool) -> Iterator[Move]:
    offset = scene.position(thing) - scene.hand[0]
    goal = scene.position(target)
    hand = scene.hand[0]
    over = np.array([goal[0] - offset[0], goal[1] - offset[1], hand[2]])
    rise = _rise(scene, thing, grasp.yaw, over)
    if rise[2] > 0.0:
        yield Move(hand + rise, grasp.yaw, CLOSED, 0.02)
    yield Move(over + rise, grasp.yaw, CLOSED, 0.01)
    offset = scene.position(thing) - scene.hand[0]
    below = scene.hand[0][2] - scene.bottom(thing)
    down = np.array([goal[0] - offset[0], goal[1] - offset[1], _rest(scene, target, inside) + below])
    yield Move(down, grasp.yaw, CLOSED, 0.004, 40, fastest=0.5)
    yield Move(down, grasp.yaw, OPEN, hold=6)
    yield Move(down + np.array([0.0, 0.0, HOVER]), grasp.yaw, OPEN, 0.02)
