"""Things that policies were not trained on: other shapes in place of a block, and what merely stands around.

All are made of primitives, and a parallel gripper can take them from above. A shape fits into the circle that a
block has on the table, so that it can stand where the block would have stood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .scene import Colour, Geom, Grasp, Item, Vector

DARK: Colour = (0.13, 0.13, 0.15, 1.0)
PALE: Colour = (0.94, 0.93, 0.90, 1.0)
MASS = 0.05
"""Kilograms of a shape, as of a block."""

_BLOCK_GRASP = Grasp()
_SIDEWAYS = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
_ALONG = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)


@dataclass(frozen=True)
class Shape:
    """A kind of object, without name and colour.

    Attributes:
        words: What it is called.
        geoms: Colour -> what it is made of, in its frame, z up.
        height: z of its frame when it stands on the table.
        grasp: How it is taken.
        top: z of its flat top in its frame, None without one.
    """

    words: str
    geoms: Callable[[Colour], tuple[Geom, ...]]
    height: float
    grasp: Grasp = _BLOCK_GRASP
    top: float | None = None

    def instead_of(self, item: Item, colour: Colour) -> Item:
        """Return this shape in the place of an item: same name, same place on the table."""
        return replace(
            item,
            geoms=self.geoms(colour),
            rest_height=self.height,
            grasp=self.grasp,
            top=self.top,
            target_radius=item.target_radius if self.top is not None else 0.0,
        )


def _shown(shape: str, size: tuple[float, ...], colour: Colour, position: Vector) -> Geom:
    """Return a geom that is only seen; its weight is nothing."""
    return Geom(shape, size, colour, position, mass=1e-5, solid=False)


def _cylinder(colour: Colour) -> tuple[Geom, ...]:
    return (Geom("cylinder", (0.022, 0.026), colour, mass=MASS),)


def _l_piece(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("box", (0.033, 0.013, 0.018), colour, (0.0, -0.010, 0.0), mass=0.6 * MASS),
        Geom("box", (0.013, 0.017, 0.018), colour, (0.020, 0.019, 0.0), mass=0.4 * MASS),
    )


def _mug(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("cylinder", (0.025, 0.027), colour, mass=0.9 * MASS),
        _shown("cylinder", (0.020, 0.0005), DARK, (0.0, 0.0, 0.0272)),
        Geom("box", (0.008, 0.004, 0.004), colour, (0.032, 0.0, 0.014), mass=0.03 * MASS),
        Geom("box", (0.008, 0.004, 0.004), colour, (0.032, 0.0, -0.012), mass=0.03 * MASS),
        Geom("box", (0.004, 0.004, 0.017), colour, (0.040, 0.0, 0.001), mass=0.04 * MASS),
    )


def _toy_car(colour: Colour) -> tuple[Geom, ...]:
    wheels = tuple(
        Geom("cylinder", (0.010, 0.004), DARK, (x, y, -0.010), _SIDEWAYS, mass=1e-5, solid=False)
        for x in (-0.022, 0.022)
        for y in (-0.019, 0.019)
    )
    return (
        Geom("box", (0.039, 0.019, 0.009), colour, (0.0, 0.0, -0.001), mass=0.6 * MASS),
        Geom("box", (0.019, 0.016, 0.008), colour, (-0.005, 0.0, 0.016), mass=0.1 * MASS),
        Geom("box", (0.030, 0.012, 0.005), DARK, (0.0, 0.0, -0.015), mass=0.3 * MASS),
        _shown("box", (0.0195, 0.0165, 0.005), PALE, (-0.005, 0.0, 0.016)),
        *wheels,
    )


def _card(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("box", (0.038, 0.026, 0.006), colour, mass=MASS),
        _shown("box", (0.032, 0.020, 0.0004), PALE, (0.0, 0.0, 0.006)),
        _shown("box", (0.012, 0.012, 0.0004), colour, (0.0, 0.0, 0.0065)),
    )


def _shoe(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("box", (0.042, 0.017, 0.005), PALE, (0.0, 0.0, -0.015), mass=0.4 * MASS),
        Geom("box", (0.020, 0.015, 0.016), colour, (-0.020, 0.0, 0.006), mass=0.4 * MASS),
        Geom("capsule", (0.013, 0.022), colour, (0.012, 0.0, -0.004), _ALONG, mass=0.2 * MASS),
        _shown("box", (0.015, 0.010, 0.0005), DARK, (-0.021, 0.0, 0.022)),
    )


CATEGORIES: Mapping[str, Shape] = {
    "cylinder": Shape("cylinder", _cylinder, 0.026, Grasp(period=0.0), top=0.026),
    "l_piece": Shape("L-shaped piece", _l_piece, 0.018, Grasp((-0.012, -0.010, 0.0), period=math.pi)),
    "mug": Shape("mug", _mug, 0.027, Grasp(period=math.pi)),
    "card": Shape("card", _card, 0.006, Grasp((0.0, 0.0, 0.010), period=math.pi), top=0.006),
    "toy_car": Shape("toy car", _toy_car, 0.020, Grasp(period=math.pi)),
    "shoe": Shape("shoe", _shoe, 0.020, Grasp((-0.020, 0.0, 0.0), period=math.pi)),
}
"""Unseen categories, from those that are most like a block to those that are least."""


def _box(*half: float) -> Callable[[Colour], tuple[Geom, ...]]:
    return lambda colour: (Geom("box", half, colour, mass=MASS),)


def _cross(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("box", (0.028, 0.009, 0.010), colour, mass=MASS / 2),
        Geom("box", (0.009, 0.028, 0.010), colour, mass=MASS / 2),
    )


def _stairs(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("box", (0.024, 0.016, 0.010), colour, (0.0, 0.0, -0.010), mass=0.7 * MASS),
        Geom("box", (0.012, 0.016, 0.010), colour, (-0.012, 0.0, 0.010), mass=0.3 * MASS),
    )


def _pin(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("box", (0.016, 0.016, 0.005), DARK, (0.0, 0.0, -0.023), mass=0.8 * MASS),
        Geom("cylinder", (0.009, 0.023), colour, (0.0, 0.0, 0.005), mass=0.2 * MASS),
    )


def _can(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("cylinder", (0.021, 0.024), colour, mass=MASS),
        _shown("cylinder", (0.017, 0.0005), PALE, (0.0, 0.0, 0.0242)),
    )


DISTRACTORS: tuple[Shape, ...] = (
    Shape("bar", _box(0.032, 0.010, 0.010), 0.010),
    Shape("can", _can, 0.024),
    Shape("tower", _box(0.013, 0.013, 0.028), 0.028),
    Shape("cross", _cross, 0.010),
    Shape("book", _box(0.028, 0.020, 0.007), 0.007),
    Shape("stairs", _stairs, 0.020),
    Shape("pin", _pin, 0.028),
    Shape("brick", _box(0.024, 0.014, 0.012), 0.012),
)
"""What stands around and is never asked for; each fits into `DISTRACTOR_RADIUS`, and under the gripper's palm."""

