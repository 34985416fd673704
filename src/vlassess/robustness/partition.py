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

from vlassess.robustness.hilbert import FloatArray

RIGHT_END = 1
"""Number of the point at the end of the curve, which begins no interval."""
NOTHING = 1e-300
"""W of the right end, which begins no interval: it divides, and is never the widest."""
EDGE = 0.04
"""Share of an interval that a trial point keeps from both of its ends."""
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
        widest: The largest W = w^(1/N), as of the last `settle`.
    """

    def __init__(self, dimension: int, terms: int, estimate: Estimate) -> None:
        self.dimension, self.terms, self.estimate = dimension, terms, estimate
        self._inverse = 1.0 / dimension
        self.count = 0
        self.largest = [0.0] * terms
        self.widest = 1.0
        self._stale = False
        self._position, self._width, self._root = array("d"), array("d"), array("d")
        self._place, self._bound = array("d"), array("d")
        self._value, self._slope = array("d"), array("d")
        self._next, self._previous = array("q"), array("q")
        self._grow(256)

    def _grow(self, capacity: int) -> None:
        for name in ("_position", "_width", "_root", "_place", "_bound", "_value", "_slope", "_next", "_previous"):
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
        self._next[0], self._previous[0], self._next[1], self._previous[1] = 1, 0, 1, 0
        self._position[RIGHT_END] = 1.0
        self._width[0], self._root[0], self._root[RIGHT_END] = 1.0, 1.0, NOTHING
        self._value[: self.terms] = array("d", first)
        self._value[self.terms : 2 * self.terms] = array("d", last)
        self.count = 2
        self._observe(0)
        self.refresh()

    def _observe(self, interval: int) -> None:
        """Take note of the slopes over one interval."""
        terms, noise, root = self.terms, 2.0 * self.estimate.noise, self._root[interval]
        left, right = interval * terms, self._next[interval] * terms
        for term in range(terms):
            rise = abs(self._value[right + term] - self._value[left + term]) - noise
            slope = rise / root if rise > 0.0 else 0.0
            self._slope[left + term] = slope
            if slope > self.largest[term]:
                self.largest[term] = slope
                self._stale = True

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
        self._rebound(interval, right)
        return right

    def _divide(self, interval: int, position: float, values: Sequence[float]) -> int:
        right, after = self.count, self._next[interval]
        if right == self._capacity:
            self._grow(2 * right)
        self.count += 1
        self._position[right] = position
        self._value[right * self.terms : (right + 1) * self.terms] = array("d", values)
        self._next[interval], self._previous[right] = right, interval
        self._next[right], self._previous[after] = after, right
        for part, end in ((interval, position), (right, self._position[after])):
            width = end - self._position[part]
            self._width[part] = width
            self._root[part] = self._take_root(width)
            self._observe(part)
        return right

    def _take_root(self, width: float) -> float:
        if self.dimension == 1:
            return width
        return math.sqrt(width) if self.dimension == 2 else float(width**self._inverse)

    def _rebound(self, left: int, right: int) -> None:
        """Compute the bounds of two neighbours and of those that they lend their slopes to."""
        for _ in range(self.estimate.neighbours):
            left, right = self._previous[left], self._next[right]
        while left != RIGHT_END:
            self._compute(left)
            if left == right:
                return
            left = self._next[left]

    def _local(self, interval: int, term: int) -> float:
        """Return the largest slope of a term in an interval and its neighbours."""
        terms, before, after = self.terms, self._previous[interval], self._next[interval]
        slope = self._slope
        largest = max(slope[interval * terms + term], slope[before * terms + term], slope[after * terms + term])
        for _ in range(self.estimate.neighbours - 1):
            before, after = self._previous[before], self._next[after]
            largest = max(largest, slope[before * terms + term], slope[after * terms + term])
        return largest

    def _compute(self, interval: int) -> None:
        """Compute the bound and the trial point of one interval."""
        lowest, place = self._of_term(interval, 0)
        for term in range(1, self.terms):
            bound, at = self._of_term(interval, term)
            if bound < lowest:
                lowest, place = bound, at
        self._bound[interval], self._place[interval] = lowest - self.estimate.noise, place

    def _of_term(self, interval: int, term: int) -> tuple[float, float]:
        """Return the bound of one term, before noise, and where its chords cross."""
        reliability, floor, noise, _ = self.estimate
        width, root, terms = self._width[interval], self._root[interval], self.terms
        slope = reliability * max(self._local(interval, term), self.largest[term] * (root / self.widest), floor)
        left, right = self._value[interval * terms + term], self._value[self._next[interval] * terms + term]
        rise = right - left
        if noise:
            rise = math.copysign(max(abs(rise) - 2.0 * noise, 0.0), rise)
        at = min(max(0.5 * width - rise * width / (2.0 * slope * root), EDGE * width), (1.0 - EDGE) * width)
        if self.dimension == 1:
            return min(left - slope * at, right - slope * (width - at)), at
        if self.dimension == 2:
            return min(left - slope * math.sqrt(at), right - slope * math.sqrt(width - at)), at
        power = self._inverse
        return min(left - slope * at**power, right - slope * (width - at) ** power), at

    def attaining(self, interval: int) -> int:
        """Return the term whose bound is the smallest in an interval."""
        return min(range(self.terms), key=lambda term: self._of_term(interval, term)[0])

    def steepest(self, term: int) -> float:
        """Return the largest slope that is assumed of a term anywhere, r times the largest observed."""
        return self.estimate.reliability * max(self.largest[term], self.estimate.floor)

    def settle(self) -> None:
        """Bring every bound up to date."""
        if self._stale:
            self.refresh()

    def refresh(self) -> None:
        """Compute every bound anew."""
        self._stale = False
        self.widest = float(np.frombuffer(self._root)[: self.count].max())
        places, bounds = self.inflated(1.0, self.estimate.neighbours)
        np.frombuffer(self._place)[: self.count] = places
        self._bounds[: self.count] = bounds

    def inflated(self, growth: float, neighbours: int) -> tuple[FloatArray, FloatArray]:
        """Return trial offsets and bounds of all intervals as if the largest slopes were ``growth`` times as large."""
        count, terms = self.count, self.terms
        after, before = np.frombuffer(self._next, np.int64)[:count], np.frombuffer(self._previous, np.int64)[:count]
        slopes = np.frombuffer(self._slope)[: count * terms].reshape(count, terms)
        local, ahead, behind = slopes, after, before
        for _ in range(neighbours):
            local = np.maximum(local, np.maximum(slopes[ahead], slopes[behind]))
            ahead, behind = after[ahead], before[behind]
        width, root = self._widths[:count, None], np.frombuffer(self._root)[:count, None]
        spread = (growth * np.array(self.largest)) * (root / self.widest)
        reliability, floor, noise, _ = self.estimate
        slope = reliability * np.maximum(np.maximum(local, spread), floor)
        left = np.frombuffer(self._value)[: count * terms].reshape(count, terms)
        right = left[after]
        rise = right - left
        if noise:
            rise = np.copysign(np.maximum(np.abs(rise) - 2.0 * noise, 0.0), rise)
        at = np.clip(0.5 * width - rise * width / (2.0 * slope * root), EDGE * width, (1.0 - EDGE) * width)
        bound = np.minimum(left - slope * self._roots(at), right - slope * self._roots(width - at))
        if terms > 1:
            lowest = bound.argmin(axis=1)[:, None]
            at, bound = np.take_along_axis(at, lowest, 1), np.take_along_axis(bound, lowest, 1)
        places, bounds = at[:, 0], bound[:, 0] - noise
        bounds[RIGHT_END] = np.inf
        return places, bounds

    def _roots(self, widths: FloatArray) -> FloatArray:
        if self.dimension == 1:
            return widths
        return np.sqrt(widths) if self.dimension == 2 else widths**self._inverse

    def lowest(self) -> int:
        """Return the interval with the smallest bound."""
        return int(self._bounds[: self.count].argmin())

    def several(self, number: int, narrowest: float) -> list[int]:
        """Return those of the ``number`` smallest bounds whose intervals are wider than ``narrowest``, ascending."""
        found: list[tuple[int, float]] = []
        for _ in range(min(number, self.count - 1)):
            lowest = self.lowest()
            found.append((lowest, self._bound[lowest]))
            self._bound[lowest] = math.inf
        for interval, bound in found:
            self._bound[interval] = bound
        return [interval for interval, _ in found if self._width[interval] > narrowest]

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
        return self._position[interval] + self._place[interval]
