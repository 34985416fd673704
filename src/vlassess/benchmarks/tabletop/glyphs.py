"""Letters as strokes: a few thin dark boxes on the faces of a block, readable from the side of the agent's camera.

A stroke is a line in a square from (0, 0), below left, to (1, 1), above right. Round letters are polygons: at
the size of a block in a picture nobody sees the difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from .rotations import Quaternion, product
from .scene import Colour, Geom, Item, Vector, block

Point = tuple[float, float]

LETTERS = "ABCDEFGHIK"
"""Without J, which looks like I."""

INK: Colour = (0.02, 0.02, 0.03, 1.0)
HALF = 0.028
"""Half edge of a lettered block, meters."""

_MARGIN = 0.17
_STROKE = 0.085
"""Half width of a stroke, as a share of the square that a letter fills."""
_RAISED = 0.0004
_WIDE = 0.80
"""Width of a letter as a share of its height."""

_LINES: Mapping[str, tuple[tuple[Point, ...], ...]] = {
    "A": (((0.0, 0.0), (0.5, 1.0), (1.0, 0.0)), ((0.2, 0.36), (0.8, 0.36))),
    "B": (
        ((0.0, 0.0), (0.0, 1.0)),
        ((0.0, 1.0), (0.72, 1.0), (0.88, 0.88), (0.88, 0.64), (0.72, 0.53), (0.0, 0.53)),
        ((0.72, 0.53), (1.0, 0.40), (1.0, 0.13), (0.78, 0.0), (0.0, 0.0)),
    ),
    "C": (((1.0, 0.80), (0.76, 1.0), (0.26, 1.0), (0.0, 0.74), (0.0, 0.26), (0.26, 0.0), (0.76, 0.0), (1.0, 0.20)),),
    "D": (((0.0, 0.0), (0.0, 1.0), (0.56, 1.0), (1.0, 0.66), (1.0, 0.34), (0.56, 0.0), (0.0, 0.0)),),
    "E": (((1.0, 1.0), (0.0, 1.0), (0.0, 0.0), (1.0, 0.0)), ((0.0, 0.51), (0.76, 0.51))),
    "F": (((1.0, 1.0), (0.0, 1.0), (0.0, 0.0)), ((0.0, 0.48), (0.76, 0.48))),
    "G": (
        ((1.0, 0.80), (0.76, 1.0), (0.26, 1.0), (0.0, 0.74), (0.0, 0.26), (0.26, 0.0), (0.74, 0.0), (1.0, 0.14)),
        ((1.0, 0.0), (1.0, 0.46), (0.52, 0.46)),
    ),
    "H": (((0.0, 0.0), (0.0, 1.0)), ((1.0, 0.0), (1.0, 1.0)), ((0.0, 0.51), (1.0, 0.51))),
    "I": (((0.5, 0.0), (0.5, 1.0)), ((0.22, 0.0), (0.78, 0.0)), ((0.22, 1.0), (0.78, 1.0))),
    "K": (((0.0, 0.0), (0.0, 1.0)), ((1.0, 1.0), (0.0, 0.40)), ((0.30, 0.58), (1.0, 0.0))),
}


def strokes(letter: str) -> tuple[tuple[Point, Point], ...]:
    """Return the straight strokes of a letter; KeyError for one that is not in `LETTERS`."""
    return tuple((a, b) for line in _LINES[letter] for a, b in pairwise(line))


def lettered(letter: str, colour: Colour, half: float = HALF) -> Item:
    """Return a block, named like its letter, that shows it on its top and on its four sides."""
    plain = block(letter, colour, half)
    side = tuple(geom for k in range(4) for geom in _face(letter, half, _upright(k)))
    top = _face(letter, half, _TOP)
    return Item(
        letter,
        (*plain.geoms, *top, *side),
        rest_height=half,
        footprint=half * math.sqrt(2.0),
        top=half,
    )


# A face's frame: x along the letter's right, y along its up, z outwards. On top the letter stands upright for whoever
# looks from the far side of the table, as the agent's camera does: its right is the block's y, its up the block's -x.
_TOP: Quaternion = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))
_FRONT: Quaternion = (0.5, 0.5, 0.5, 0.5)


def _upright(number: int) -> Quaternion:
    """Return the frame of one of the four sides; number 0 faces the block's x."""
    angle = number * math.pi / 2
    return product((math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)), _FRONT)


def _face(letter: str, half: float, frame: Quaternion) -> tuple[Geom, ...]:
    return tuple(_stroke(one, other, half, frame) for one, other in strokes(letter))


def _stroke(one: Point, other: Point, half: float, frame: Quaternion) -> Geom:
    """Return one stroke on the face that ``frame`` turns upwards; seen only, its weight is nothing."""
    tall = 2 * half * (1 - 2 * _MARGIN)
    (ax, ay), (bx, by) = (((x - 0.5) * tall * _WIDE, (y - 0.5) * tall) for x, y in (one, other))
    angle, length = math.atan2(by - ay, bx - ax), math.hypot(bx - ax, by - ay)
    width = _STROKE * tall
    local: Vector = ((ax + bx) / 2, (ay + by) / 2, half + _RAISED / 2)
    turn = product(frame, (math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)))
    return Geom("box", (length / 2 + width, width, _RAISED), INK, _moved(frame, local), turn, mass=1e-6, solid=False)


def _moved(frame: Quaternion, point: Vector) -> Vector:
    w, x, y, z = frame
    _, a, b, c = product(product(frame, (0.0, *point)), (w, -x, -y, -z))
    return (a, b, c)
