"""Every pair of forms, against scipy's rotations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vlassess_link.conventions import rotations
from vlassess_link.spaces import ROTATIONS

POSES = 10_000
PAIRS = list(itertools.permutations(rotations.SIZES, 2))


def scipy_form(turns: Rotation, form: str) -> np.ndarray:
    """The rotations in one form, of the quaternions with w >= 0 where a form tells the sign."""
    quaternion = turns.as_quat(canonical=True)
    matrix = turns.as_matrix()
    known: dict[str, np.ndarray] = {
        "axis_angle_pi": turns.as_rotvec(),
        "axis_angle_2pi": turns.as_rotvec(),
        "quaternion_xyzw": quaternion,
        "quaternion_wxyz": quaternion[:, (3, 0, 1, 2)],
        "matrix": matrix.reshape(-1, 9),
        "rot6d_interleaved": np.stack((matrix[:, :, 0], matrix[:, :, 1]), axis=-1).reshape(-1, 6),
        "rot6d_contiguous": np.concatenate((matrix[:, :, 0], matrix[:, :, 1]), axis=-1),
    }
    if form in known:
        return known[form]
    return np.asarray(turns.as_euler("XYZ" if form == "euler_xyz" else "xyz"))


@pytest.fixture(scope="module")
def poses() -> Rotation:
    return Rotation.random(POSES, random_state=np.random.default_rng(0))


def test_the_vocabulary_is_that_of_the_spaces() -> None:
    assert tuple(rotations.SIZES) == ROTATIONS


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_conversion_is_scipys_and_comes_back(source: str, target: str, poses: Rotation) -> None:
    given = scipy_form(poses, source)
    made = rotations.convert(given, source, target)
    np.testing.assert_allclose(made, scipy_form(poses, target), rtol=0, atol=1e-9)
    np.testing.assert_allclose(rotations.convert(made, target, source), given, rtol=0, atol=1e-9)


def near_singularities() -> Rotation:
    """Rotations by about 0 and about pi, and at about the gimbal lock of both Euler forms."""
    rng = np.random.default_rng(1)
    axes = rng.standard_normal((200, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    tiny = 10.0 ** rng.uniform(-16, -6, 200)
    turns = [axes * tiny[:, None], axes * (np.pi - tiny[:, None]), np.zeros((1, 3))]
    angles = rng.uniform(-np.pi, np.pi, (200, 3))
    angles[:, 1] = np.where(np.arange(200) % 2, 1.0, -1.0) * (np.pi / 2 - tiny)
    locked = [Rotation.from_euler(order, angles).as_rotvec() for order in ("XYZ", "xyz")]
    exact = Rotation.from_euler("XYZ", [[0.3, np.pi / 2, 0.2], [0.3, -np.pi / 2, 0.2]]).as_rotvec()
    return Rotation.from_rotvec(np.concatenate((*turns, *locked, exact)))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_near_singularities_the_rotation_comes_back(source: str, target: str) -> None:
    turns = near_singularities()
    quaternion = turns.as_quat()
    given = rotations.convert(quaternion, "quaternion_xyzw", source)
    back = rotations.convert(rotations.convert(given, source, target), target, source)
    matrix = rotations.convert(back, source, "matrix")
    np.testing.assert_allclose(matrix, turns.as_matrix().reshape(-1, 9), rtol=0, atol=1e-6)


def test_a_negative_w_gives_an_angle_above_pi_in_one_form_and_below_in_the_other() -> None:
    """The mismatch that cost a published model 14 and 40 points: robosuite's form does not flip, the other does."""
    rng = np.random.default_rng(2)
    quaternion = rng.standard_normal((1000, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    quaternion[:, 0] = -np.abs(quaternion[:, 0])
    whole = rotations.convert(quaternion, "quaternion_wxyz", "axis_angle_2pi")
    flipped = rotations.convert(quaternion, "quaternion_wxyz", "axis_angle_pi")
    angles, short = np.linalg.norm(whole, axis=1), np.linalg.norm(flipped, axis=1)
    assert (angles > np.pi).all()
    assert (short < np.pi).all()
    np.testing.assert_allclose(angles + short, 2 * np.pi, atol=1e-9)
    np.testing.assert_allclose(rotations.same_rotation(whole, flipped, "axis_angle_2pi"), 0.0, atol=1e-7)
    np.testing.assert_allclose(rotations.convert(whole, "axis_angle_2pi", "quaternion_wxyz"), quaternion, atol=1e-9)
    np.testing.assert_allclose(rotations.convert(whole, "axis_angle_2pi", "axis_angle_pi"), flipped, atol=1e-9)


def robosuite_quat2axisangle(quat: np.ndarray) -> np.ndarray:
    """The published formula: theta = 2 acos(w), axis = v / sqrt(1 - w^2)."""
    w = min(1.0, max(-1.0, float(quat[3])))
    sine = np.sqrt(1.0 - w * w)
    return np.zeros(3) if sine == 0.0 else np.asarray(quat[:3] * 2.0 * np.arccos(w) / sine)


def test_the_form_without_a_flip_is_robosuites() -> None:
    rng = np.random.default_rng(3)
    quaternion = rng.standard_normal((500, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    expected = np.array([robosuite_quat2axisangle(one) for one in quaternion])
    np.testing.assert_allclose(rotations.convert(quaternion, "quaternion_xyzw", "axis_angle_2pi"), expected, atol=1e-9)


NO_ROTATIONS = {
    "quaternion of zeros": (np.zeros(4), "quaternion_wxyz"),
    "parallel columns": (np.array([1.0, 0, 0, 2, 0, 0]), "rot6d_contiguous"),
    "parallel but for rounding": (np.array([0.1, 0.2, 0.3, 0.7, 1.4, 2.1]), "rot6d_contiguous"),
    "zeros": (np.zeros(9), "matrix"),
    "mirrored": (np.diag((1.0, 1.0, -1.0)).ravel(), "matrix"),
    "scaled": (0.05 * np.eye(3).ravel(), "matrix"),
    "squeezed": (np.diag((1.0, 1.0, 0.3)).ravel(), "matrix"),
    "not finite": (np.full(9, np.inf), "matrix"),
    "not a number": (np.full(6, np.nan), "rot6d_interleaved"),
}


@pytest.mark.parametrize("case", NO_ROTATIONS)
def test_no_rotation_is_not_a_number(case: str) -> None:
    numbers, form = NO_ROTATIONS[case]
    for target in rotations.SIZES:
        if target != form:
            assert np.isnan(rotations.convert(numbers, form, target)).all()


def test_one_that_is_none_spoils_no_other() -> None:
    both = np.stack((np.full(9, np.nan), np.eye(3).ravel()))
    made = rotations.convert(both, "matrix", "quaternion_wxyz")
    assert np.isnan(made[0]).all()
    np.testing.assert_array_equal(made[1], [1, 0, 0, 0])


@pytest.mark.parametrize("noise", [1e-9, 1e-3, 0.1])
def test_a_matrix_that_is_almost_a_rotation_is_brought_to_the_nearest_as_scipy_does(
    noise: float, poses: Rotation
) -> None:
    rough = poses.as_matrix() + noise * np.random.default_rng(4).uniform(-1, 1, (POSES, 3, 3))
    made = rotations.convert(rough.reshape(-1, 9), "matrix", "quaternion_xyzw")
    expected = Rotation.from_matrix(rough)
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-12)
    apart = (Rotation.from_quat(made) * expected.inv()).magnitude()
    assert float(apart.max()) < 1e-7
    matrix = Rotation.from_quat(made).as_matrix()
    for axis in np.eye(3):  # no small turn of the result is nearer
        other = (Rotation.from_rotvec(1e-3 * axis) * Rotation.from_quat(made)).as_matrix()
        assert (np.linalg.norm(rough - matrix, axis=(1, 2)) <= np.linalg.norm(rough - other, axis=(1, 2)) + 1e-9).all()


def test_a_single_pose_and_a_chunk_have_their_shapes() -> None:
    assert rotations.convert(np.zeros(3), "axis_angle_pi", "matrix").shape == (9,)
    assert rotations.convert(np.zeros((2, 5, 3)), "euler_xyz", "quaternion_wxyz").shape == (2, 5, 4)
