"""Every form of a rotation that `spaces.ROTATIONS` names, into every other, exactly.

All go through a unit quaternion (w, x, y, z), which keeps what two forms have beyond the rotation itself: the sign
of a quaternion, and with it whether an axis-angle vector is longer than pi. The other forms do not know that sign;
where it has to be made up, w >= 0 is taken. Values are arrays (..., size); angles are in radians.

Models give numbers that are almost a rotation, so each form with more numbers than it needs is brought to the
rotation that it means: a quaternion to the length 1, six numbers by Gram and Schmidt (Zhou et al. 2019), a matrix to
the nearest rotation in the Frobenius norm (by its singular values, as scipy does; Levinson et al. 2020). What means
none becomes NaN: see `convert`.
"""

from __future__ import annotations

from typing import Callable, Dict, Mapping

import numpy as np

SIZES: Mapping[str, int] = {
    "axis_angle_pi": 3,
    "axis_angle_2pi": 3,
    "quaternion_wxyz": 4,
    "quaternion_xyzw": 4,
    "euler_xyz": 3,
    "euler_xyz_fixed": 3,
    "rot6d_interleaved": 6,
    "rot6d_contiguous": 6,
    "matrix": 9,
}
"""Form -> how many numbers it has."""

ANGULAR = ("axis_angle_pi", "axis_angle_2pi", "euler_xyz", "euler_xyz_fixed")
"""Forms whose numbers are angles, and so have a unit."""

SIGNED = ("axis_angle_2pi", "quaternion_wxyz", "quaternion_xyzw")
"""Forms that tell a quaternion from its negative, which is the same rotation."""

PARALLEL = 1e-9
"""Sine of the angle between two columns below which their plane is rounding alone."""

MATRIX_SLACK = 0.5
"""How far a singular value of a matrix may be from 1: beyond, it is scaled or squeezed, and no rotation was meant."""


def convert(values: np.ndarray, source: str, target: str) -> np.ndarray:
    """Return the same rotations in another form: (..., size) float64.

    What is no rotation becomes NaN: a quaternion of zeros, six numbers of two parallel columns, a matrix that mirrors
    or is further from a rotation than `MATRIX_SLACK`, anything that is not finite.

    Args:
        values: (..., size of ``source``), angles in radians.
        source: One of `SIZES`.
        target: One of `SIZES`.
    """
    given = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return FROM_QUATERNION[target](TO_QUATERNION[source](given))


def same_rotation(first: np.ndarray, second: np.ndarray, form: str) -> np.ndarray:
    """Return the angle between rotations of one form, (...) radians in [0, pi]."""
    with np.errstate(invalid="ignore", divide="ignore"):
        one = TO_QUATERNION[form](np.asarray(first, np.float64))
        two = TO_QUATERNION[form](np.asarray(second, np.float64))
        apart = _multiplied(_conjugate(one), two)
    angle: np.ndarray = 2.0 * np.arctan2(np.linalg.norm(apart[..., 1:], axis=-1), np.abs(apart[..., 0]))
    return angle


def _conjugate(quaternion: np.ndarray) -> np.ndarray:
    conjugate: np.ndarray = quaternion * np.array((1.0, -1.0, -1.0, -1.0))
    return conjugate


