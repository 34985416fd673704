"""What solvers and the run that drives them say to each other."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, Protocol

from vlassess.robustness.verdicts import Verdict

Point = tuple[float, ...]
"""A place in the unit box."""
Row = list[float]
"""The terms of the objective at one place."""


class Question(NamedTuple):
    """Places whose values a solver wants next.

    Attributes:
        points: In the unit box.
        positions: Where on the curve they are; empty for solvers that use none.
    """

    points: list[Point]
    positions: list[float]


Steps = Generator[Question, list[Row], Verdict]
"""A solver at work: it yields questions, is sent one row of values a place, and returns its verdict."""
Part = Generator[Question, list[Row], None]
"""A part of that work."""


class Progress(NamedTuple):
    """What a solver has shown by now.

    Attributes:
        lower_bound: Below every value of the objective, under the solver's assumptions; None if it shows nothing.
        cover: The widest interval or largest box, as a share of the region's volume; None if there is none.
    """

    lower_bound: float | None = None
    cover: float | None = None


class Solver(Protocol):
    """A way of deciding an instance: pure, and the same questions for the same answers."""

    def steps(self) -> Steps:
        """Return the work, from the beginning. Witnesses and budgets are the driver's business."""
        ...

    def progress(self) -> Progress:
        """Return what has been shown by now."""
        ...


class Ramp:
    """How many queries may be asked for at once: a quarter of those made, up to the batch size.

    Attributes:
        told: Number of queries that have been answered.
    """

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.told = 0

    def room(self) -> int:
        """Return the number of queries that may be asked for now."""
        return 1 if self.batch == 1 else max(1, min(self.batch, self.told // 4))
