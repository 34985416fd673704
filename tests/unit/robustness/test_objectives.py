"""What is said to be known of the objectives is true, by dense sampling."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from vlassess.robustness.objectives import (
    Known,
    ReluNetwork,
    actions,
    cones,
    fourier,
    lattice,
    noisy,
    quantised,
    relu_network,
    well,
)

Make = Callable[[int, int, float], Known]
EXACT: list[tuple[Make, int]] = [(make, n) for make in (lattice, cones) for n in (1, 2, 3)]
EXACT += [(relu_network, 1), (relu_network, 2)]
SEARCHED: list[tuple[Make, int]] = [(fourier, 1), (fourier, 2), (actions, 1), (actions, 2)]


@pytest.mark.parametrize(("make", "dimension"), EXACT + SEARCHED)
def test_nothing_is_below_the_minimum_which_is_attained(make: Make, dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    for seed in range(4):
        objective = make(dimension, seed, 0.1)
        place = np.array(objective.minimiser)
        points = np.concatenate([rng.random((20_000, dimension)), place + rng.normal(0, 1e-3, (2000, dimension))])
        assert objective(np.clip(points, 0, 1)).min() >= 0.1 - (1e-9 if objective.exact else 1e-6)
        assert objective(place[None])[0] == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize(("make", "dimension"), EXACT)
def test_the_lipschitz_constant_holds_and_is_tight(make: Make, dimension: int) -> None:
    rng, steepest = np.random.default_rng(dimension), 0.0
    for seed in range(4):
        objective = make(dimension, seed, 0.1)
        assert objective.lipschitz is not None
        points = rng.random((20_000, dimension))
        others = np.clip(points + rng.normal(0, 1e-4, points.shape), 0, 1)
        slopes = np.abs(objective(points) - objective(others)) / np.linalg.norm(points - others, axis=1)
        assert slopes.max() <= objective.lipschitz * (1 + 1e-6)
        steepest = max(steepest, slopes.max() / objective.lipschitz)
    assert steepest > 0.9


@pytest.mark.parametrize("dimension", [1, 2])
def test_the_pieces_of_a_network_are_the_network(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    sizes = (dimension, 6, 5, 1)
    network = ReluNetwork(
        tuple(rng.normal(size=pair) for pair in itertools.pairwise(sizes)),
        tuple(rng.normal(size=size) for size in sizes[1:]),
    )
    pieces = network.pieces()
    assert len(pieces) > 2
    for piece in pieces:
        inside = rng.dirichlet(np.ones(len(piece.corners)), 5) @ piece.corners
        np.testing.assert_allclose(network(inside), (inside @ piece.slope + piece.offset)[:, 0], atol=1e-9)
    assert sum(volume(piece.corners) for piece in pieces) == pytest.approx(1.0)


def volume(corners: np.ndarray) -> float:
    if corners.shape[1] == 1:
        return float(np.ptp(corners))
    x, y = corners.T
    return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2)


def test_the_smallest_term_is_the_objective() -> None:
    objective, points = actions(2, 1, 0.2), np.random.default_rng(0).random((50, 2))
    assert objective.terms is not None
    np.testing.assert_array_equal(objective.terms(points).min(axis=1), objective(points))


def test_a_well_is_as_deep_as_said() -> None:
    objective = well(2, 5, -0.05, 0.03)
    assert objective(np.array([objective.minimiser]))[0] == pytest.approx(-0.05)


def test_rough_outputs() -> None:
    smooth, points = fourier(1, 2, 0.1), np.random.default_rng(0).random((500, 1))
    steps = quantised(smooth, 1 / 8)(points)
    np.testing.assert_array_equal(steps * 8, np.round(steps * 8))
    assert np.abs(steps - smooth(points)).max() <= 1 / 16
    rough = noisy(smooth, 0.01, seed=4)
    np.testing.assert_array_equal(rough(points), rough(points))
    np.testing.assert_array_equal(rough(points[::-1]), rough(points)[::-1])
    away = rough(points) - smooth(points)
    assert np.abs(away).max() < 0.01
    assert abs(away.mean()) < 0.002
    assert np.abs(np.corrcoef(away, noisy(smooth, 0.01, seed=5)(points) - smooth(points))[0, 1]) < 0.2
