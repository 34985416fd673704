"""Everyday objects that stand for answers: ten kinds that can be told apart whatever their colour.

All are made of primitives and can be taken from above by a parallel gripper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from .scene import Colour, Geom, Grasp, Item, Vector
from .shapes import CATEGORIES, DARK, DISTRACTORS, MASS, PALE, Shape

_FOOTPRINT = 0.045
_BROWN: Colour = (0.55, 0.36, 0.20, 1.0)
_FLAME: Colour = (0.98, 0.62, 0.10, 1.0)
_BY = {shape.words: shape for shape in DISTRACTORS}


def _seen(shape: str, size: tuple[float, ...], colour: Colour, position: Vector) -> Geom:
    return Geom(shape, size, colour, position, mass=1e-5, solid=False)


def _die(colour: Colour) -> tuple[Geom, ...]:
    half, spot = 0.021, 0.0042
    pips = [(x, y) for x in (-0.011, 0.011) for y in (-0.011, 0.011)] + [(0.0, 0.0)]
    top = tuple(_seen("cylinder", (spot, 0.0005), DARK, (x, y, half)) for x, y in pips)
    front = (_seen("box", (0.0005, spot, spot), DARK, (half, 0.0, 0.0)),)
    return (Geom("box", (half, half, half), colour, mass=MASS), *top, *front)


def _bottle(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("cylinder", (0.020, 0.022), colour, (0.0, 0.0, -0.012), mass=0.9 * MASS),
        Geom("cylinder", (0.008, 0.012), colour, (0.0, 0.0, 0.022), mass=0.1 * MASS),
        _seen("cylinder", (0.0095, 0.004), DARK, (0.0, 0.0, 0.034)),
        _seen("cylinder", (0.0204, 0.008), PALE, (0.0, 0.0, -0.012)),
    )


def _book(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("box", (0.038, 0.026, 0.009), colour, mass=MASS),
        _seen("box", (0.0385, 0.0245, 0.0065), PALE, (0.0015, 0.0015, 0.0)),
        _seen("box", (0.020, 0.003, 0.0003), PALE, (0.0, 0.008, 0.009)),
        _seen("box", (0.014, 0.002, 0.0003), PALE, (0.0, -0.004, 0.009)),
    )


def _candle(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("cylinder", (0.024, 0.004), DARK, (0.0, 0.0, -0.026), mass=0.6 * MASS),
        Geom("cylinder", (0.012, 0.024), colour, (0.0, 0.0, 0.002), mass=0.4 * MASS),
        _seen("ellipsoid", (0.005, 0.005, 0.010), _FLAME, (0.0, 0.0, 0.034)),
    )


def _brush(colour: Colour) -> tuple[Geom, ...]:
    return (
        Geom("box", (0.040, 0.011, 0.008), _BROWN, (0.0, 0.0, 0.006), mass=0.7 * MASS),
        Geom("box", (0.022, 0.014, 0.010), PALE, (0.018, 0.0, -0.008), mass=0.2 * MASS),
        Geom("box", (0.006, 0.012, 0.010), colour, (-0.034, 0.0, -0.008), mass=0.1 * MASS),
        _seen("box", (0.041, 0.0115, 0.002), colour, (0.0, 0.0, 0.013)),
    )


def _of(words: str, geoms: Callable[[Colour], tuple[Geom, ...]], height: float, grasp: Grasp) -> Shape:
    return Shape(words, geoms, height, grasp)


_AROUND = Grasp(period=0.0)
THINGS: Mapping[str, Shape] = {
    "toy_car": CATEGORIES["toy_car"],
    "card": Shape("playing card", CATEGORIES["card"].geoms, 0.006, CATEGORIES["card"].grasp),
    "shoe": CATEGORIES["shoe"],
    "mug": CATEGORIES["mug"],
    "can": Shape("can", _BY["can"].geoms, 0.024, _AROUND),
    "die": _of("die", _die, 0.021, Grasp(period=math.pi / 2)),
    "bottle": _of("bottle", _bottle, 0.034, Grasp((0.0, 0.0, -0.008), period=0.0)),
    "book": _of("book", _book, 0.009, Grasp((0.0, 0.0, 0.010), period=math.pi)),
    "candle": _of("candle", _candle, 0.030, Grasp((0.0, 0.0, 0.002), period=0.0)),
    "brush": _of("brush", _brush, 0.018, Grasp((0.0, 0.0, 0.004), period=math.pi)),
}
"""Name -> what it is and how it is taken."""


def thing(name: str, colour: Colour) -> Item:
    """Return one everyday object; KeyError where there is none of this name."""
    shape = THINGS[name]
    return Item(name, shape.geoms(colour), shape.height, _FOOTPRINT, grasp=shape.grasp)
