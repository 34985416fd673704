"""Intervals of the curve with the lower bounds that observed slopes allow in them.

For neighbours a < b with values z and width w = b - a, a function with |f(x) - f(y)| <= H |x - y|^(1/N) lies on [a, b]
above both z(a) - H (x - a)^(1/N) and z(b) - H (b - x)^(1/N). Whatever place s is taken between a and b, the smaller of
the two at s lies below the minimum of their maximum, so it is a lower bound; s is where the two chords cross (Lera and
Sergeyev, BIT 42, 2002). H is estimated interval by interval: r times the largest of the slopes observed here and in
the neighbours, of the largest slope ever observed anywhere scaled by W / Wmax with W = w^(1/N), and of a floor.

Each term of the objective has its own slopes, and an interval's bound is the smallest over the terms: the objective is
their minimum.

An interval is known by the number of its left point; points are numbered as they come. Columns are flat, so that one
query costs a few scalar updates; everything is computed anew, vectorised, only when the largest slope or the
widest interval changes, which is rare.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vlassess.robustness.hilbert import FloatArray

IntArray = npt.NDArray[np.int64]

RIGHT_END = 1
"""Number of the point at the end of the curve, which begins no interval."""
NOTHING = 1e-300
"""W of the right end, which begins no interval: it divides, and is never the widest."""
COLUMNS = (
    *("_position", "_width", "_root", "_place", "_bound", "_steep"),
    *("_value", "_slope", "_next", "_previous", "_term"),
)
BLOCK = 256
"""Bounds among which the smallest is looked for at once."""
NARROWEST = 2.0**-45
"""Intervals as narrow as this are not split: positions are floats."""


class Estimate(NamedTuple):
    """How slopes are estimated.

    Attributes:
        reliability: r > 1, by which every observed slope is multiplied.
        floor: The smallest slope that is ever assumed, before r.
        noise: How far an observed value may lie from the true one.
        neighbours: How many intervals to either side lend their slopes.
    """

    reliability: float
    floor: float
    noise: float = 0.0
    neighbours: int = 1


class Partition:
    """The intervals between all points so far; every bound holds if the estimated slopes do.

    Attributes:
        count: Number of points.
        largest: For each term the largest slope ever observed between neighbours; it never falls.
        assumed: For each term r times that, the largest slope that is assumed anywhere, as of the last `settle`.
        widest: The largest W = w^(1/N), as of the last `settle`.
    """

    def __init__(self, dimension: int, terms: int, estimate: Estimate) -> None:
        self.dimension, self.terms, self.estimate = dimension, terms, estimate
        self._inverse = 1.0 / dimension
        self._simple = terms == 1 and estimate.neighbours == 1
        self.count = 0
        self.largest = [0.0] * terms
        self.widest = 1.0
        self.assumed = [0.0] * terms
        self._stale = False
        self._position, self._width, self._root = array("d"), array("d"), array("d")
        self._place, self._bound, self._steep = array("d"), array("d"), array("d")
        self._value, self._slope = array("d"), array("d")
        self._next, self._previous, self._term = array("q"), array("q"), array("q")
        self._grow(256)

    def _grow(self, capacity: int) -> None:
        for name in COLUMNS:
            old: array[float] | array[int] = getattr(self, name)
            columns = self.terms if name in ("_value", "_slope") else 1
            setattr(self, name, array(old.typecode, bytes(8 * capacity * columns)))
            getattr(self, name)[: len(old)] = old
        self._capacity = capacity
        self._bounds = np.frombuffer(self._bound)
        self._widths = np.frombuffer(self._width)
        self._positions = np.frombuffer(self._position)

    def begin(self, first: Sequence[float], last: Sequence[float]) -> None:
        """Start with the values at both ends of the curve, points 0 and 1."""
        self._next[0], self._previous[0], self._next[RIGHT_END], self._previous[RIGHT_END] = RIGHT_END, 0, RIGHT_END, 0
        self._position[RIGHT_END] = 1.0
        self._root[RIGHT_END] = NOTHING
        for term in range(self.terms):
            self._value[term] = first[term]
            self._value[self.terms + term] = last[term]
        self.count = 2
        self._measure(0, 1.0)
        self.refresh()

    def locate(self, position: float) -> int:
        """Return the interval that holds a position in [0, 1), at a cost that grows with the number of points."""
        positions = self._positions[: self.count]
        return int(np.where(positions <= position, positions, -1.0).argmax())

    def insert(self, position: float, values: Sequence[float]) -> bool:
        """Add a point wherever it lies; False if it is one that there is already. Bounds are computed at `settle`."""
        interval = self.locate(position)
        if min(position - self._position[interval], self._position[self._next[interval]] - position) < NARROWEST:
            return False
        self._stale = True
        self._divide(interval, position, values)
        return True

    def split(self, interval: int, position: float, values: Sequence[float]) -> int:
        """Add a point inside an interval, bring the bounds near it up to date, and return the right part's number."""
        if self._root[interval] >= self.widest * (1.0 - 1e-12):
            self._stale = True
        right = self._divide(interval, position, values)
        if self._simple:
            self._rebound_one_term(interval, right)
        else:
            self._rebound(interval, right)
        return right

    def _divide(self, interval: int, position: float, values: Sequence[float]) -> int:
        right, after, terms = self.count, self._next[interval], self.terms
        if right == self._capacity:
            self._grow(2 * right)
        self.count = right + 1
        self._position[right] = position
        value, following, previous, place = self._value, self._next, self._previous, self._position
        for term in range(terms):
            value[right * terms + term] = values[term]
        following[interval], previous[right] = right, interval
        following[right], previous[after] = after, right
        self._measure(interval, position - place[interval])
        self._measure(right, place[after] - position)
        return right

    def _measure(self, interval: int, width: float) -> None:
        """Take note of an interval's width and of the slopes over it."""
        root = width**self._inverse
        self._width[interval], self._root[interval] = width, root
        terms, value, noise = self.terms, self._value, 2.0 * self.estimate.noise
        left, right = interval * terms, self._next[interval] * terms
        for term in range(terms):
            rise = abs(value[right + term] - value[left + term]) - noise
            slope = rise / root if rise > 0.0 else 0.0
            self._slope[left + term] = slope
            if slope > self.largest[term]:
                self.largest[term] = slope
                self._stale = True

    def _chain(self, left: int, right: int) -> tuple[list[int], range]:
        """Return the intervals around two neighbours, and which of them have all that lend them slopes in it."""
        reach, following, previous = self.estimate.neighbours, self._next, self._previous
        for _ in range(2 * reach):
            left, right = previous[left], following[right]
        chain = [left]
        while left != right:
            left = following[left]
            chain.append(left)
        return chain, range(0 if chain[0] == 0 else reach, len(chain) - (1 if right == RIGHT_END else reach))

    def _rebound_one_term(self, left: int, right: int) -> None:
        """Do what `_rebound` does, for one term and slopes of direct neighbours, in half the time."""
        following, previous, slopes, values = self._next, self._previous, self._slope, self._value
        widths, roots, bounds, places, steep = self._width, self._root, self._bound, self._place, self._steep
        reliability, floor, noise, _ = self.estimate
        spread, power = self.largest[0] / self.widest, self._inverse
        before, after = previous[left], following[right]
        # The first interval is its own predecessor; the right end has no slope.
        for one in (before, left, right, after)[before == left : 3 if after == RIGHT_END else 4]:
            beside, root, slope = following[one], roots[one], slopes[one]
            lent = slopes[previous[one]]
            if lent > slope:
                slope = lent
            lent = slopes[beside]
            if lent > slope:
                slope = lent
            lent = spread * root
            if lent > slope:
                slope = lent
            slope = reliability * (slope if slope > floor else floor)
            if slope == steep[one] and one != left and one != right:
                continue
            steep[one] = slope
            low, high, width = values[one], values[beside], widths[one]
            rise = high - low if not noise else _shrunk(high - low, 2.0 * noise)
            place = 0.5 * width - rise * width / (2.0 * slope * root)
            falling, rising = low - slope * place**power, high - slope * (width - place) ** power
            bounds[one] = (falling if falling < rising else rising) - noise
            places[one] = place

    def _rebound(self, left: int, right: int) -> None:
        """Compute the bounds of two neighbours and of those that they lend their slopes to."""
        chain, known = self._chain(left, right)
        reliability, floor, noise, reach = self.estimate
        terms, power, widths, roots, bounds = self.terms, self._inverse, self._width, self._root, self._bound
        for term in range(terms):
            slopes = [self._slope[one * terms + term] for one in chain]
            values = [self._value[one * terms + term] for one in chain]
            spread = self.largest[term] / self.widest
            for at in known:
                one = chain[at]
                width, root, low, high = widths[one], roots[one], values[at], values[at + 1]
                slope = reliability * max(floor, spread * root, *slopes[max(0, at - reach) : at + reach + 1])
                rise = high - low if not noise else _shrunk(high - low, 2.0 * noise)
                place = 0.5 * width - rise * width / (2.0 * slope * root)
                bound = min(low - slope * place**power, high - slope * (width - place) ** power) - noise
                if term == 0 or bound < bounds[one]:
                    bounds[one], self._place[one], self._term[one] = bound, place, term

    def attaining(self, interval: int) -> int:
        """Return the term whose bound is the smallest in an interval."""
        return self._term[interval]

    def settle(self) -> None:
        """Bring every bound up to date."""
        if self._stale:
            self.refresh()

    def refresh(self) -> None:
        """Compute every bound anew."""
        self._stale = False
        self.widest = float(np.frombuffer(self._root)[: self.count].max())
        self.assumed = [self.estimate.reliability * max(slope, self.estimate.floor) for slope in self.largest]
        offsets, bounds, terms, steep = self._all(1.0, self.estimate.neighbours)
        np.frombuffer(self._place)[: self.count] = offsets
        np.frombuffer(self._term, np.int64)[: self.count] = terms
        np.frombuffer(self._steep)[: self.count] = steep
        self._bounds[: self.count] = bounds

    def inflated(self, growth: float, neighbours: int) -> tuple[FloatArray, FloatArray]:
        """Return trial offsets and bounds of all intervals as if the largest slopes were ``growth`` times as large."""
        offsets, bounds, _, _ = self._all(growth, neighbours)
        return offsets, bounds

    def _all(self, growth: float, neighbours: int) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
        """Return for every interval the trial's offset, the bound, the term that attains it, and that term's slope."""
        count, terms = self.count, self.terms
        after, before = np.frombuffer(self._next, np.int64)[:count], np.frombuffer(self._previous, np.int64)[:count]
        slopes = np.frombuffer(self._slope)[: count * terms].reshape(count, terms)
        local, ahead, behind = slopes, after, before
        for _ in range(neighbours):
            local = np.maximum(local, np.maximum(slopes[ahead], slopes[behind]))
            ahead, behind = after[ahead], before[behind]
        width, root = self._widths[:count, None], np.frombuffer(self._root)[:count, None]
        spread = (growth * np.array(self.largest) / self.widest) * root
        reliability, floor, noise, _ = self.estimate
        slope = reliability * np.maximum(np.maximum(local, spread), floor)
        left = np.frombuffer(self._value)[: count * terms].reshape(count, terms)
        right = left[after]
        rise = right - left
        if noise:
            rise = np.copysign(np.maximum(np.abs(rise) - 2.0 * noise, 0.0), rise)
        at = 0.5 * width - rise * width / (2.0 * slope * root)
        bound = np.minimum(left - slope * at**self._inverse, right - slope * (width - at) ** self._inverse) - noise
        bound[RIGHT_END] = np.inf
        if terms == 1:
            return at[:, 0], bound[:, 0], np.zeros(count, np.int64), slope[:, 0]
        lowest = bound.argmin(axis=1)
        rows = np.arange(count)
        return at[rows, lowest], bound[rows, lowest], lowest, slope[rows, lowest]

    def lowest(self) -> int:
        """Return the interval with the smallest bound."""
        return int(self._bounds[: self.count].argmin())

    def several(self, number: int, narrowest: float) -> list[int]:
        """Return those of the ``number`` smallest bounds whose intervals are wider than ``narrowest``, ascending."""
        found: list[int] = []
        # The smallest of each block is kept beside, so that not all have to be looked at for each.
        whole = np.append(self._bounds[: self.count], np.full(-self.count % BLOCK, np.inf)).reshape(-1, BLOCK)
        least = whole.min(axis=1)
        for _ in range(min(number, self.count - 1)):
            block = int(least.argmin())
            row = whole[block]
            place = int(row.argmin())
            found.append(block * BLOCK + place)
            row[place] = np.inf
            least[block] = row[row.argmin()]
        return [interval for interval in found if self._width[interval] > narrowest]

    def wide(self, cover: float) -> list[int]:
        """Return the intervals wider than a limit."""
        return list(np.flatnonzero(self._widths[: self.count] > cover).tolist())

    def narrow(self, width: float) -> list[int]:
        """Return the intervals that are not wider than a limit."""
        return list(np.flatnonzero(self._widths[: self.count] <= width).tolist())

    def widest_width(self) -> float:
        """Return the width of the widest interval."""
        return float(self._widths[: self.count].max())

    def width(self, interval: int) -> float:
        """Return the width of an interval."""
        return self._width[interval]

    def bound(self, interval: int) -> float:
        """Return the lower bound in an interval, as of the last time that it was computed."""
        return self._bound[interval]

    def left(self, interval: int) -> float:
        """Return where an interval begins."""
        return self._position[interval]

    def trial(self, interval: int) -> float:
        """Return the position where an interval's bound would be tested."""
        return rounded(self._position[interval] + self._place[interval], self._width[interval])


def rounded(position: float, width: float) -> float:
    """Return a position inside an interval, as a multiple of a power of two about 2^-16 of its width.

    Nothing depends on where exactly an interval is split. Short numbers are found on the curve sooner, and are the same
    on machines whose arithmetic differs in the last digit. A sum with something 2^36 times as large loses the rest.
    """
    anchor = width * 2.0**36
    return (position + anchor) - anchor


def _shrunk(rise: float, by: float) -> float:
    """Return a difference less what noise can account for, of the same sign."""
    return math.copysign(max(abs(rise) - by, 0.0), rise)
