"""An objective and what is known of it; what happens to values on their way out of a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vlassess.robustness.hilbert import FloatArray


@dataclass(frozen=True)
class Known:
    """A function on the unit box.

    Attributes:
        dimension: Number of parameters N.
        function: Takes places (n, N), returns values (n,).
        minimum: A value that it takes at ``minimiser``; if ``exact``, no other is smaller.
        minimiser: Where.
        exact: Whether the minimum is proven; otherwise it is the best of a dense search.
        lipschitz: A proven Lipschitz constant (Euclidean), if one is known.
        terms: If given, takes places (n, N) and returns (n, T), of which ``function`` is the smallest.
    """

    dimension: int
    function: Callable[[FloatArray], FloatArray]
    minimum: float
    minimiser: tuple[float, ...]
    exact: bool = False
    lipschitz: float | None = None
    terms: Callable[[FloatArray], FloatArray] | None = None

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the values at places (n, N), (n,)."""
        return self.function(points)


def shifted(objective: Known, minimum: float) -> Known:
    """Return the objective plus a constant, so that its minimum is as given."""
    by = minimum - objective.minimum
    terms = objective.terms
    return dataclasses.replace(
        objective,
        function=lambda points: objective.function(points) + by,
        minimum=minimum,
        terms=None if terms is None else lambda points: terms(points) + by,
    )


def quantised(objective: Known, step: float) -> Known:
    """Return the objective rounded to multiples of ``step``, as by a short floating-point format."""
    return dataclasses.replace(
        objective,
        function=lambda points: np.round(objective.function(points) / step) * step,
        minimum=round(objective.minimum / step) * step,
        lipschitz=None,
        terms=None,
    )


def noisy(objective: Known, amplitude: float, seed: int = 0) -> Known:
    """Return the objective plus what looks like noise in (-amplitude, amplitude) and is the same at the same place."""
    return dataclasses.replace(
        objective,
        function=lambda points: objective.function(points) + amplitude * _scramble(points, seed),
        minimum=objective.minimum - amplitude,
        exact=False,
        lipschitz=None,
        terms=None,
    )


def _scramble(points: FloatArray, seed: int) -> FloatArray:
    """Return a number in (-1, 1) for every place, unrelated between the nearest of them (a mixing of their bits)."""
    bits = np.ascontiguousarray(points, np.float64).view(np.uint64)
    mixed = np.full(len(points), (seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % 2**64, np.uint64)
    for column in bits.T:
        mixed ^= column
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    result: FloatArray = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1.0
    return result
