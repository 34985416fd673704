"""Branch and bound on boxes with a Lipschitz bound that the user vouches for: its certificates rest on that alone.

In a box with centre c and half sides h the objective lies above f(c) - L |h| (Euclidean L), or above
f(c) - sum of L_j h_j (one L for each axis).
Boxes whose bound is not positive are cut in three along the side that contributes most, so the middle third keeps
the centre; the lowest bound goes first. Ten to forty times fewer queries than with the same bound on the curve.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from vlassess.robustness.questions import Point, Progress, Question, Ramp, Row, Steps
from vlassess.robustness.settings import Lipschitz
from vlassess.robustness.verdicts import Reason, Robust, Unknown

DEEPEST = 30
"""Sides below 3^-30 are not cut."""
NEAREST = 8
"""Neighbours of every query that it is compared with before a certificate."""
SLACK = 1e-9
"""Relative rounding that is no violation."""


class Box(NamedTuple):
    """A box of the ternary division.

    Attributes:
        bound: What the objective lies above in it.
        indices: Along each axis which of the 3^level thirds it is, from 0.
        levels: Along each axis how often it was cut.
        query: Number of the query at its centre.
    """

    bound: float
    indices: tuple[int, ...]
    levels: tuple[int, ...]
    query: int


def centre(indices: tuple[int, ...], levels: tuple[int, ...]) -> Point:
    """Return the centre of a box; the quotient of two whole numbers, so that a middle third has its parent's."""
    return tuple((2 * index + 1) / (2 * 3**level) for index, level in zip(indices, levels, strict=True))


class BoxSearch:
    """Asks at centres until every box's bound is positive."""

    def __init__(self, settings: Lipschitz, dimension: int, ramp: Ramp) -> None:
        """Start.

        Raises:
            ValueError: If there is a bound for each axis and their number is not that of the parameters.
        """
        bound = settings.bound
        if isinstance(bound, tuple) and len(bound) != dimension:
            raise ValueError(f"bound has {len(bound)} numbers for {dimension} parameters: give one, or one for each")
        self._settings, self._dimension, self._ramp = settings, dimension, ramp
        self._slopes = bound if isinstance(bound, tuple) else (bound,) * dimension
        self._points: list[Point] = []
        self._values: list[float] = []
        self._open: list[Box] = []
        self._least, self._largest = math.inf, 0.0

    def steps(self) -> Steps:
        """Return the work."""
        whole = (0,) * self._dimension
        (query,) = yield from self._look([centre(whole, whole)])
        self._add(whole, whole, query)
        while self._open:
            number = min(max(1, self._ramp.room() // 2), len(self._open))
            chosen = [heapq.heappop(self._open) for _ in range(number)]
            if max(max(box.levels) for box in chosen) >= DEEPEST:
                return self._unknown("stalled")
            contradiction = yield from self._cut(chosen)
            if contradiction is not None:
                return self._unknown("bound violated", contradiction)
        contradiction = self._nearest_contradiction()
        return self._robust() if contradiction is None else self._unknown("bound violated", contradiction)

    def _look(self, points: list[Point]) -> Generator[Question, list[Row], list[int]]:
        """Ask at places, as many at once as may be, and return the numbers of the queries."""
        first = len(self._values)
        while points:
            asked, points = points[: self._ramp.room()], points[self._ramp.room() :]
            rows = yield Question(asked, [])
            self._points += asked
            self._values += [min(row) for row in rows]
        return list(range(first, len(self._values)))

    def _cut(self, boxes: list[Box]) -> Generator[Question, list[Row], tuple[int, int] | None]:
        """Cut boxes in three and return two queries that contradict the bound, if the new ones do."""
        thirds = [third for box in boxes for third in self._thirds(box)]
        outer = yield from self._look([centre(*third) for number, third in enumerate(thirds) if number % 3 != 1])
        contradiction = None
        for number, box in enumerate(boxes):
            below, above = outer[2 * number : 2 * number + 2]
            for query, third in zip((below, box.query, above), thirds[3 * number : 3 * number + 3], strict=True):
                self._add(*third, query)
                if self._contradict(query, box.query):
                    contradiction = (box.query, query)
        return contradiction

    def _thirds(self, box: Box) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        axis = longest(self._slopes, box.levels)
        levels = tuple(level + (number == axis) for number, level in enumerate(box.levels))
        return [
            (tuple(3 * index + third if number == axis else index for number, index in enumerate(box.indices)), levels)
            for third in range(3)
        ]

    def _add(self, indices: tuple[int, ...], levels: tuple[int, ...], query: int) -> None:
        fall = farthest(self._settings.bound, levels)
        box = Box(self._values[query] - fall - self._settings.noise, indices, levels, query)
        if box.bound > 0.0:
            self._least = min(self._least, box.bound)
            self._largest = max(self._largest, 3.0 ** -sum(levels))
        else:
            heapq.heappush(self._open, box)

    def _contradict(self, one: int, other: int) -> bool:
        apart = [abs(a - b) for a, b in zip(self._points[one], self._points[other], strict=True)]
        allowed = allowed_difference(self._settings.bound, apart) * (1.0 + SLACK) + 2.0 * self._settings.noise
        return abs(self._values[one] - self._values[other]) > allowed

    def _nearest_contradiction(self) -> tuple[int, int] | None:
        """Compare every query with those nearest to it."""
        points = np.array(self._points)
        near = cKDTree(points).query(points, k=range(1, min(NEAREST, len(points)) + 1))[1]
        for one, others in enumerate(near.tolist()):
            for other in others:
                if self._contradict(one, other):
                    return (one, other)
        return None

    def _robust(self) -> Robust:
        return Robust(
            queries=len(self._values),
            lower_bound=self._least,
            smallest=min(self._values),
            constants=self._slopes if isinstance(self._settings.bound, tuple) else self._slopes[:1],
            cover=self._largest,
            epsilon=None,
            conditional_on=("The Lipschitz bound that was supplied holds; no queries contradict it.",),
        )

    def _unknown(self, reason: Reason, contradiction: tuple[int, int] | None = None) -> Unknown:
        bound, cover = self.progress()
        return Unknown(len(self._values), reason, min(self._values), bound, cover, contradiction)

    def progress(self) -> Progress:
        """Return the smallest bound and the largest box by now."""
        if not self._values:
            return Progress()
        bounds = [box.bound for box in self._open]
        sizes = [3.0 ** -sum(box.levels) for box in self._open]
        return Progress(min([self._least, *bounds]), max([self._largest, *sizes]))


def farthest(bound: float | tuple[float, ...], levels: tuple[int, ...]) -> float:
    """Return by how much the objective can fall between a box's centre and its corners."""
    return allowed_difference(bound, [0.5 * 3.0**-level for level in levels])


def allowed_difference(bound: float | tuple[float, ...], apart: Sequence[float]) -> float:
    """Return by how much the objective can differ between places that lie this far apart along each axis."""
    if isinstance(bound, tuple):
        return sum(slope * distance for slope, distance in zip(bound, apart, strict=True))
    return bound * math.hypot(*apart)


def longest(slopes: Sequence[float], levels: tuple[int, ...]) -> int:
    """Return the axis along which a box's bound loses most, the first of several."""
    return max(range(len(levels)), key=lambda axis: (slopes[axis] * 3.0 ** -levels[axis], -axis))
