"""A quadratic through the best place and its neighbours, and where it says that the objective is smaller still.

Searches by division close in on a minimum by constant factors. Where the objective is smooth, a quadratic model of
what was seen around the best value jumps there. It only proposes places to look: nothing is concluded from it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vlassess.robustness.hilbert import FloatArray

PER_AXIS = {1: 41, 2: 15, 3: 7, 4: 5}
"""Candidates along every axis of the neighbourhood."""
CLOSEST = 1e-3
"""Share of the neighbourhood's radius that a proposal keeps from every place that was seen."""
SMALLEST = 1e-6
"""Radius of a neighbourhood, in the unit box, in which there is nothing more to gain."""
DIGITS = 6
"""Decimals of a proposal: enough, and the same where arithmetic differs in the last digit."""


def proposal(points: FloatArray, values: FloatArray) -> FloatArray | None:
    """Return where a local quadratic is smallest, if it promises to beat the best value; else None.

    Args:
        points: Places in the unit box, (n, N).
        values: What was seen there, (n,).
    """
    dimension = points.shape[1]
    unknowns = 1 + dimension + dimension * (dimension + 1) // 2
    if len(values) <= unknowns:
        return None
    best = int(values.argmin())
    offsets = points - points[best]
    squares: FloatArray = np.einsum("ij,ij->i", offsets, offsets)
    count = min(len(values), int(1.6 * unknowns) + 1)
    near = np.argpartition(squares, count - 1)[:count]
    radius = math.sqrt(float(squares[near].max()))
    if radius < SMALLEST:
        return None
    coefficients = _fit(offsets[near] / radius, values[near])
    offered = _offered(coefficients, points[best], radius)
    tried = (np.clip(points[best] + radius * offered, 0.0, 1.0) - points[best]) / radius
    promised = _features(tried) @ coefficients
    chosen = int(promised.argmin())
    place: FloatArray = points[best] + radius * tried[chosen]
    if promised[chosen] >= values[best]:
        return None
    away = points - place
    if float(np.einsum("ij,ij->i", away, away).min()) < (CLOSEST * radius) ** 2:
        return None
    proposal: FloatArray = np.clip(place, 0.0, 1.0).round(DIGITS)
    return proposal


def _features(offsets: FloatArray) -> FloatArray:
    """Return the monomials up to degree two, (n, number of unknowns)."""
    rows, columns = _pairs(offsets.shape[1])
    return np.hstack([np.ones((len(offsets), 1)), offsets, offsets[:, rows] * offsets[:, columns]])


def _fit(offsets: FloatArray, values: FloatArray) -> FloatArray:
    """Return the quadratic of least squares, near places weighing more."""
    weights = 1.0 / (0.1 + np.einsum("ij,ij->i", offsets, offsets))
    solution: FloatArray = np.linalg.lstsq(_features(offsets) * weights[:, None], values * weights, rcond=1e-8)[0]
    return solution


def _offered(coefficients: FloatArray, best: FloatArray, radius: float) -> FloatArray:
    """Return the places of the neighbourhood among which the quadratic is smallest, (n, N).

    That is where its gradient vanishes, alone, if it curves upwards and the place is in the neighbourhood and in the
    unit box; otherwise a mesh as well.
    """
    dimension = len(best)
    rows, columns = _pairs(dimension)
    curvature = np.zeros((dimension, dimension))
    curvature[rows, columns] = coefficients[1 + dimension :]
    curvature = curvature + curvature.T
    solution = np.asarray(np.linalg.lstsq(curvature, -coefficients[1 : 1 + dimension], rcond=1e-6)[0], np.float64)
    if np.abs(solution).max() > 1.0:
        return _candidates(dimension)
    place = best + radius * solution
    if place.min() >= 0.0 and place.max() <= 1.0 and np.linalg.eigvalsh(curvature)[0] > 0.0:
        return solution[None]
    return np.vstack([_candidates(dimension), solution])


@lru_cache(maxsize=8)
def _pairs(dimension: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    rows, columns = np.triu_indices(dimension)
    return rows, columns


@lru_cache(maxsize=8)
def _candidates(dimension: int) -> FloatArray:
    axis = np.linspace(-1.0, 1.0, PER_AXIS[dimension])
    return np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
