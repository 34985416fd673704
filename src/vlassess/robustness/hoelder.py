"""H2V and H2V-M: search along the Hilbert curve with estimated Hölder bounds.

Zhang, Kouvaros and Lomuscio (NeurIPS 2025); Aron et al. (arXiv 2609.22293). Three things differ from what is printed,
each because the printed form fails (docs/robustness.md shows how):

- the smallest bound is taken over the current intervals, not over all that ever were: a parent's bound is superseded
  by its children's, and with it the first interval's would count forever;
- the margin in the rule for epsilon is cut off at zero: for an even number of parameters its power is positive
  otherwise, and stops the search where nothing is certain;
- the spread of the largest slope has the exponent 1/N in the numerator too; and that slope is the largest ever seen,
  since for N >= 2 the largest among current intervals can fall.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import NamedTuple

from vlassess.robustness.hilbert import Curve
from vlassess.robustness.partition import Estimate, Partition
from vlassess.robustness.questions import Part, Point, Progress, Question, Ramp, Row, Steps
from vlassess.robustness.settings import Hoelder, HoelderCoverage, HoelderMargin
from vlassess.robustness.verdicts import Robust, Unknown

CurveSettings = Hoelder | HoelderMargin | HoelderCoverage


class Stand(NamedTuple):
    """What the interval with the smallest bound says.

    Attributes:
        interval: Which one.
        epsilon: How narrow it has to be.
        lower_bound: What the objective lies above, less a calibration for that width.
    """

    interval: int
    epsilon: float
    lower_bound: float


class HoelderSearch:
    """The search: split where the bound is smallest, until that interval is as narrow as the rule asks."""

    def __init__(self, settings: CurveSettings, dimension: int, terms: int, ramp: Ramp) -> None:
        self.settings, self.dimension, self.terms = settings, dimension, terms
        self.ramp = ramp
        self.curve = Curve(dimension, settings.levels)
        self.partition = Partition(
            dimension,
            terms,
            Estimate(settings.reliability, settings.floor, settings.noise, settings.neighbours),
        )
        self.smallest = math.inf
        self._half_cell = dimension * 0.5 ** (settings.levels + 1) if dimension > 1 else 0.0

    def steps(self) -> Steps:
        """Return the work."""
        yield from self._begin()
        stand = yield from self._descend()
        return self._stalled(stand) if stand.lower_bound <= 0.0 else self._robust(stand)

    def _begin(self) -> Part:
        """Ask at both ends of the curve."""
        first = yield from self._look([0.0])
        last = yield from self._look([1.0])
        self.partition.begin(first[0], last[0])

    def _look(self, positions: list[float]) -> Generator[Question, list[Row], list[Row]]:
        """Ask at positions on the curve."""
        points = [self.curve.point(position) for position in positions]
        rows = yield Question(points, positions)
        for point, row in zip(points, rows, strict=True):
            self._saw(point, min(row))
        return rows

    def _saw(self, point: Point, value: float) -> None:
        if value < self.smallest:
            self.smallest = value

    def _descend(self) -> Generator[Question, list[Row], Stand]:
        """Ask where the smallest bounds are, and split there, until the smallest is in a narrow enough interval."""
        partition = self.partition
        while True:
            partition.settle()
            interval = partition.lowest()
            if partition.width(interval) <= self._epsilon(interval):
                return self._stand(interval)
            room = self.ramp.room()
            chosen = (partition.several(room, self._finest()) if room > 1 else []) or [interval]
            yield from self._split(chosen, [partition.trial(one) for one in chosen])

    def _split(self, intervals: list[int], positions: list[float]) -> Part:
        if len(positions) == 1:
            point = self.curve.point(positions[0])
            rows = yield Question([point], positions)
            self._saw(point, min(rows[0]))
            self.partition.split(intervals[0], positions[0], rows[0])
            return
        rows = yield from self._look(positions)
        for interval, position, row in zip(intervals, positions, rows, strict=True):
            self.partition.split(interval, position, row)

    def _finest(self) -> float:
        return self.settings.epsilon if isinstance(self.settings, Hoelder) else self.settings.epsilon_min

    def _margin(self, interval: int) -> float:
        """Return an interval's bound for any place, not only for the centres of cells, which the curve visits.

        They are half a cell's diagonal apart, and a Lipschitz constant is at most sqrt(N) times the Hölder constant.
        """
        return self.partition.bound(interval) - self._half_cell * max(self.partition.assumed)

    def _epsilon(self, interval: int) -> float:
        """Return how narrow the interval with the smallest bound has to be."""
        if isinstance(self.settings, Hoelder):
            return self.settings.epsilon
        slope = self.partition.assumed[self.partition.attaining(interval)]
        narrow: float = (max(0.0, self._margin(interval)) / slope) ** self.dimension
        return min(self.settings.epsilon_max, max(self.settings.epsilon_min, narrow))

    def _stand(self, interval: int) -> Stand:
        """Return what follows from the interval with the smallest bound."""
        epsilon = self._epsilon(interval)
        slope = self.partition.assumed[self.partition.attaining(interval)]
        calibration = slope * (epsilon / 2.0) ** (1.0 / self.dimension)
        return Stand(interval, epsilon, self._margin(interval) - calibration)

    def _stalled(self, stand: Stand) -> Unknown:
        return Unknown(self.ramp.told, "stalled", self.smallest, stand.lower_bound, self.partition.widest_width())

    def _robust(self, stand: Stand) -> Robust:
        return Robust(
            queries=self.ramp.told,
            lower_bound=stand.lower_bound,
            smallest=self.smallest,
            constants=tuple(self.partition.assumed),
            cover=self.partition.widest_width(),
            epsilon=stand.epsilon,
            conditional_on=conditions(self.settings),
        )

    def progress(self) -> Progress:
        """Return the calibrated bound and the widest interval by now."""
        if self.partition.count < 2:
            return Progress()
        self.partition.settle()
        return Progress(self._stand(self.partition.lowest()).lower_bound, self.partition.widest_width())


def conditions(settings: CurveSettings) -> tuple[str, ...]:
    """Return what a certificate of these settings is conditional on, in sentences."""
    found = [
        f"Between queries the objective falls no faster than the Hölder constants estimated from them, "
        f"{settings.reliability:g} times the slopes observed: no finite number of queries can show that."
    ]
    noise = f" up to {settings.noise:g}" if settings.noise else ""
    found.append(f"The same place always gives the same value{noise}.")
    return tuple(found)
