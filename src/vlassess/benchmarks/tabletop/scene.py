"""What stands in the scene, as data.

Everything that can be seen or touched is an `Item`, a `Camera` or an `Arm`; `base_scene` returns those of
an embodiment. New colours, shapes, cameras or arms are new values here: `mjcf.py` turns any `Scene` into a
model and knows none of them by name.

World frame: origin on the table's surface, at the foot of the single arm or in the middle between two; x
away from the arms, y to their left, z up. Meters, kilograms, radians.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from vlassess_link.errors import ContractError

from .rotations import Quaternion, product

Vector = tuple[float, float, float]
Colour = tuple[float, float, float, float]

UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)
OBJECT_FRICTION: Vector = (1.0, 0.01, 0.0001)


@dataclass(frozen=True)
class Geom:
    """One primitive of an item.

    Attributes:
        shape: "box", "cylinder", "sphere", "capsule" or "ellipsoid".
        size: As MuJoCo counts it for the shape: half lengths, radius first.
        colour: RGBA in [0, 1].
        position: In the item's frame.
        quaternion: In the item's frame, wxyz.
        mass: Kilograms; above 0 also where the item never moves, or older MuJoCo refuses it.
        solid: Whether it touches anything.
        pattern: Name of a pattern of `textures.PATTERNS` that darkens its colour in places; empty: plain.
    """

    shape: str
    size: tuple[float, ...]
    colour: Colour
    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Quaternion = UPRIGHT
    mass: float = 0.01
    solid: bool = True
    pattern: str = ""


@dataclass(frozen=True)
class Grasp:
    """How a parallel gripper takes an item from above, in the item's frame.

    Attributes:
        point: Where the middle between the pads goes.
        yaw: Angle of the hand about the item's z; at 0 the fingers stand at either side along y.
        period: After a turn by so much the item is grasped as well: pi / 2 for a cube, pi for a bar, 0 where any angle
            will do.
    """

    point: Vector = (0.0, 0.0, 0.0)
    yaw: float = 0.0
    period: float = math.pi / 2


@dataclass(frozen=True)
class Item:
    """One thing on the table, in its own frame: z up.

    Attributes:
        name: Unique; names its component of the initial state.
        geoms: What it is made of.
        rest_height: z of its frame when it stands on the table.
        footprint: Radius of the circle on the table that it needs for itself.
        free: It can be moved; else it stays where reset() puts it.
        target_radius: Goals only: an object is "in" it when its centre is this near, horizontally.
        grasp: How it is taken, for experts.
        top: z of its flat top in its frame, where another item can rest; None: it has none.
    """

    name: str
    geoms: tuple[Geom, ...]
    rest_height: float
    footprint: float
    free: bool = True
    target_radius: float = 0.0
    grasp: Grasp = Grasp()
    top: float | None = None


@dataclass(frozen=True)
class Camera:
    """One camera, looking from ``position`` to ``target`` with ``up`` upwards in the picture.

    Attributes:
        name: As specs name it.
        position: In the frame of what it is mounted on.
        target: Point that it looks at, same frame.
        up: Direction that is upwards in the picture, same frame.
        fovy: Vertical field of view in degrees.
        arm: Prefix of the arm whose hand carries it; None: it stands in the world.
    """

    name: str
    position: Vector
    target: Vector
    up: Vector
    fovy: float
    arm: str | None = None


@dataclass(frozen=True)
class Workspace:
    """Box that end-effector targets are clipped to; its floor keeps the fingertips off the table."""

    low: Vector = (0.20, -0.34, 0.015)
    high: Vector = (0.64, 0.34, 0.42)


@dataclass(frozen=True)
class Arm:
    """One arm with a parallel gripper.

    Attributes:
        prefix: Put before the names of its joints ("left_"); empty for a single arm.
        base: Where its foot stands.
        home: Where its end effector starts, pointing down.
        workspace: Where its end effector may be sent.
    """

    prefix: str = ""
    base: Vector = (0.0, 0.0, 0.0)
    home: Vector = (0.40, 0.0, 0.22)
    workspace: Workspace = Workspace()


@dataclass(frozen=True)
class Light:
    """One directional light of some strength and colour. None casts shadows: they cost more than everything else."""

    direction: Vector
    diffuse: float
    colour: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Glow:
    """Light from everywhere, and from where the camera is, RGB."""

    ambient: Vector = (0.34, 0.34, 0.34)
    camera: Vector = (0.14, 0.14, 0.14)


@dataclass(frozen=True)
class Room:
    """Colours, patterns and extent of what never moves.

    Attributes:
        table_centre: Middle of the table's top.
        table_half: Its half lengths.
        table, wall, floor: Colours.
        table_pattern: Of `textures.PATTERNS`; empty: plain.
        backdrop: What hangs before the wall, in the world frame; it is seen only.
    """

    table_centre: Vector = (0.38, 0.0, 0.0)
    table_half: tuple[float, float] = (0.50, 0.60)
    table: Colour = (0.72, 0.60, 0.46, 1.0)
    wall: Colour = (0.60, 0.67, 0.74, 1.0)
    floor: Colour = (0.36, 0.37, 0.40, 1.0)
    table_pattern: str = ""
    backdrop: tuple[Geom, ...] = ()


@dataclass(frozen=True)
class Region:
    """Rectangle of the table that item centres are drawn from."""

    low: tuple[float, float]
    high: tuple[float, float]


@dataclass(frozen=True)
class Scene:
    """A whole scene.

    Attributes:
        arms: At least one.
        items: Names are unique.
        cameras: In the order of the benchmark's spec.
        lights: Directional.
        room: Table, wall, floor.
        region: Where items may stand.
        glow: Light without a direction.
    """

    arms: tuple[Arm, ...]
    items: tuple[Item, ...]
    cameras: tuple[Camera, ...]
    lights: tuple[Light, ...]
    room: Room = field(default_factory=Room)
    region: Region = Region((0.29, -0.24), (0.56, 0.24))
    glow: Glow = Glow()

    def item(self, name: str) -> Item:
        """Return the item of this name; KeyError when there is none."""
        for item in self.items:
            if item.name == name:
                return item
        raise KeyError(name)


def block(name: str, colour: Colour, half: float = 0.023, mass: float = 0.05) -> Item:
    """Return a cube with edge ``2 * half``; it carries another block whose centre is over it."""
    return Item(
        name,
        (Geom("box", (half, half, half), colour, mass=mass),),
        rest_height=half,
        footprint=0.05,
        target_radius=half,
        top=half,
    )


def bowl(name: str, colour: Colour, radius: float = 0.068, height: float = 0.035, segments: int = 12) -> Item:
    """Return a bowl: a disc and a ring of upright slats that lean outwards."""
    thickness, lean = 0.004, 0.35
    slats = []
    for k in range(segments):
        angle = 2 * math.pi * k / segments
        middle = radius + 0.5 * height * math.sin(lean)
        width = (radius + height * math.sin(lean)) * math.tan(math.pi / segments) + 0.001
        turn = (math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2))
        tilt = (math.cos(lean / 2), 0.0, math.sin(lean / 2), 0.0)
        place = (middle * math.cos(angle), middle * math.sin(angle), 0.5 * height * math.cos(lean))
        slats.append(Geom("box", (thickness / 2, width, height / 2), colour, place, product(turn, tilt)))
    floor = Geom("cylinder", (radius + 0.002, 0.002), colour, (0.0, 0.0, 0.002))
    return Item(name, (floor, *slats), rest_height=0.0, footprint=0.10, free=False, target_radius=radius)


def zone(name: str, colour: Colour, half: float = 0.06) -> Item:
    """Return a square painted on the table: seen, never touched."""
    paint = Geom("box", (half, half, 0.0005), colour, solid=False)
    return Item(name, (paint,), rest_height=0.0005, footprint=0.085, free=False, target_radius=half)


_ITEMS = (
    block("red_block", (0.80, 0.13, 0.12, 1.0)),
    block("green_block", (0.13, 0.58, 0.22, 1.0)),
    block("blue_block", (0.12, 0.28, 0.78, 1.0)),
    bowl("bowl", (0.93, 0.91, 0.86, 1.0)),
    zone("zone", (0.47, 0.47, 0.48, 1.0)),
)
_AGENT = Camera("agent", (1.12, 0.0, 0.62), (0.40, 0.0, 0.125), (0.0, 0.0, 1.0), 40.0)
_LIGHTS = (Light((-0.4, 0.3, -1.0), 0.42), Light((-0.3, -0.6, -0.6), 0.20))


def _wrist(prefix: str) -> Camera:
    return Camera(f"{prefix}wrist", (0.085, 0.0, -0.045), (0.018, 0.0, -0.16), (1.0, 0.0, 0.0), 80.0, arm=prefix)


SCENE = Scene(arms=(Arm(),), items=_ITEMS, cameras=(_AGENT, _wrist("")), lights=_LIGHTS)
"""The scene of ``tabletop-v1``."""

_TWO_ARMS = (
    Arm("left_", base=(0.0, 0.20, 0.0), home=(0.30, 0.20, 0.30)),
    Arm("right_", base=(0.0, -0.20, 0.0), home=(0.30, -0.20, 0.30)),
)
_BIMANUAL = replace(SCENE, arms=_TWO_ARMS, cameras=(_AGENT, *(_wrist(arm.prefix) for arm in _TWO_ARMS)))
_EMBODIMENTS = {"single": SCENE, "bimanual": _BIMANUAL}


def base_scene(embodiment: str, suite: str = "") -> Scene:
    """Return the unvaried scene of an embodiment: one and the same for every suite so far.

    Raises:
        ContractError: there is no such embodiment.
    """
    if embodiment not in _EMBODIMENTS:
        raise ContractError(f"embodiment is {embodiment!r}; it must be one of {', '.join(_EMBODIMENTS)}")
    return _EMBODIMENTS[embodiment]
