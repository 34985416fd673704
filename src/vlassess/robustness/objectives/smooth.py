"""Smooth objectives: Fourier sums, a narrow well in a smooth landscape, and something like an action policy."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from vlassess.robustness.hilbert import FloatArray
from vlassess.robustness.objectives.known import Known, shifted

PER_AXIS = {1: 2001, 2: 81, 3: 25}
"""Places along every axis from which a minimum is looked for."""
STARTS = 12
"""How many of the best of these are descended from."""
WAVES = {1: 2.0, 2: 1.0, 3: 0.75}
"""Standard deviation of the number of waves along an axis in a Fourier sum."""


def fourier(dimension: int, seed: int, minimum: float) -> Known:
    """Return a sum of eight cosines with a range of about 1 and the given minimum."""
    rng = np.random.default_rng([seed, dimension, 1])
    raw = _cosines(rng, dimension, 8, WAVES[dimension])
    low, place = least(raw, dimension)
    high = -least(lambda points: -raw(points), dimension)[0]
    scale = 1.0 / (high - low)
    found = Known(dimension, lambda points: (raw(points) - low) * scale, 0.0, place)
    return shifted(found, minimum)


def well(dimension: int, seed: int, minimum: float, width: float) -> Known:
    """Return a smooth landscape between 0.3 and 0.8 with one Gaussian well of standard deviation ``width`` in it.

    The value at the well's centre is the given minimum.
    """
    rng = np.random.default_rng([seed, dimension, 2])
    raw = _cosines(rng, dimension, 5, 0.7)
    values = raw(mesh(dimension))
    low, scale = float(values.min()), 0.5 / float(np.ptp(values))
    place = rng.uniform(0.05, 0.95, dimension)
    depth = 0.3 + scale * (float(raw(place[None])[0]) - low) - minimum

    def function(points: FloatArray) -> FloatArray:
        away = points - place
        dip = np.exp(np.einsum("ij,ij->i", away, away) / (-2.0 * width * width))
        result: FloatArray = 0.3 + scale * (raw(points) - low) - depth * dip
        return result

    return Known(dimension, function, minimum, tuple(place.tolist()))


def actions(dimension: int, seed: int, minimum: float) -> Known:
    """Return the tolerance that a smooth random action map leaves: 1 in the middle, falling outwards.

    Two terms, translation and rotation, each 1 - distance from the action in the middle / tolerance.
    """
    rng = np.random.default_rng([seed, dimension, 3])
    inner, phase = 2.4 * rng.normal(size=(dimension, 24)), rng.uniform(0.0, 2.0 * np.pi, 24)
    outer, linear = rng.normal(size=(24, 6)) / 5.0, rng.normal(0.0, 0.5, (dimension, 6))

    def acted(points: FloatArray) -> FloatArray:
        centred = points - 0.5
        result: FloatArray = np.sin(centred @ inner + phase) @ outer + centred @ linear
        return result

    clean = acted(np.full((1, dimension), 0.5))

    def away(points: FloatArray) -> FloatArray:
        change = acted(points) - clean
        return np.stack([np.linalg.norm(change[:, :3], axis=1), 1.3 * np.linalg.norm(change[:, 3:], axis=1)], axis=1)

    largest, place = least(lambda points: -away(points).max(axis=1), dimension)
    tolerance = -largest / (1.0 - minimum)

    def terms(points: FloatArray) -> FloatArray:
        return 1.0 - away(points) / tolerance

    return Known(dimension, lambda points: terms(points).min(axis=1), minimum, place, terms=terms)


def _cosines(rng: np.random.Generator, dimension: int, number: int, waves: float) -> Callable[[FloatArray], FloatArray]:
    frequencies = 2.0 * np.pi * rng.normal(0.0, waves, (dimension, number))
    phases, sizes = rng.uniform(0.0, 2.0 * np.pi, number), rng.normal(size=number)

    def function(points: FloatArray) -> FloatArray:
        result: FloatArray = np.cos(points @ frequencies + phases) @ sizes
        return result

    return function


def mesh(dimension: int) -> FloatArray:
    """Return a regular mesh of the unit box, (n, N)."""
    axis = np.linspace(0.0, 1.0, PER_AXIS[dimension])
    return np.array(list(itertools.product(axis, repeat=dimension)))


def least(function: Callable[[FloatArray], FloatArray], dimension: int) -> tuple[float, tuple[float, ...]]:
    """Return the smallest value that a dense mesh and descents from its best places find, and where."""
    points = mesh(dimension)
    values = function(points)
    best, place = float(values.min()), points[int(values.argmin())]
    for start in np.argsort(values)[:STARTS]:
        found = minimize(
            lambda point: float(function(np.clip(point, 0.0, 1.0)[None])[0]),
            points[start],
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 400},
        )
        if found.fun < best:
            best, place = float(found.fun), np.clip(found.x, 0.0, 1.0)
    return best, tuple(float(value) for value in place)
