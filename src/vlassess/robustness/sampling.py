"""Baselines under the same interface: they find counterexamples and never show that there is none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.stats import qmc

from vlassess.robustness.questions import Point, Progress, Question, Ramp, Steps
from vlassess.robustness.rectangles import Rectangles
from vlassess.robustness.settings import Direct, Grid, Sobol, Uniform
from vlassess.robustness.verdicts import Unknown

AT_ONCE = 1024
"""Draws that are made together, whatever the batch size, so that it does not change them."""


class PointList:
    """Asks for a given sequence of places."""

    def __init__(self, points: Iterator[Point], ramp: Ramp) -> None:
        self._points, self._ramp = points, ramp
        self._smallest = np.inf

    def steps(self) -> Steps:
        """Return the work."""
        while points := list(itertools.islice(self._points, self._ramp.room())):
            rows = yield Question(points, [])
            self._smallest = min(self._smallest, *(min(row) for row in rows))
        return Unknown(self._ramp.told, "budget", self._smallest)

    def progress(self) -> Progress:
        """Return nothing: samples show nothing about the rest."""
        return Progress()


class DirectSearch:
    """DIRECT alone."""

    def __init__(self, settings: Direct, dimension: int, ramp: Ramp) -> None:
        self._rectangles, self._ramp = Rectangles(dimension, settings.locally_biased), ramp

    def steps(self) -> Steps:
        """Return the work."""
        while points := self._rectangles.choose():
            values: list[float] = []
            while len(values) < len(points):
                rows = yield Question(points[len(values) : len(values) + self._ramp.room()], [])
                values += [min(row) for row in rows]
            self._rectangles.tell(values)
        return Unknown(self._ramp.told, "stalled", self._rectangles.best)

    def progress(self) -> Progress:
        """Return nothing: without a Lipschitz constant nothing is shown."""
        return Progress()


def uniform(settings: Uniform, dimension: int) -> Iterator[Point]:
    """Yield independent uniform draws from the unit box."""
    rng = np.random.default_rng(settings.seed)
    while True:
        yield from map(tuple, rng.random((AT_ONCE, dimension)).tolist())


def sobol(settings: Sobol, dimension: int) -> Iterator[Point]:
    """Yield a scrambled Sobol sequence."""
    sequence = qmc.Sobol(dimension, rng=settings.seed)
    while True:
        yield from map(tuple, sequence.random(AT_ONCE).tolist())


def grid(settings: Grid, dimension: int) -> Iterator[Point]:
    """Yield the densest grid that the budget allows, with both ends of every axis if there is more than one place."""
    sides = 1
    while (sides + 1) ** dimension <= settings.budget:
        sides += 1
    axis = np.linspace(0.0, 1.0, sides).tolist() if sides > 1 else [0.5]
    yield from itertools.product(axis, repeat=dimension)
