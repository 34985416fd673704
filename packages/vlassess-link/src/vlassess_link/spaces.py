"""What the numbers of an action or a proprioception array mean.

A 7-vector can be a delta or an absolute pose, its rotation an axis-angle or Euler angles, its gripper
positive for open or for close: the data alone cannot tell, and getting one wrong moved published scores
by 3 to 55 points. So both sides declare a layout made of `Component`s from one closed vocabulary.
Comparing and converting layouts builds on these types: see the package `conventions`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Optional, Tuple

from vlassess_link.errors import ContractError

KINDS = ("position", "rotation", "gripper", "joints", "base", "other")
MODES = ("absolute", "delta")
FRAMES = ("world", "base", "end_effector", "camera", "joint", "unknown")
ROTATIONS = (
    "axis_angle_pi",  # axis times angle, angle in [0, pi]
    "axis_angle_2pi",  # axis times angle, angle in [0, 2 pi]: robosuite's, no antipodal flip
    "quaternion_wxyz",
    "quaternion_xyzw",
    "euler_xyz",  # intrinsic (about the moving axes), radians unless `unit` says otherwise
    "euler_xyz_fixed",  # about the fixed axes: roll, pitch, yaw
    "rot6d_interleaved",  # rows of the first two matrix columns
    "rot6d_contiguous",  # first column, then second column
    "matrix",  # 9 numbers, row by row
)
GRIPPERS = ("positive_closes", "positive_opens")
UNITS = ("meter", "radian", "degree", "normalized", "unknown")
SENSELESS = (("position", "radian"), ("position", "degree"), ("rotation", "meter"))
"""(kind, unit) that mean nothing together."""


def require_one_of(name: str, value: Optional[str], allowed: Tuple[str, ...]) -> None:
    """Raise `ContractError` when ``value`` is neither None nor one of ``allowed``."""
    if value is not None and value not in allowed:
        raise ContractError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")


@dataclass(frozen=True)
class Component:
    """A run of neighbouring numbers in a 1-D array that share one meaning.

    Attributes:
        name: Unique within its layout, for people ("left_gripper").
        kind: One of `KINDS`.
        size: How many numbers, at least 1.
        mode: One of `MODES`; None where the notion does not apply.
        frame: One of `FRAMES`.
        rotation: One of `ROTATIONS`; only for kind "rotation".
        gripper: Sign, one of `GRIPPERS`; only for kind "gripper".
        binary: Gripper only: two values are meant, split at `threshold`.
        threshold: Where a binary gripper splits; a number that is exactly there opens wherever a conversion splits it.
        unit: One of `UNITS`.
        low: Least legal value of each number, None for no bound.
        high: Greatest legal value of each number, None for no bound.
        scale: What 1.0 stands for in meters or radians where `unit` is "normalized".
        source: Where a proprioception value comes from in the simulator or robot.
    """

    name: str
    kind: str
    size: int
    mode: Optional[str] = None
    frame: str = "unknown"
    rotation: Optional[str] = None
    gripper: Optional[str] = None
    binary: bool = False
    threshold: Optional[float] = None
    unit: str = "unknown"
    low: Optional[float] = None
    high: Optional[float] = None
    scale: Optional[float] = None
    source: Optional[str] = None

    def __post_init__(self) -> None:
        require_one_of("kind", self.kind, KINDS)
        require_one_of("mode", self.mode, MODES)
        require_one_of("frame", self.frame, FRAMES)
        require_one_of("rotation", self.rotation, ROTATIONS)
        require_one_of("gripper", self.gripper, GRIPPERS)
        require_one_of("unit", self.unit, UNITS)
        if self.size < 1:
            raise ContractError(f"component {self.name!r} has size {self.size}; it must be at least 1")
        if self.rotation is not None and self.kind != "rotation":
            raise ContractError(f"component {self.name!r} of kind {self.kind!r} cannot have a rotation form")
        if self.gripper is not None and self.kind != "gripper":
            raise ContractError(f"component {self.name!r} of kind {self.kind!r} cannot have a gripper sign")
        if (self.kind, self.unit) in SENSELESS:
            raise ContractError(f"component {self.name!r} of kind {self.kind!r} cannot be in {self.unit}s")
        self._check_numbers()

    def _check_numbers(self) -> None:
        for field in ("threshold", "low", "high", "scale"):
            value = getattr(self, field)
            if value is not None and not math.isfinite(value):
                raise ContractError(f"component {self.name!r}: {field} is {value}; it must be finite, or None")
        if self.scale is not None and self.scale <= 0:
            raise ContractError(f"component {self.name!r}: scale is {self.scale}; it must be above 0")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ContractError(f"component {self.name!r}: low is {self.low}; it must be below high ({self.high})")


@dataclass(frozen=True)
class Layout:
    """The whole of a 1-D array, component after component.

    A layout of no component is a declaration too: a policy that reads no state, or whose actions mean nothing in
    particular, as a baseline's.

    Attributes:
        components: In order; names are unique.
        clip: Actions only: values outside the bounds are legal; they are clipped and counted. Without it they are an
            error of the policy.
    """

    components: Tuple[Component, ...]
    clip: bool = False

    def __post_init__(self) -> None:
        names = [component.name for component in self.components]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ContractError(f"the layout names {repeated[0]!r} twice; component names must be unique")

    @property
    def size(self) -> int:
        """Length of the array."""
        return sum(component.size for component in self.components)


def end_effector_delta(prefix: str = "", position_scale: float = 0.05, rotation_scale: float = 0.5) -> Layout:
    """Return LIBERO's 7-D action: delta position, delta axis-angle, gripper (-1 opens, +1 closes).

    Args:
        prefix: Put before each component's name ("left_").
        position_scale: Meters that 1.0 of a position component stands for.
        rotation_scale: Radians that 1.0 of a rotation component stands for.
    """
    shared = Component(prefix + "position", "position", 3, "delta", "base", unit="normalized", low=-1.0, high=1.0)
    rotation = replace(shared, name=prefix + "rotation", kind="rotation", rotation="axis_angle_pi")
    gripper = replace(
        shared, name=prefix + "gripper", kind="gripper", size=1, mode="absolute", gripper="positive_closes"
    )
    return Layout(
        (
            replace(shared, scale=position_scale),
            replace(rotation, scale=rotation_scale),
            replace(gripper, binary=True, threshold=0.0),
        )
    )