DISTRACTOR_RADIUS = 0.036


def distractor(number: int, kind: int, colour: Colour) -> Item:
    """Return one distractor, named for its place among them.

    Args:
        number: From 1.
        kind: Which of `DISTRACTORS`.
        colour: Of its main part.
    """
    shape = DISTRACTORS[kind]
    return Item(distractor_name(number), shape.geoms(colour), shape.height, DISTRACTOR_RADIUS)


def distractor_name(number: int) -> str:
    """Return the name of a distractor's component of the initial state."""
    return f"distractor_{number}"


def sized(item: Item, share: float) -> Item:
    """Return a block of another size: lengths times ``share``, mass with its volume."""
    geoms = tuple(
        replace(geom, size=tuple(share * length for length in geom.size), mass=geom.mass * share**3)
        for geom in item.geoms
    )
    return replace(
        item,
        geoms=geoms,
        rest_height=share * item.rest_height,
        target_radius=share * item.target_radius,
        top=None if item.top is None else share * item.top,
    )


def painted(item: Item, colour: Colour | None = None, pattern: str = "") -> Item:
    """Return an item in another colour (None: its own), with a pattern on it."""
    geoms = tuple(replace(geom, colour=colour or geom.colour, pattern=pattern) for geom in item.geoms)
    return replace(item, geoms=geoms)
