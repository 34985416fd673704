"""Piecewise linear and conical objectives with a minimum and a Lipschitz constant that are proven."""

from __future__ import annotations

import numpy as np

from vlassess.robustness.hilbert import FloatArray
from vlassess.robustness.objectives.known import Known


def lattice(dimension: int, seed: int, minimum: float, steepness: float = 3.0, pieces: int = 4) -> Known:
    """Return a minimum of maxima of linear functions (a lattice form, which every ReLU network has too).

    Each maximum is over slopes whose positive combination vanishes, through a common place: it is convex, and smallest
    there. So the least of the values at these places is the minimum, and the longest slope a Lipschitz constant.
    """
    rng = np.random.default_rng([seed, dimension, 4])
    centres = rng.random((pieces, dimension))
    heights = minimum + np.concatenate([[0.0], rng.uniform(0.0, 1.0, pieces - 1)])
    slopes = rng.normal(size=(pieces, dimension + 3, dimension))
    slopes[:, -1] = -np.einsum("ks,ksn->kn", rng.uniform(0.2, 1.0, (pieces, dimension + 2)), slopes[:, :-1])
    slopes *= steepness / np.linalg.norm(slopes, axis=2).max()
    offsets = heights[:, None] - np.einsum("ksn,kn->ks", slopes, centres)

    def function(points: FloatArray) -> FloatArray:
        planes = np.einsum("in,ksn->iks", points, slopes) + offsets
        result: FloatArray = planes.max(axis=2).min(axis=1)
        return result

    where = tuple(centres[0].tolist())
    return Known(dimension, function, minimum, where, exact=True, lipschitz=steepness)


def cones(dimension: int, seed: int, minimum: float, steepness: float = 4.0, number: int = 5) -> Known:
    """Return a minimum of upright cones and a plane above them: the hardest that a Lipschitz constant allows."""
    rng = np.random.default_rng([seed, dimension, 5])
    centres = rng.random((number, dimension))
    heights = minimum + np.concatenate([[0.0], rng.uniform(0.0, 0.5, number - 1)])
    ceiling = minimum + rng.uniform(0.5, 1.0)

    def function(points: FloatArray) -> FloatArray:
        away = np.linalg.norm(points[:, None, :] - centres, axis=2)
        result: FloatArray = np.minimum((heights + steepness * away).min(axis=1), ceiling)
        return result

    return Known(dimension, function, minimum, tuple(centres[0].tolist()), exact=True, lipschitz=steepness)
