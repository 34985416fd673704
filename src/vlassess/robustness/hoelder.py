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
from vlassess.robustness.verdicts import Robust, Unknown, Verdict

CurveSettings = Hoelder | HoelderMargin | HoelderCoverage


class Stand(NamedTuple):
    """What the interval with the smallest bound says.

    Attributes:
        interval: Which one.
        epsilon: How narrow it has to be.
        lower_bound: What the objective lies above, the calibration of that width included.
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

    def steps(self) -> Steps:
        """Return the work."""
        yield from self._begin()
        while True:
            stand = self._stand()
            if self.partition.width(stand.interval) <= stand.epsilon:
                return self._conclude(stand)
            yield from self._refine(stand.interval)

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

    def _refine(self, interval: int) -> Part:
        """Ask where the smallest bounds are, and split there."""
        partition, room = self.partition, self.ramp.room()
        chosen = partition.several(room, self._finest()) if room > 1 else [interval]
        yield from self._split(chosen or [interval], [partition.trial(one) for one in chosen or [interval]])

    def _split(self, intervals: list[int], positions: list[float]) -> Part:
        rows = yield from self._look(positions)
        for interval, position, row in zip(intervals, positions, rows, strict=True):
            self.partition.split(interval, position, row)

    def _finest(self) -> float:
        return self.settings.epsilon if isinstance(self.settings, Hoelder) else self.settings.epsilon_min

    def _stand(self) -> Stand:
        """Return where the smallest bound is, how narrow it has to be there, and what follows then."""
        partition, settings = self.partition, self.settings
        partition.settle()
        interval = partition.lowest()
        slope = partition.steepest(partition.attaining(interval))
        discretisation = self._discretisation()
        margin = partition.bound(interval) - discretisation
        if isinstance(settings, Hoelder):
            epsilon = settings.epsilon
        else:
            narrow = (max(0.0, margin) / slope) ** self.dimension
            epsilon = min(settings.epsilon_max, max(settings.epsilon_min, narrow))
        return Stand(interval, epsilon, margin - slope * (epsilon / 2.0) ** (1.0 / self.dimension))

    def _discretisation(self) -> float:
        """Return by how much the objective can differ between any place and the nearest centre of a cell.

        Half a cell's diagonal times the Lipschitz constant, which is at most sqrt(N) times the Hölder constant.
        """
        if self.dimension == 1:
            return 0.0
        slope = max(self.partition.steepest(term) for term in range(self.terms))
        return self.dimension * slope * 0.5 ** (self.settings.levels + 1)

    def _conclude(self, stand: Stand) -> Verdict:
        if stand.lower_bound <= 0.0:
            return self._stalled(stand)
        return self._robust(stand)

    def _stalled(self, stand: Stand) -> Unknown:
        return Unknown(self.ramp.told, "stalled", self.smallest, stand.lower_bound, self.partition.widest_width())

    def _robust(self, stand: Stand) -> Robust:
        constants = tuple(self.partition.steepest(term) for term in range(self.terms))
        return Robust(
            queries=self.ramp.told,
            lower_bound=stand.lower_bound,
            smallest=self.smallest,
            constants=constants,
            cover=self.partition.widest_width(),
            epsilon=stand.epsilon,
            conditional_on=conditions(self.settings),
        )

    def progress(self) -> Progress:
        """Return the calibrated bound and the widest interval by now."""
        if self.partition.count < 2:
            return Progress()
        return Progress(self._stand().lower_bound, self.partition.widest_width())


def conditions(settings: CurveSettings) -> tuple[str, ...]:
    """Return what a certificate of these settings is conditional on, in sentences."""
    found = [
        f"Between queries the objective falls no faster than the Hölder constants estimated from them, "
        f"{settings.reliability:g} times the slopes observed: no finite number of queries can show that."
    ]
    noise = f" up to {settings.noise:g}" if settings.noise else ""
    found.append(f"The same place always gives the same value{noise}.")
    return tuple(found)
