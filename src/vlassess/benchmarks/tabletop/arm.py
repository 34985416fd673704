"""From end-effector commands to joint targets: damped least squares on a private copy of the kinematics."""

from __future__ import annotations

import mujoco
import numpy as np

from .mjcf import FINGER_TRAVEL
from .rotations import DOWN
from .scene import Arm

JOINTS = ("j1", "j2", "j3", "j4", "j5", "j6")
FINGERS = ("left_finger", "right_finger")

_ITERATIONS = 6
_DAMPING = 1e-4
_GOOD_ENOUGH = 1e-5
_REACHED = 2e-3


class ArmController:
    """Keeps one arm's target pose, integrates deltas into it and solves for joint targets.

    The target never leaves what the arm can reach: where joint limits leave a rest, the pose that the
    joint targets give becomes the target, so that no command winds up out of sight.

    Attributes:
        position: Target of the end effector, world frame, meters.
        quaternion: Its wxyz orientation.
        joints: Joint targets that go with it.
        closed: Whether the fingers are told to close.
    """

    def __init__(self, model: mujoco.MjModel, arm: Arm) -> None:
        prefix = arm.prefix
        self._model = model
        self._ghost = mujoco.MjData(model)
        self._site = model.site(prefix + "eef").id
        self._qpos = np.array([int(model.joint(prefix + name).qposadr[0]) for name in JOINTS])
        self._dofs = np.array([int(model.joint(prefix + name).dofadr[0]) for name in JOINTS])
        ranges = np.array([model.joint(prefix + name).range for name in JOINTS])
        self._low, self._high = ranges[:, 0], ranges[:, 1]
        self._workspace = np.array(arm.workspace.low), np.array(arm.workspace.high)
        self._home = np.array(arm.home)
        self._jacobian = np.zeros((6, model.nv))
        self.position = np.zeros(3)
        self.quaternion = np.array(DOWN)
        self.joints = np.zeros(len(JOINTS))
        self.closed = False

    def go_home(self) -> np.ndarray:
        """Put the target at home, pointing down, fingers open; return the joint targets."""
        self.position = self._home.copy()
        self.quaternion = np.array(DOWN)
        self.joints = np.array((0.0, 0.0, 0.5, -0.5, 0.0, 0.0))
        self.closed = False
        for _ in range(8):
            self._solve()
        return self.joints

    def command(self, delta: np.ndarray, rotation: np.ndarray, gripper: float) -> np.ndarray:
        """Move the target and return the new joint targets.

        Args:
            delta: Meters, world axes.
            rotation: Axis-angle in radians, world axes, applied after the present orientation.
            gripper: Above 0 closes, below 0 opens, 0 leaves it.
        """
        self.position = np.clip(self.position + delta, *self._workspace)
        turn = np.zeros(4)
        angle = float(np.sqrt(rotation @ rotation))
        if angle > 0:
            mujoco.mju_axisAngle2Quat(turn, rotation / angle, angle)
            turned = np.zeros(4)
            mujoco.mju_mulQuat(turned, turn, self.quaternion)
            mujoco.mju_normalize4(turned)
            self.quaternion = turned
        if gripper != 0:
            self.closed = gripper > 0
        error = self._solve()
        if error > _REACHED:
            self.position = self._ghost.site_xpos[self._site].copy()
            mujoco.mju_mat2Quat(self.quaternion, self._ghost.site_xmat[self._site])
        return self.joints

    @property
    def finger_target(self) -> float:
        """How far each finger is told to be from the middle, meters."""
        return 0.0 if self.closed else FINGER_TRAVEL

    def _solve(self) -> float:
        """Bring `joints` to the target pose within joint limits; return the error that is left."""
        joints = self.joints.copy()
        error = self._error(joints)
        for _ in range(_ITERATIONS):
            if float(error @ error) < _GOOD_ENOUGH**2:
                break
            joints = np.clip(joints + self._correction(error), self._low, self._high)
            error = self._error(joints)
        self.joints = joints
        return float(np.sqrt(error @ error))

    def _error(self, joints: np.ndarray) -> np.ndarray:
        """Return target minus pose at ``joints``: meters, then a rotation vector in radians."""
        self._ghost.qpos[self._qpos] = joints
        mujoco.mj_kinematics(self._model, self._ghost)
        error = np.zeros(6)
        error[:3] = self.position - self._ghost.site_xpos[self._site]
        present, back, turn = np.zeros(4), np.zeros(4), np.zeros(4)
        mujoco.mju_mat2Quat(present, self._ghost.site_xmat[self._site])
        mujoco.mju_negQuat(back, present)
        mujoco.mju_mulQuat(turn, self.quaternion, back)
        mujoco.mju_quat2Vel(error[3:], turn, 1.0)
        return error

    def _correction(self, error: np.ndarray) -> np.ndarray:
        """Return J^T (J J^T + damping I)^-1 error, with MuJoCo's own solver: no BLAS, same bits everywhere."""
        mujoco.mj_comPos(self._model, self._ghost)
        mujoco.mj_jacSite(self._model, self._ghost, self._jacobian[:3], self._jacobian[3:], self._site)
        jacobian = np.ascontiguousarray(self._jacobian[:, self._dofs])
        square, solved, step = np.zeros((6, 6)), np.zeros(6), np.zeros(len(JOINTS))
        mujoco.mju_mulMatMatT(square, jacobian, jacobian)
        square[np.diag_indices(6)] += _DAMPING
        mujoco.mju_cholFactor(square, 1e-12)
        mujoco.mju_cholSolve(solved, square, error)
        mujoco.mju_mulMatTVec(step, jacobian, solved)
        return step