def _multiplied(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    w = one[..., :1] * two[..., :1] - np.sum(one[..., 1:] * two[..., 1:], axis=-1, keepdims=True)
    v = one[..., :1] * two[..., 1:] + two[..., :1] * one[..., 1:] + np.cross(one[..., 1:], two[..., 1:])
    return np.concatenate((w, v), axis=-1)


def _unit(vector: np.ndarray) -> np.ndarray:
    unit: np.ndarray = vector / np.linalg.norm(vector, axis=-1, keepdims=True)
    return unit


def _upper(quaternion: np.ndarray) -> np.ndarray:
    """Return of each quaternion and its negative the one with w >= 0."""
    return np.where(quaternion[..., :1] < 0.0, -quaternion, quaternion)


def _of_axis_angle(vector: np.ndarray) -> np.ndarray:
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    # sin(angle / 2) / angle, also at 0.
    return np.concatenate((np.cos(angle / 2), 0.5 * np.sinc(angle / (2 * np.pi)) * vector), axis=-1)


def _to_axis_angle_2pi(quaternion: np.ndarray) -> np.ndarray:
    sine = np.linalg.norm(quaternion[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, quaternion[..., :1])
    # No axis is left at the angles 0 and 2 pi: zeros, as robosuite has it.
    share = np.divide(angle, sine, out=np.zeros_like(sine), where=sine != 0.0)
    vector: np.ndarray = share * quaternion[..., 1:]
    return np.where(np.isnan(sine), np.nan, vector)


def _to_axis_angle_pi(quaternion: np.ndarray) -> np.ndarray:
    return _to_axis_angle_2pi(_upper(quaternion))


def _of_matrix_rows(numbers: np.ndarray) -> np.ndarray:
    return _of_matrix(_nearest_rotation(numbers.reshape(*numbers.shape[:-1], 3, 3)))


def _nearest_rotation(m: np.ndarray) -> np.ndarray:
    """Return the rotations nearest to some matrices, (..., 3, 3); NaN where none is near."""
    finite = np.isfinite(m).all(axis=(-2, -1), keepdims=True)
    left, values, right = np.linalg.svd(np.where(finite, m, 0.0))
    nearest = left @ right
    near = (np.abs(values - 1.0) <= MATRIX_SLACK).all(axis=-1) & (np.linalg.det(nearest) > 0.0)
    return np.where(near[..., None, None], nearest, np.nan)


def _of_matrix(m: np.ndarray) -> np.ndarray:
    """Return unit quaternions, w >= 0: Shepperd's method, which divides by the largest of the four."""
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    squares = np.stack((trace, m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]), axis=-1)
    largest = np.argmax(squares, axis=-1)
    xy, xz, yz = (m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    wx, wy, wz = (m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    candidates = np.stack(
        (
            np.stack((1 + trace, wx, wy, wz), axis=-1),
            np.stack((wx, 1 + xx - yy - zz, xy, xz), axis=-1),
            np.stack((wy, xy, 1 - xx + yy - zz, yz), axis=-1),
            np.stack((wz, xz, yz, 1 - xx - yy + zz), axis=-1),
        ),
        axis=-2,
    )
    chosen = np.take_along_axis(candidates, largest[..., None, None], axis=-2)[..., 0, :]
    return _upper(_unit(chosen))


def _to_matrix(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = (quaternion[..., i] for i in range(4))
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _to_matrix_rows(quaternion: np.ndarray) -> np.ndarray:
    return _to_matrix(quaternion).reshape(*quaternion.shape[:-1], 9)


def _of_columns(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Make a rotation of two columns by Gram and Schmidt, as Zhou et al. (2019) define the 6-D form."""
    one = _unit(first)
    rest = second - np.sum(one * second, axis=-1, keepdims=True) * one
    length = np.linalg.norm(second, axis=-1, keepdims=True)
    parallel = np.linalg.norm(rest, axis=-1, keepdims=True) <= PARALLEL * length
    two = _unit(np.where(parallel, np.nan, rest))
    return _of_matrix(np.stack((one, two, np.cross(one, two)), axis=-1))


def _of_rot6d_interleaved(numbers: np.ndarray) -> np.ndarray:
    return _of_columns(numbers[..., 0::2], numbers[..., 1::2])


def _to_rot6d_interleaved(quaternion: np.ndarray) -> np.ndarray:
    return _to_matrix(quaternion)[..., :, :2].reshape(*quaternion.shape[:-1], 6)


def _of_rot6d_contiguous(numbers: np.ndarray) -> np.ndarray:
    return _of_columns(numbers[..., :3], numbers[..., 3:])


def _to_rot6d_contiguous(quaternion: np.ndarray) -> np.ndarray:
    matrix = _to_matrix(quaternion)
    return np.concatenate((matrix[..., :, 0], matrix[..., :, 1]), axis=-1)


def _of_euler(angles: np.ndarray) -> np.ndarray:
    """Turn about x, then about the new y, then about the new z."""
    return _upper(_multiplied(_multiplied(_about(angles, 0), _about(angles, 1)), _about(angles, 2)))


def _of_euler_fixed(angles: np.ndarray) -> np.ndarray:
    """Turn about x, then about the fixed y, then about the fixed z: roll, pitch, yaw."""
    return _upper(_multiplied(_multiplied(_about(angles, 2), _about(angles, 1)), _about(angles, 0)))


def _about(angles: np.ndarray, axis: int) -> np.ndarray:
    vector = np.zeros_like(angles)
    vector[..., axis] = angles[..., axis]
    return _of_axis_angle(vector)


def _to_euler(quaternion: np.ndarray) -> np.ndarray:
    return _angles(_to_matrix(quaternion))


def _to_euler_fixed(quaternion: np.ndarray) -> np.ndarray:
    # The fixed axes' angles are those of the inverse about the moving ones, with other signs.
    return -_angles(np.swapaxes(_to_matrix(quaternion), -1, -2))


def _angles(m: np.ndarray) -> np.ndarray:
    """Return intrinsic x, y, z angles; at gimbal lock, where only a sum is known, the last one is 0."""
    level = np.hypot(m[..., 0, 0], m[..., 0, 1])
    locked = level < 1e-7
    x = np.where(locked, np.arctan2(m[..., 2, 1], m[..., 1, 1]), np.arctan2(-m[..., 1, 2], m[..., 2, 2]))
    y = np.arctan2(m[..., 0, 2], level)
    z = np.where(locked, 0.0, np.arctan2(-m[..., 0, 1], m[..., 0, 0]))
    return np.stack((x, y, z), axis=-1)


Function = Callable[[np.ndarray], np.ndarray]

TO_QUATERNION: Dict[str, Function] = {
    "axis_angle_pi": lambda numbers: _upper(_of_axis_angle(numbers)),
    "axis_angle_2pi": _of_axis_angle,
    "quaternion_wxyz": _unit,
    "quaternion_xyzw": lambda numbers: _unit(numbers[..., (3, 0, 1, 2)]),
    "euler_xyz": _of_euler,
    "euler_xyz_fixed": _of_euler_fixed,
    "rot6d_interleaved": _of_rot6d_interleaved,
    "rot6d_contiguous": _of_rot6d_contiguous,
    "matrix": _of_matrix_rows,
}

FROM_QUATERNION: Dict[str, Function] = {
    "axis_angle_pi": _to_axis_angle_pi,
    "axis_angle_2pi": _to_axis_angle_2pi,
    "quaternion_wxyz": lambda quaternion: quaternion,
    "quaternion_xyzw": lambda quaternion: quaternion[..., (1, 2, 3, 0)],
    "euler_xyz": _to_euler,
    "euler_xyz_fixed": _to_euler_fixed,
    "rot6d_interleaved": _to_rot6d_interleaved,
    "rot6d_contiguous": _to_rot6d_contiguous,
    "matrix": _to_matrix_rows,
}
