"""DIRECT against ``scipy.optimize.direct``, on standard functions with published minima."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import direct

from vlassess.robustness.rectangles import Rectangles

Point = list[float]


def branin(point: Point) -> float:
    x, y = 15 * point[0] - 5, 15 * point[1]
    parabola = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return parabola**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def camel(point: Point) -> float:
    x, y = 6 * point[0] - 3, 4 * point[1] - 2
    return (4 - 2.1 * x * x + x**4 / 3) * x * x + x * y + (4 * y * y - 4) * y * y


def hartmann(point: Point) -> float:
    scales = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    places = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
    weights = np.array([1.0, 1.2, 3.0, 3.2])
    return float(-weights @ np.exp(-(scales * (np.array(point) - places) ** 2).sum(axis=1)))


KNOWN: list[tuple[Callable[[Point], float], int, float]] = [
    (branin, 2, 0.39788735772973816),
    (camel, 2, -1.0316284534898774),
    (hartmann, 3, -3.8627797869493365),
]


def queries(function: Callable[[Point], float], dimension: int, below: float, locally_biased: bool) -> int:
    rectangles, count = Rectangles(dimension, locally_biased), 0
    while rectangles.best > below:
        values = [function(list(point)) for point in rectangles.choose()]
        for value in values:
            count += 1
            if value <= below:
                return count
        rectangles.tell(values)
    return count


class Reached(Exception):
    pass


def queries_of_scipy(function: Callable[[Point], float], dimension: int, below: float, locally_biased: bool) -> int:
    count = 0

    def counted(point: np.ndarray) -> float:
        nonlocal count
        count += 1
        value = function(point.tolist())
        if value <= below:
            raise Reached
        return value

    with pytest.raises(Reached):
        direct(counted, [(0, 1)] * dimension, maxfun=5000, vol_tol=0, len_tol=0, locally_biased=locally_biased)
    return count


@pytest.mark.parametrize("locally_biased", [True, False])
@pytest.mark.parametrize(("function", "dimension", "minimum"), KNOWN)
def test_it_is_no_slower_than_scipys(
    function: Callable[[Point], float], dimension: int, minimum: float, locally_biased: bool
) -> None:
    below = minimum + 1e-3
    ours = queries(function, dimension, below, locally_biased)
    assert ours <= 1.25 * queries_of_scipy(function, dimension, below, locally_biased) + 10


def test_the_first_rounds_are_scipys() -> None:
    seen: list[tuple[float, ...]] = []

    def told(point: np.ndarray) -> float:
        seen.append(tuple(np.round(point, 12)))
        return branin(point.tolist())

    direct(told, [(0, 1)] * 2, maxfun=5, maxiter=1, vol_tol=0, len_tol=0)
    rectangles = Rectangles(2, locally_biased=True)
    mine: list[tuple[float, ...]] = []
    while len(mine) < 5:
        points = rectangles.choose()
        mine += [tuple(np.round(point, 12)) for point in points]
        rectangles.tell([branin(list(point)) for point in points])
    assert set(mine[:5]) == set(seen[:5])
