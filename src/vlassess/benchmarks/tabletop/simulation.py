"""One compiled scene: put items in their places, advance it, read it by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from vlassess_link.errors import BenchmarkFault

from .arm import FINGERS, JOINTS, ArmController
from .layout import Spot
from .mjcf import scene_mjcf
from .scene import Arm, Scene

SUBSTEPS = 25
"""Simulator steps in one control step."""

SETTLING_STEPS = 25
"""Simulator steps that `Simulation.start` runs, so that every contact carries its load."""

_BROKEN = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)


@dataclass(frozen=True)
class _Slots:
    """Where one free item or arm keeps its numbers."""

    qpos: np.ndarray
    qvel: np.ndarray


@dataclass(frozen=True)
class _ArmSlots:
    """Where one arm keeps its numbers."""

    joints: _Slots
    controls: np.ndarray
    finger_controls: np.ndarray
    site: int
    pads: tuple[int, int]


class Simulation:
    """A compiled scene with its state.

    Compiled once; `start` puts everything back, whatever ran before, so that equal starts give equal bits.

    Attributes:
        model: MuJoCo's compiled model.
        data: MuJoCo's state.
        scene: What was compiled.
        arms: Prefix -> controller.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.model = mujoco.MjModel.from_xml_string(scene_mjcf(scene))
        self.data = mujoco.MjData(self.model)
        self.arms = {arm.prefix: ArmController(self.model, arm) for arm in scene.arms}
        self._arm_slots = {arm.prefix: self._find_arm(arm) for arm in scene.arms}
        self._free = {item.name: self._find_free(item.name) for item in scene.items if item.free}
        self._moving = {**self._free, **{prefix + "arm": slots.joints for prefix, slots in self._arm_slots.items()}}
        self._bodies = {item.name: int(self.model.body(item.name).id) for item in scene.items}
        self._item_of = {body: name for name, body in self._bodies.items()}

    def start(self, spots: Mapping[str, Spot], settled: Mapping[str, np.ndarray] | None = None) -> None:
        """Put every item on its spot and every arm at home, then settle.

        Args:
            spots: Item -> where it stands.
            settled: Arm or item -> its part of `state` from elsewhere, which it gets in the end.
        """
        mujoco.mj_resetData(self.model, self.data)
        for prefix, controller in self.arms.items():
            joints, opening = controller.go_home(), controller.finger_target
            self.data.qpos[self._arm_slots[prefix].joints.qpos] = (*joints, opening, -opening)
            self._drive(prefix, joints)
        for item in self.scene.items:
            spot = spots[item.name]
            pose = (spot.x, spot.y, item.rest_height, np.cos(spot.yaw / 2), 0.0, 0.0, np.sin(spot.yaw / 2))
            if item.free:
                self.data.qpos[self._free[item.name].qpos] = pose
            else:
                mocap = int(self.model.body_mocapid[self._bodies[item.name]])
                self.data.mocap_pos[mocap], self.data.mocap_quat[mocap] = pose[:3], pose[3:]
        mujoco.mj_step(self.model, self.data, SETTLING_STEPS)
        for name, values in (settled or {}).items():
            if name in self._moving:
                slots = self._moving[name]
                self.data.qpos[slots.qpos], self.data.qvel[slots.qvel] = np.split(values, [slots.qpos.size])
        self._refresh()

    def advance(self, commands: Mapping[str, tuple[np.ndarray, np.ndarray, float]]) -> None:
        """Run one control step; joint targets move evenly from the last ones to the new ones.

        Args:
            commands: Arm prefix -> arguments of `ArmController.command`.

        Raises:
            BenchmarkFault: the simulation blew up.
        """
        before = {prefix: self.arms[prefix].joints.copy() for prefix in commands}
        after = {prefix: self.arms[prefix].command(*command) for prefix, command in commands.items()}
        for k in range(1, SUBSTEPS + 1):
            for prefix in commands:
                self._drive(prefix, before[prefix] + (after[prefix] - before[prefix]) * (k / SUBSTEPS))
            mujoco.mj_step(self.model, self.data)
        if any(self.data.warning[int(kind)].number for kind in _BROKEN):
            raise BenchmarkFault(f"the simulation became unstable at {self.data.time:.3f} s; report the episode's seed")
        self._refresh()

    def state(self) -> dict[str, np.ndarray]:
        """Return the full state by component.

        An arm: positions and velocities of its joints and fingers. A free item: position, wxyz
        quaternion, linear and angular velocity. A fixed item: position and quaternion.
        """
        state = {}
        for prefix, slots in self._arm_slots.items():
            state[prefix + "arm"] = self._values(slots.joints)
        for item in self.scene.items:
            if item.free:
                state[item.name] = self._values(self._free[item.name])
            else:
                body = self._bodies[item.name]
                state[item.name] = np.concatenate((self.data.xpos[body], self.data.xquat[body]))
        return state

    def position(self, item: str) -> np.ndarray:
        """Return an item's position, (3,) meters, world frame."""
        return np.array(self.data.xpos[self._bodies[item]])

    def quaternion(self, item: str) -> np.ndarray:
        """Return an item's orientation, wxyz."""
        return np.array(self.data.xquat[self._bodies[item]])

    def speed(self, item: str) -> float:
        """Return an item's linear speed, meters per second; 0 for a fixed one."""
        if item not in self._free:
            return 0.0
        velocity = self.data.qvel[self._free[item].qvel[:3]]
        return float(np.sqrt(velocity @ velocity))

    def touching(self, item: str, prefix: str = "") -> int:
        """Return how many of an arm's two pads touch an item."""
        bodies = self.model.geom_bodyid[self.data.contact.geom]
        geoms = self.data.contact.geom
        mine = bodies == self._bodies[item]
        others = geoms[mine[:, ::-1]]
        return sum(bool((others == pad).any()) for pad in self._arm_slots[prefix].pads)

    def touches(self, prefix: str = "") -> dict[str, int]:
        """Return item -> how many of an arm's two pads touch it, without those that none touches."""
        pads = self._arm_slots[prefix].pads
        pairs = {(a, b) for pair in self.data.contact.geom.tolist() for a, b in (pair, pair[::-1]) if a in pads}
        met = [self._item_of.get(int(self.model.geom_bodyid[other])) for _, other in pairs]
        return {name: met.count(name) for name in met if name is not None}

    def meet(self, one: str, other: str) -> bool:
        """Return whether two items touch each other."""
        bodies = self.model.geom_bodyid[self.data.contact.geom]
        a, b = self._bodies[one], self._bodies[other]
        return bool((((bodies == a).any(axis=1)) & ((bodies == b).any(axis=1))).any())

    def end_effector(self, prefix: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Return an end effector's position (3,) and wxyz quaternion (4,), its x component not negative."""
        site = self._arm_slots[prefix].site
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, self.data.site_xmat[site])
        return self.data.site_xpos[site].copy(), quaternion if quaternion[1] >= 0 else -quaternion

    def fingers(self, prefix: str = "") -> np.ndarray:
        """Return the two finger joints, meters: left in [0, 0.04], right in [-0.04, 0]."""
        return np.array(self.data.qpos[self._arm_slots[prefix].joints.qpos[-2:]])

    def _refresh(self) -> None:
        """Bring poses up to date: after a step they still belong to the state before its last simulator step."""
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)

    def _drive(self, prefix: str, joints: np.ndarray) -> None:
        slots, opening = self._arm_slots[prefix], self.arms[prefix].finger_target
        self.data.ctrl[slots.controls] = joints
        self.data.ctrl[slots.finger_controls] = (opening, -opening)

    def _values(self, slots: _Slots) -> np.ndarray:
        return np.concatenate((self.data.qpos[slots.qpos], self.data.qvel[slots.qvel]))

    def _find_free(self, name: str) -> _Slots:
        joint = self.model.joint(name)
        return _Slots(int(joint.qposadr[0]) + np.arange(7), int(joint.dofadr[0]) + np.arange(6))

    def _find_arm(self, arm: Arm) -> _ArmSlots:
        model, p = self.model, arm.prefix
        joints = [model.joint(p + name) for name in (*JOINTS, *FINGERS)]
        left, right = (int(model.geom(f"{p}{side}_pad").id) for side in ("left", "right"))
        return _ArmSlots(
            _Slots(_ids(joint.qposadr[0] for joint in joints), _ids(joint.dofadr[0] for joint in joints)),
            _ids(model.actuator(p + name).id for name in JOINTS),
            _ids(model.actuator(p + name).id for name in FINGERS),
            int(model.site(p + "eef").id),
            (left, right),
        )


def _ids(numbers: Iterable[int]) -> np.ndarray:
    return np.array([int(number) for number in numbers])
