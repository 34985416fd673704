"""One instance being decided: it asks for places, is told values, and has a verdict in the end.

Solvers are deterministic, so a run is nothing but its settings and the values that it was told: that is what is saved,
and what a certificate holds. Going on means telling the values again.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from vlassess.robustness.boxes import BoxSearch
from vlassess.robustness.certificates import Certificate, certify
from vlassess.robustness.coverage import CoverageSearch
from vlassess.robustness.hilbert import FloatArray
from vlassess.robustness.hoelder import HoelderSearch
from vlassess.robustness.questions import Question, Ramp, Row, Solver
from vlassess.robustness.sampling import DirectSearch, PointList, grid, sobol, uniform
from vlassess.robustness.settings import (
    Direct,
    Hoelder,
    HoelderCoverage,
    HoelderMargin,
    Lipschitz,
    Settings,
    Sobol,
    Uniform,
)
from vlassess.robustness.verdicts import Adversarial, Unknown, Verdict

HIGHEST = 4
"""Most parameters that a region may have."""


class Run:
    """Decides one instance by asking and being told; same answers, same questions, on every call and after `resume`.

    ``ask`` gives places in the unit box; ``vlassess.robustness.perturbations.Box`` turns them into parameters. ``tell``
    takes their values in the same order: the objective, or its terms, of which the smallest counts. Positive means that
    the specification holds.

    Attributes:
        settings: The solver.
        dimension: Number of parameters N, 1 to 4.
        terms: Number of terms T of the objective.
        verdict: None until it is known.
    """

    def __init__(self, settings: Settings, dimension: int, terms: int = 1) -> None:
        """Start.

        Raises:
            ValueError: If the number of parameters or terms, or a bound for each axis, does not fit.
        """
        if not 1 <= dimension <= HIGHEST:
            raise ValueError(f"dimension is {dimension}; a region has 1 to {HIGHEST} parameters: fix the others")
        if terms < 1:
            raise ValueError(f"terms is {terms}; an objective has at least one")
        self.settings, self.dimension, self.terms = settings, dimension, terms
        self.verdict: Verdict | None = None
        self._points: list[tuple[float, ...]] = []
        self._positions: list[float] = []
        self._rows: list[Row] = []
        self._smallest = math.inf
        self._ramp = Ramp(settings.batch)
        self._solver = make_solver(settings, dimension, terms, self._ramp)
        self._steps = self._solver.steps()
        self._question = Question([], [])
        self._whole = True
        self._go_on(None)

    @property
    def queries(self) -> int:
        """Number of values told."""
        return len(self._rows)

    @property
    def smallest(self) -> float:
        """The smallest value told; infinite before the first."""
        return self._smallest

    def ask(self) -> FloatArray:
        """Return the places whose values are wanted next, (n, N) in the unit box; none when there is a verdict.

        It stays the same until `tell`.
        """
        points = self._question.points
        return np.array(points, np.float64) if points else np.empty((0, self.dimension))

    def tell(self, values: npt.ArrayLike) -> None:
        """Take the values at the places of `ask`, in their order: (n,), or (n, T) for T terms.

        Raises:
            ValueError: If their number is another, one is not finite, or nothing was asked. Nothing is changed then.
        """
        rows = self._checked(values)
        points, positions = self._question
        self._points += points
        self._positions += positions
        self._rows += rows
        self._ramp.told = len(self._rows)
        value = min(map(min, rows))
        if value < self._smallest:
            self._smallest = value
        if value < -self.settings.noise:
            self._found([min(row) for row in rows].index(value), rows)
        else:
            self._go_on(rows)

    def _checked(self, values: npt.ArrayLike) -> list[Row]:
        asked = self._question.points
        if not asked:
            raise ValueError("nothing was asked: the run has its verdict; start another one")
        table = np.asarray(values, np.float64)
        shape = table.shape
        if self.terms == 1 and table.ndim == 1:
            table = table[:, None]
        if table.shape != (len(asked), self.terms):
            raise ValueError(
                f"values have the shape {shape}, but {len(asked)} places were asked for, and the objective has "
                f"{self.terms} term(s): give ({len(asked)}, {self.terms})"
            )
        rows: list[Row] = table.tolist()
        for number, row in enumerate(rows):
            if not all(map(math.isfinite, row)):
                term = next(term for term, value in enumerate(row) if not math.isfinite(value))
                raise ValueError(
                    f"values[{number}, {term}] is {row[term]} at {asked[number]}; every value has to be finite: mend "
                    f"the specification, or leave the instance out"
                )
        return rows

    def _go_on(self, rows: list[Row] | None) -> None:
        """Send what was answered, and hold the next question, cut to the budget, or the verdict."""
        left = self.settings.budget - len(self._rows)
        try:
            if not self._whole:
                raise _Spent
            question = next(self._steps) if rows is None else self._steps.send(rows)
            if left <= 0:
                raise _Spent
        except StopIteration as end:
            self._end(end.value)
        except _Spent:
            progress = self._solver.progress()
            self._end(Unknown(self.queries, "budget", self._smallest, progress.lower_bound, progress.cover))
        else:
            self._whole = len(question.points) <= left
            self._question = question if self._whole else Question(question.points[:left], question.positions[:left])

    def _found(self, row: int, rows: list[Row]) -> None:
        query = len(self._rows) - len(rows) + row
        self._end(
            Adversarial(self.queries, self._question.points[row], query, min(rows[row]), tuple(rows[row])),
        )

    def _end(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self._question = Question([], [])
        self._steps.close()

    def certificate(self) -> Certificate:
        """Return everything that was asked and answered, with the verdict if there is one: a save, and a proof."""
        return certify(
            Certificate(
                settings=self.settings,
                dimension=self.dimension,
                terms=self.terms,
                positions=tuple(self._positions),
                points=() if self._positions else tuple(self._points),
                values=tuple(tuple(row) for row in self._rows),
                verdict=self.verdict,
            )
        )


class _Spent(Exception):
    """There is no budget left."""


def resume(saved: Certificate) -> Run:
    """Return the run that a certificate without a verdict was saved from, as it was.

    Raises:
        ValueError: If the values do not belong to the places that this run asks for: another version or another
            machine's arithmetic led elsewhere. The instance then has to be started again.
    """
    run = Run(saved.settings, saved.dimension, saved.terms)
    told = 0
    while told < len(saved.values):
        asked = run.ask()
        values = saved.values[told : told + len(asked)]
        if not len(asked) or len(values) < len(asked):
            raise ValueError(f"query {told} of the saved run was not asked for again: start this instance anew")
        before = saved.positions[told : told + len(asked)] or saved.points[told : told + len(asked)]
        again = run._question.positions or run._question.points
        if tuple(again) != tuple(before):
            raise ValueError(f"query {told} of the saved run is now asked elsewhere: start this instance anew")
        run.tell(np.array(values))
        told += len(asked)
    return run


def make_solver(settings: Settings, dimension: int, terms: int, ramp: Ramp) -> Solver:
    """Return the solver that the settings describe."""
    if isinstance(settings, HoelderCoverage):
        return CoverageSearch(settings, dimension, terms, ramp)
    if isinstance(settings, Hoelder | HoelderMargin):
        return HoelderSearch(settings, dimension, terms, ramp)
    if isinstance(settings, Lipschitz):
        return BoxSearch(settings, dimension, ramp)
    if isinstance(settings, Direct):
        return DirectSearch(settings, dimension, ramp)
    if isinstance(settings, Uniform):
        return PointList(uniform(settings, dimension), ramp)
    return PointList(sobol(settings, dimension) if isinstance(settings, Sobol) else grid(settings, dimension), ramp)
