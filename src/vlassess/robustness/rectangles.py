"""DIRECT, one round at a time: the rectangles that could hold the minimum for some Lipschitz constant are divided.

Jones, Perttunen and Stuckman, "Lipschitzian optimization without the Lipschitz constant" (J. Optim. Theory Appl. 79,
1993); the locally biased form is Gablonsky and Kelley's (J. Global Optim. 21, 2001): size is the longest side, and one
rectangle of each size is divided. ``scipy.optimize.direct`` calls its objective and cannot be asked for points, which
is why the algorithm is here again; tests compare the two.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

Point = tuple[float, ...]

IMPROVEMENT = 1e-4
"""By which share of the best value a rectangle must promise to be better."""
DEEPEST = 30
"""Sides below 3^-30 are not divided."""


class _Rectangle(NamedTuple):
    value: float
    number: int
    centre: Point
    levels: tuple[int, ...]


class Rectangles:
    """The division of the unit box so far; `choose` says where to look next and `tell` takes what was seen.

    Attributes:
        best: The smallest value so far.
    """

    def __init__(self, dimension: int, locally_biased: bool) -> None:
        self._locally_biased = locally_biased
        self.best = math.inf
        self._count = 0
        self._groups: dict[tuple[int, ...], list[_Rectangle]] = {}
        self._sizes: dict[tuple[int, ...], float] = {}
        self._chosen: list[_Rectangle] = []
        self._root: Point | None = (0.5,) * dimension

    def choose(self) -> list[Point]:
        """Return the places of one round, which `tell` then answers in order; none when all is as fine as can be."""
        if self._root is not None:
            return [self._root]
        self._chosen = self._promising()
        return [point for rectangle in self._chosen for point in _around(rectangle)]

    def tell(self, values: Sequence[float]) -> None:
        """Divide the chosen rectangles by the values at the chosen places."""
        if self._root is not None:
            self._add(values[0], self._root, (0,) * len(self._root))
            self._root = None
            return
        at = 0
        for rectangle in self._chosen:
            places = _around(rectangle)
            self._divide(rectangle, places, values[at : at + len(places)])
            at += len(places)

    def _add(self, value: float, centre: Point, levels: tuple[int, ...]) -> None:
        key = (min(levels),) if self._locally_biased else tuple(sorted(levels))
        if key not in self._groups:
            sides = [3.0**-level for level in key]
            self._sizes[key] = sides[0] / 2 if self._locally_biased else math.hypot(*sides) / 2
        heapq.heappush(self._groups.setdefault(key, []), _Rectangle(value, self._count, centre, levels))
        self._count += 1
        self.best = min(self.best, value)

    def _divide(self, rectangle: _Rectangle, places: list[Point], values: Sequence[float]) -> None:
        """Cut off thirds, first along the axis with the best value, whose thirds so stay the largest."""
        levels = list(rectangle.levels)
        axes = [axis for axis, level in enumerate(levels) if level == min(levels)]
        order = sorted(range(len(axes)), key=lambda number: min(values[2 * number : 2 * number + 2]))
        for number in order:
            levels[axes[number]] += 1
            for side in (2 * number, 2 * number + 1):
                self._add(values[side], places[side], tuple(levels))
        self._add(rectangle.value, rectangle.centre, tuple(levels))

    def _promising(self) -> list[_Rectangle]:
        """Take the potentially optimal rectangles out of their groups: the lower right hull of (size, value)."""
        groups = [key for key, group in self._groups.items() if group and min(key) < DEEPEST]
        groups.sort(key=self._sizes.__getitem__)
        corners = [(self._sizes[key], self._groups[key][0].value, key) for key in groups]
        if not corners:
            return []
        start = min(range(len(corners)), key=lambda at: (corners[at][1], -corners[at][0]))
        hull: list[tuple[float, float, tuple[int, ...]]] = []
        for corner in corners[start:]:
            while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-2], corner):
                hull.pop()
            hull.append(corner)
        wanted = self.best - IMPROVEMENT * abs(self.best)
        found: list[_Rectangle] = []
        for corner, larger in zip(hull, [*hull[1:], None], strict=True):
            if larger is None or corner[1] - _slope(corner, larger) * corner[0] <= wanted:
                found += self._take(self._groups[corner[2]])
        return found

    def _take(self, group: list[_Rectangle]) -> list[_Rectangle]:
        best = heapq.heappop(group)
        found = [best]
        while group and group[0].value == best.value and not self._locally_biased:
            found.append(heapq.heappop(group))
        return found


def _slope(left: tuple[float, float, object], right: tuple[float, float, object]) -> float:
    return (right[1] - left[1]) / (right[0] - left[0])


def _around(rectangle: _Rectangle) -> list[Point]:
    """Return the centres of the outer thirds along every longest side."""
    shortest = min(rectangle.levels)
    third = 3.0 ** -(shortest + 1)
    places: list[Point] = []
    for axis, level in enumerate(rectangle.levels):
        if level == shortest:
            for offset in (third, -third):
                place = list(rectangle.centre)
                place[axis] += offset
                places.append(tuple(place))
    return places
