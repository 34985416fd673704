"""H2V-C: a margin-aware Hölder search that certifies only what it has looked at everywhere, at a stated resolution.

A bound from estimated slopes is worth what the estimate is: a narrow dip between queries leaves no trace in it. So
before a certificate every interval has to be at most ``cover`` wide. Wide intervals are cut into equal parts, none
narrower than half of it, the widest first, so that a dip is met early; whatever that turns up sends the search back
to where the bound is smallest. Last, a few probes are made where the certificate would fail first if slopes were
larger than any that was seen.

With few queries slopes are a poor guide to where the minimum may be, and with two or more parameters so is the curve.
The search for a counterexample is therefore led by DIRECT and a local model (`vlassess.robustness.hunt`) at first. All
their queries lie on the curve too: they cover, and they show slopes.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
from collections.abc import Generator

import numpy as np

from vlassess.robustness.hoelder import HoelderSearch, Stand
from vlassess.robustness.hunt import Hunt
from vlassess.robustness.partition import rounded
from vlassess.robustness.questions import Part, Point, Question, Ramp, Row, Steps
from vlassess.robustness.settings import HoelderCoverage
from vlassess.robustness.verdicts import Robust

GROWTH = 1.3
"""By which the largest slopes are multiplied, again and again, until a probe is found."""
TOGETHER = 5
"""Probes that are chosen at once, even if they are made one after the other."""
LARGEST_GROWTH = 60
"""How often at most."""
ROUNDING = 1e-9
"""What an interval may be wider than the cover by, relatively: equal parts are equal up to rounding."""


class CoverageSearch(HoelderSearch):
    """The default solver."""

    def __init__(self, settings: HoelderCoverage, dimension: int, terms: int, ramp: Ramp) -> None:
        super().__init__(settings, dimension, terms, ramp)
        self._mine = settings
        self._cover = settings.covered(dimension)
        self._limit = self._cover * (1.0 + ROUNDING)
        self._probes, self._grown = settings.probes, 0
        self._hunt = Hunt(dimension, self._corners()) if settings.hunt else None

    def steps(self) -> Steps:
        """Return the work."""
        yield from self._begin()
        while True:
            if self._hunt is not None and self._hunt.due:
                yield from self._pursue(self._hunt)
                continue
            stand = yield from self._descend()
            if stand.lower_bound <= 0.0:
                if self._hunt is None or not self._hunt.once_more():
                    return self._stalled(stand)
            elif self.partition.widest_width() > self._limit:
                yield from self._spread()
            elif self._probes:
                yield from self._probe(stand)
            else:
                return self._robust(stand)

    def _saw(self, point: Point, value: float) -> None:
        if value < self.smallest:
            self.smallest = value
        if self._hunt is not None:
            self._hunt.see(point, value)

    def _corners(self) -> list[Point]:
        """Return the corners of the box that are not at the ends of the curve."""
        ends = [self.curve.point(0.0), self.curve.point(1.0)]
        corners = itertools.product((0.0, 1.0), repeat=self.dimension)
        return [one for one in corners if all(math.dist(one, end) > 0.5 for end in ends)]

    def _place(self, positions: list[float]) -> Generator[Question, list[Row], list[Row]]:
        """Ask anywhere on the curve, for what it tells about the objective."""
        rows = yield from self._look(positions)
        for position, row in zip(positions, rows, strict=True):
            self.partition.insert(position, row)
        return rows

    def _pursue(self, hunt: Hunt) -> Part:
        """Let the hunt have its turn."""
        points = hunt.choose(self.ramp.room())
        if not points:
            self._hunt = None
            return
        rows = yield from self._place([self.curve.position(point) for point in points])
        hunt.tell([min(row) for row in rows])

    def _spread(self) -> Part:
        """Cut what is too wide, until all is covered, something is not positive, or the hunt has its turn."""
        partition = self.partition
        queue = [(-partition.width(one), one) for one in partition.wide(self._limit)]
        heapq.heapify(queue)
        while queue:
            room, first = min(self.ramp.room(), len(queue)), partition.count
            chosen = [heapq.heappop(queue)[1] for _ in range(room)] if room > 1 else [heapq.heappop(queue)[1]]
            yield from self._split(chosen, [partition.left(one) + self._cut(partition.width(one)) for one in chosen])
            for part in (*chosen, *range(first, partition.count)):
                if partition.bound(part) <= 0.0:
                    return
                width = partition.width(part)
                if width > self._limit:
                    heapq.heappush(queue, (-width, part))

    def _cut(self, width: float) -> float:
        """Return where to cut an interval so that all parts are equal in the end, and as few as cover it."""
        parts = math.ceil(width / self._cover * (1.0 - ROUNDING))
        return width * (parts // 2) / parts

    def _probe(self, stand: Stand) -> Part:
        """Ask where the bound would be smallest, and smaller than it is, if the largest slopes were larger."""
        partition = self.partition
        while self._grown < LARGEST_GROWTH:
            # What was not enough for the last probe is not enough for this one.
            neighbours, growth = self.settings.neighbours + self._grown + 1, GROWTH ** (self._grown + 1)
            offsets, bounds = partition.inflated(growth, neighbours)
            bounds[partition.narrow(self._mine.epsilon_min)] = np.inf
            bounds[stand.interval] = np.inf
            below = np.flatnonzero(bounds < partition.bound(stand.interval))
            below = below[np.argsort(bounds[below], kind="stable")]
            room = self.ramp.room()
            lowest: list[int] = below[: min(max(room, TOGETHER), self._probes)].tolist()
            if lowest:
                self._probes -= len(lowest)
                for first in range(0, len(lowest), room):
                    some = lowest[first : first + room]
                    places = [partition.left(one) + float(offsets[one]) for one in some]
                    widths = [partition.width(one) for one in some]
                    yield from self._split(some, [rounded(*one) for one in zip(places, widths, strict=True)])
                return
            self._grown += 1
        self._probes = 0

    def _robust(self, stand: Stand) -> Robust:
        found = super()._robust(stand)
        return dataclasses.replace(
            found,
            conditional_on=(
                *found.conditional_on,
                f"No dip hides between queries: intervals of the curve are at most {self._cover:g} of the region wide.",
            ),
        )
