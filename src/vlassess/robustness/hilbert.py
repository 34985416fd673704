"""The Hilbert curve: one number in [0, 1] for every place in the unit box, so that an interval covers a region.

The curve is Skilling's ("Programming the Hilbert curve", AIP Conf. Proc. 707, 2004), the same as that of the package
``hilbertcurve``. It is read top-down: what a digit of the position means depends only on an orientation, of which
there are few, so four levels at a time are looked up in a table. Both directions are exact: digits are split off with
powers of two, which round nothing.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

LEVELS = 32
"""How often the box is halved along every axis: cells have sides of 2^-32."""
AT_ONCE = {2: 4, 3: 4, 4: 2}
"""Levels that one look-up covers, by dimension."""


class _Tables(NamedTuple):
    """What a digit means in each orientation; index = orientation * digits + digit.

    Attributes:
        axes: For each axis the coordinate's bits, as many as levels at once.
        following: The orientation below.
        digits: Index = orientation * digits + packed coordinates (axis 0 highest): the digit.
    """

    axes: tuple[bytes, ...]
    following: array[int]
    digits: tuple[int, ...]


class Curve:
    """The Hilbert curve of 2 to 4 dimensions, or the identity for one.

    Attributes:
        dimension: Number of axes N.
        levels: Halvings m of every axis; points are centres of cells of side 2^-m.

    Raises:
        ValueError: If the dimension is not 1 to 4, or the levels are not a multiple of 4 up to 32.
    """

    def __init__(self, dimension: int, levels: int = LEVELS) -> None:
        if dimension != 1 and dimension not in AT_ONCE:
            raise ValueError(f"dimension is {dimension}; regions have 1 to {max(AT_ONCE)} parameters: fix the others")
        if not 4 <= levels <= LEVELS or levels % 4:
            raise ValueError(f"levels is {levels}; give a multiple of 4 from 4 to {LEVELS}")
        self.dimension, self.levels = dimension, levels
        if dimension > 1:
            self._at_once = AT_ONCE[dimension]
            self._digits = 1 << (dimension * self._at_once)
            self._tables = _tables(dimension, self._at_once)
            self._tails = self._make_tails()
            self._views = [np.frombuffer(axis, np.uint8) for axis in self._tables.axes]
            self._following = np.frombuffer(self._tables.following, np.uint16)

    def _make_tails(self) -> list[list[tuple[float, ...]]]:
        """Return for every depth (in look-ups) and orientation where a run of zero digits ends, plus half a cell."""
        half = 0.5 ** (self.levels + 1)
        orientations = len(self._tables.following) // self._digits
        tails = [[(half,) * self.dimension] * orientations]
        for depth in range(self.levels // self._at_once, 0, -1):
            scale = 0.5 ** (depth * self._at_once)
            below = tails[-1]
            tails.append(
                [
                    tuple(
                        scale * axis[state * self._digits] + rest
                        for axis, rest in zip(
                            self._tables.axes, below[self._tables.following[state * self._digits]], strict=True
                        )
                    )
                    for state in range(orientations)
                ]
            )
        return tails[::-1]

    def point(self, position: float) -> tuple[float, ...]:
        """Return the centre of the cell that the curve is in at a position in [0, 1]."""
        if self.dimension == 1:
            return (position,)
        if position >= 1.0:
            return tuple(self.points(np.array([position]))[0].tolist())
        axes, following, digits = self._tables.axes, self._tables.following, self._digits
        step = 0.5**self._at_once
        scale, state, depth = 1.0, 0, 0
        found = [0.0] * self.dimension
        while position > 0.0 and depth < self.levels // self._at_once:
            position *= digits
            digit = int(position)
            position -= digit
            scale *= step
            at = state * digits + digit
            for number, axis in enumerate(axes):
                found[number] += scale * axis[at]
            state = following[at]
            depth += 1
        return tuple(map(float.__add__, found, self._tails[depth][state]))

    def points(self, positions: FloatArray) -> FloatArray:
        """Return the points (n, N) of positions (n,), bit for bit those of `point`."""
        if self.dimension == 1:
            return np.array(positions, np.float64)[:, None]
        rest = np.minimum(positions, 1.0)
        last = rest == 1.0
        found = np.full((len(rest), self.dimension), 0.5 ** (self.levels + 1))
        state = np.zeros(len(rest), np.intp)
        for depth in range(1, self.levels // self._at_once + 1):
            rest = rest * self._digits
            digit = np.where(last, self._digits - 1, np.floor(rest))
            rest = rest - digit
            at = state * self._digits + digit.astype(np.intp)
            for number, view in enumerate(self._views):
                found[:, number] += 0.5 ** (depth * self._at_once) * view[at]
            state = self._following[at].astype(np.intp)
        return found

    def position(self, point: tuple[float, ...]) -> float:
        """Return where on the curve the cell of a point of the unit box begins, rounded to a float below 1.

        A float tells only 53 binary digits apart, so the point at the returned position lies within 2^-(53/N - 1) of
        the given one, which with three axes is 2e-5.
        """
        if self.dimension == 1:
            return point[0]
        bits = self._at_once
        cells = [min((1 << self.levels) - 1, max(0, int(value * (1 << self.levels)))) for value in point]
        found, state, mask = 0, 0, (1 << bits) - 1
        for shift in range(self.levels - bits, -1, -bits):
            packed = 0
            for cell in cells:
                packed = packed << bits | (cell >> shift) & mask
            digit = self._tables.digits[state * self._digits + packed]
            found = found << (self.dimension * bits) | digit
            state = self._tables.following[state * self._digits + digit]
        return min(found / (1 << (self.dimension * self.levels)), 1.0 - 2.0**-53)


class _Orientation(NamedTuple):
    """How the lower bits of all coordinates are turned: axis i reads bit ``source[i]``, flipped where ``flip[i]``."""

    source: tuple[int, ...]
    flip: tuple[int, ...]
    carry: int


def _one_level(turned: _Orientation, digit: int) -> tuple[tuple[int, ...], _Orientation]:
    """Return the bits of the coordinates at this level, and the orientation below."""
    axes = len(turned.source)
    bits = [digit >> (axes - 1 - axis) & 1 for axis in range(axes)]
    gray = [bit ^ before for bit, before in zip(bits, [turned.carry, *bits[:-1]], strict=True)]
    source, flip = list(range(axes)), [0] * axes
    for axis in range(axes - 1, -1, -1):
        if gray[axis]:
            flip[0] ^= 1
        else:
            source[0], source[axis] = source[axis], source[0]
            flip[0], flip[axis] = flip[axis], flip[0]
    found = tuple(gray[place] ^ turn for place, turn in zip(turned.source, turned.flip, strict=True))
    below = _Orientation(
        tuple(source[place] for place in turned.source),
        tuple(flip[place] ^ turn for place, turn in zip(turned.source, turned.flip, strict=True)),
        bits[-1],
    )
    return found, below


@lru_cache(maxsize=8)
def _tables(dimension: int, at_once: int) -> _Tables:
    """Return the tables of several levels at once, by composing those of one."""
    seen = {_Orientation(tuple(range(dimension)), (0,) * dimension, 0): 0}
    queue = list(seen)
    single = 1 << dimension
    bits: list[list[tuple[int, ...]]] = []
    below: list[list[int]] = []
    for turned in queue:
        steps = [_one_level(turned, digit) for digit in range(single)]
        for _, state in steps:
            if state not in seen:
                seen[state] = len(seen)
                queue.append(state)
        bits.append([found for found, _ in steps])
        below.append([seen[state] for _, state in steps])
    one_bits, one_below = np.array(bits), np.array(below)
    axes = np.zeros((len(queue), 1, dimension), np.int64)
    reached = np.arange(len(queue))[:, None]
    for _ in range(at_once):
        axes = ((axes[:, :, None, :] << 1) + one_bits[reached]).reshape(len(queue), -1, dimension)
        reached = one_below[reached].reshape(len(queue), -1)
    packed = np.zeros(axes.shape[:2], np.int64)
    for axis in range(dimension):
        packed = (packed << at_once) + axes[:, :, axis]
    return _Tables(
        tuple(axes[:, :, axis].astype(np.uint8).tobytes() for axis in range(dimension)),
        array("H", reached.ravel().tolist()),
        tuple(np.argsort(packed, axis=1).ravel().tolist()),
    )
