from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.robustness.solving import decided, said
from vlassess.robustness import HoelderCoverage
from vlassess.robustness.local_model import proposal

Floats = np.ndarray


def asked(function: Callable[[Floats], Floats], dimension: int) -> Floats:
    return np.round(decided(HoelderCoverage(budget=100), dimension, function).certificate().places(), 4)


@pytest.mark.parametrize("dimension", [2, 3])
def test_where_all_falls_outwards_corners_come_right_after_the_middle(dimension: int) -> None:
    places = asked(lambda points: 2.0 - ((points - 0.5) ** 2).sum(axis=1), dimension)
    first = places[: 2**dimension + 1]
    np.testing.assert_array_equal(first[2], [0.5] * dimension)
    corners = {tuple(place) for place in np.delete(first, 2, axis=0)}
    assert len(corners) == 2**dimension
    assert {number for corner in corners for number in corner} == {0.0, 1.0}


def test_elsewhere_they_come_later_but_they_come() -> None:
    places = asked(lambda points: 2.0 + points[:, 0] + 0.5 * points[:, 1], 2)
    at = [number for number, place in enumerate(places) if set(place) == {0.0, 1.0} or set(place) == {1.0}]
    assert at[0] == 1
    assert at[1] > 20


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_the_model_of_a_quadratic_is_where_it_is_smallest(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    points = rng.random((60, dimension))
    place = np.full(dimension, 0.4)
    jump = proposal(points, ((points - place) ** 2).sum(axis=1))
    assert jump is not None
    assert np.abs(jump - place).max() < 1e-6


def test_the_model_stays_in_the_box_and_proposes_nothing_that_was_seen() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((40, 2))
    values = points[:, 0]
    for _ in range(20):
        jump = proposal(points, values)
        if jump is None:
            break
        assert (jump >= 0).all()
        assert (jump <= 1).all()
        assert np.linalg.norm(points - jump, axis=1).min() > 0
        points, values = np.vstack([points, jump]), np.append(values, jump[0])
    assert values.min() == 0.0


def test_too_few_places_give_no_model() -> None:
    assert proposal(np.zeros((3, 2)), np.zeros(3)) is None
    assert proposal(np.full((30, 2), 0.5), np.ones(30)) is None


def test_a_smooth_dip_is_found_sooner_than_by_division() -> None:
    def dip(points: Floats) -> Floats:
        away: Floats = ((points - np.array([0.37, 0.61])) ** 2).sum(axis=1)
        return 3.0 * away - 1e-5

    verdict = said(decided(HoelderCoverage(), 2, dip))
    assert verdict.kind == "adversarial"
    assert verdict.queries < 25
