"""What the benchmark declares: pure values, no simulator."""

from __future__ import annotations

from dataclasses import replace

from vlassess_link import BenchmarkSpec, TaskSpec
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.specs import CameraSpec

from .levels import declared_axes
from .scene import base_scene
from .tasks import TASKS

SIZES = ((128, 128), (224, 224))
POSITION_SCALE = 0.05
ROTATION_SCALE = 0.5
IDS = {"single": "tabletop", "bimanual": "tabletop-bimanual"}
"""Embodiment -> the benchmark's id: what is measured with two arms is another benchmark."""


def prefixes(embodiment: str) -> tuple[str, ...]:
    """Return the prefixes of an embodiment's arms, in the order of their parts of an action."""
    return tuple(arm.prefix for arm in base_scene(embodiment).arms)


def action_layout(embodiment: str) -> Layout:
    """Return the layout of one action: LIBERO's seven numbers an arm, arm after arm."""
    parts = [end_effector_delta(prefix, POSITION_SCALE, ROTATION_SCALE) for prefix in prefixes(embodiment)]
    return Layout(tuple(component for part in parts for component in part.components), clip=True)


def state_layout(embodiment: str) -> Layout:
    """Return the layout of the proprioception vector: LIBERO's eight numbers an arm, arm after arm."""
    return Layout(tuple(part for prefix in prefixes(embodiment) for part in _arm_state(prefix)))


def tabletop_spec(embodiment: str = "single") -> BenchmarkSpec:
    """Return an embodiment's whole spec."""
    action = action_layout(embodiment)
    return BenchmarkSpec(
        id=IDS[embodiment],
        version="1",
        tasks=tuple(
            TaskSpec(task.suite, task.name, task.step_limit, task.instruction, (), task.expected_steps)
            for task in TASKS.values()
        ),
        action=action,
        cameras=tuple(CameraSpec(camera.name, SIZES) for camera in base_scene(embodiment).cameras),
        state=state_layout(embodiment),
        control_rate_hz=20.0,
        settling_steps=25,
        axes=declared_axes(base_scene(embodiment).cameras),
        hold_action=(0.0,) * action.size,
        licence="Apache-2.0",
    )


def _arm_state(prefix: str) -> tuple[Component, ...]:
    position = Component(
        prefix + "eef_position", "position", 3, "absolute", "base", unit="meter", source="site between the pads"
    )
    rotation = replace(
        position,
        name=prefix + "eef_rotation",
        kind="rotation",
        rotation="axis_angle_2pi",
        unit="radian",
        source="same site; of the two quaternions the one whose x is not negative; down is (pi, 0, 0)",
    )
    fingers = Component(
        prefix + "gripper_qpos",
        "joints",
        2,
        "absolute",
        "joint",
        unit="meter",
        low=-0.04,
        high=0.04,
        source="finger joints: left in [0, 0.04], right in [-0.04, 0], 0 is closed",
    )
    return position, rotation, fingers
