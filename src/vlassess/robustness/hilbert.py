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
FIELD = 32
"""Bits for each coordinate in a packed number."""
MASK = (1 << FIELD) - 1
AT_ONCE = {2: 4, 3: 4, 4: 2}
"""Levels that one look-up covers, by dimension."""


class _Tables(NamedTuple):
    """What a digit means in each orientation; index = beginning of the orientation + digit.

    Attributes:
        axes: For each axis the coordinate's bits, as many as levels at once.
        packed: All axes' bits in one number, axis i shifted by 32 i.
        following: Where the orientation below begins.
        digits: Index = beginning + bits of all axes, axis 0 highest: the digit.
    """

    axes: tuple[npt.NDArray[np.uint8], ...]
    packed: list[int]
    following: array[int]
    digits: array[int]


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
            self._shifts = [FIELD * axis for axis in range(dimension)]

    def _make_tails(self) -> list[dict[int, int]]:
        """Return, for every number of look-ups left and every orientation, where nothing but zero digits leads."""
        packed, following = self._tables.packed, self._tables.following
        beginnings = range(0, len(following), self._digits)
        tails = [dict.fromkeys(beginnings, 0)]
        for left in range(self.levels // self._at_once):
            shift = left * self._at_once
            tails.append({at: (packed[at] << shift) | tails[-1][following[at]] for at in beginnings})
        return tails

    def point(self, position: float) -> tuple[float, ...]:
        """Return the centre of the cell that the curve is in at a position in [0, 1]."""
        if self.dimension == 1:
            return (position,)
        if position >= 1.0:
            return tuple(self.points(np.array([position]))[0].tolist())
        packed, following, digits, at_once = self._tables.packed, self._tables.following, self._digits, self._at_once
        found, beginning, left = 0, 0, self.levels // at_once
        while position > 0.0 and left:
            position *= digits
            digit = int(position)
            position -= digit
            found = found << at_once | packed[beginning + digit]
            beginning = following[beginning + digit]
            left -= 1
        found = found << (left * at_once) | self._tails[left][beginning]
        size = 0.5**self.levels
        return tuple([((found >> shift & MASK) + 0.5) * size for shift in self._shifts])

    def points(self, positions: FloatArray) -> FloatArray:
        """Return the points (n, N) of positions (n,), bit for bit those of `point`."""
        if self.dimension == 1:
            return np.array(positions, np.float64)[:, None]
        rest = np.minimum(positions, 1.0)
        last = rest == 1.0
        found = np.full((len(rest), self.dimension), 0.5 ** (self.levels + 1))
        state = np.zeros(len(rest), np.intp)
        following = np.frombuffer(self._tables.following, np.uint32)
        for depth in range(1, self.levels // self._at_once + 1):
            rest = rest * self._digits
            digit = np.where(last, self._digits - 1, np.floor(rest))
            rest = rest - digit
            at = state + digit.astype(np.intp)
            for number, axis in enumerate(self._tables.axes):
                found[:, number] += 0.5 ** (depth * self._at_once) * axis[at]
            state = following[at].astype(np.intp)
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
            digit = self._tables.digits[state + packed]
            found = found << (self.dimension * bits) | digit
            state = self._tables.following[state + digit]
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
    together = np.zeros(axes.shape[:2], np.int64)
    for axis in range(dimension):
        together = (together << at_once) + axes[:, :, axis]
    fields = [
        sum(
            (found >> (at_once * (dimension - 1 - axis)) & (1 << at_once) - 1) << FIELD * axis
            for axis in range(dimension)
        )
        for found in range(1 << dimension * at_once)
    ]
    return _Tables(
        tuple(axes[:, :, axis].astype(np.uint8).ravel() for axis in range(dimension)),
        [fields[found] for found in together.ravel().tolist()],
        array("I", (reached * together.shape[1]).ravel().tolist()),
        array("I", np.argsort(together, axis=1).ravel().tolist()),
    )
