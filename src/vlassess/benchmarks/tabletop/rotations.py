"""Quaternions (wxyz) and rotation vectors (radians, world axes), without a simulator."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Quaternion = tuple[float, float, float, float]
Numbers = Sequence[float] | np.ndarray

DOWN: Quaternion = (0.0, 1.0, 0.0, 0.0)
"""An end effector's orientation when it points straight down, its fingers left and right."""


def product(a: Numbers, b: Numbers) -> Quaternion:
    """Return the Hamilton product: first ``b``, then ``a``."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotated(quaternion: Numbers, vector: Numbers) -> np.ndarray:
    """Return a vector after a rotation."""
    w, x, y, z = (float(value) for value in quaternion)
    whole = product(product((w, x, y, z), (0.0, *(float(value) for value in vector))), (w, -x, -y, -z))
    return np.array(whole[1:])


def heading(quaternion: Numbers) -> float:
    """Return the angle about the vertical that the x axis points to."""
    w, x, y, z = (float(value) for value in quaternion)
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def turn_to(quaternion: Numbers, yaw: float) -> np.ndarray:
    """Return the rotation vector that makes an end effector point straight down with this heading."""
    w, x, y, z = (float(value) for value in quaternion)
    wanted = product((math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)), DOWN)
    turn = np.array(product(wanted, (w, -x, -y, -z)))
    if turn[0] < 0:
        turn = -turn
    sine = float(np.sqrt(turn[1:] @ turn[1:]))
    return np.zeros(3) if sine < 1e-9 else turn[1:] * (2 * math.atan2(sine, float(turn[0])) / sine)


def turned(quaternion: Numbers, turn: np.ndarray) -> np.ndarray:
    """Return an orientation after a rotation vector."""
    angle = float(np.sqrt(turn @ turn))
    if angle == 0.0:
        return np.array(quaternion)
    x, y, z = (math.sin(angle / 2) / angle * float(value) for value in turn)
    return np.array(product((math.cos(angle / 2), x, y, z), quaternion))


def axis_angle(quaternion: np.ndarray) -> np.ndarray:
    """Return axis times angle, angle in [0, 2 pi]: robosuite's form, no antipodal flip."""
    w = float(np.clip(quaternion[0], -1.0, 1.0))
    sine = np.sqrt(1.0 - w * w)
    if sine < 1e-9:
        return np.zeros(3)
    return np.asarray(quaternion[1:] * (2.0 * np.arccos(w) / sine))
