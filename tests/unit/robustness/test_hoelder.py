"""H2V and H2V-M: against the prototype, and what is corrected of what is printed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.robustness.prototype import load, needs_prototype
from tests.unit.robustness.solving import decided, said
from vlassess.robustness import Hoelder, HoelderMargin
from vlassess.robustness.objectives import Known, actions, fourier, lattice, noisy, quantised, well

OBJECTIVES = [fourier, actions, lattice]


@needs_prototype
@pytest.mark.parametrize("make", OBJECTIVES)
@pytest.mark.parametrize("minimum", [-0.01, 0.1])
@pytest.mark.parametrize("seed", [1, 2])
def test_on_one_parameter_it_does_what_the_prototype_does(make, minimum: float, seed: int) -> None:  # type: ignore[no-untyped-def]
    objective: Known = make(1, seed, minimum)
    for settings, rule in ((Hoelder(epsilon=1e-5), "fixed"), (HoelderMargin(), "margin")):
        theirs = load().h2v(objective, 1, rule=rule, eps=1e-5, xi=1e-6, K=5000)
        run = decided(settings, 1, objective)
        assert said(run).kind == theirs["verdict"]
        assert abs(run.queries - theirs["q"]) <= 2 + 0.1 * theirs["q"]  # positions are rounded here


@needs_prototype
@pytest.mark.parametrize("dimension", [2, 3])
def test_on_more_it_begins_as_the_prototype_does_and_costs_as_much(dimension: int) -> None:
    ours, theirs = [], []
    for seed in range(7):
        objective = actions(dimension, seed, 0.2)
        asked: list[np.ndarray] = []

        def seen(points: np.ndarray, objective: Known = objective, asked: list[np.ndarray] = asked) -> np.ndarray:
            asked.extend(points)
            return objective(points)

        theirs.append(load().h2v(seen, dimension, rule="margin", xi=1e-6, K=5000)["q"])
        run = decided(HoelderMargin(), dimension, objective)
        np.testing.assert_allclose(run.certificate().places()[:3], asked[:3], atol=2e-2)
        ours.append(run.queries)
    assert 0.6 < np.median(ours) / np.median(theirs) < 1.6


def test_a_negative_margin_does_not_stop_the_search() -> None:
    """For an even N, the margin's power is positive: uncut, it would allow the widest interval at once."""
    objective = fourier(2, 4, 0.05)
    verdict = said(decided(HoelderMargin(epsilon_max=1e-2), 2, objective))
    assert verdict.kind == "robust"
    assert verdict.queries > 20


def test_the_bound_is_that_of_the_current_intervals() -> None:
    """Over all intervals that ever were, the first one's bound of far below zero would count forever."""
    verdict = said(decided(HoelderMargin(), 1, lambda points: 0.3 + np.abs(points[:, 0] - 0.3)))
    assert verdict.kind == "robust"
    assert 0.25 < verdict.lower_bound <= 0.3


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_certificates_without_coverage_can_be_false(dimension: int) -> None:
    verdicts = [
        said(decided(HoelderMargin(budget=2000), dimension, well(dimension, seed, -0.05, 0.02))).kind
        for seed in range(10)
    ]
    assert verdicts.count("robust") > 0


def test_a_margin_is_cheaper_than_a_width_where_outputs_are_rough() -> None:
    fixed, margin = [], []
    for seed in range(2):
        for rough in (quantised(fourier(1, seed, 0.4), 1 / 16), noisy(fourier(1, seed, 0.4), 0.01)):
            fixed.append(decided(Hoelder(budget=4000), 1, rough).queries)
            margin.append(decided(HoelderMargin(budget=4000), 1, rough).queries)
    assert np.median(np.array(fixed) / np.array(margin)) > 8


def test_what_comes_too_close_to_zero_is_said_to_stall() -> None:
    verdict = said(decided(Hoelder(epsilon=1e-2), 1, lambda points: np.abs(points[:, 0] - 0.3) + 1e-4))
    assert verdict.kind == "unknown"
    assert verdict.reason == "stalled"
    assert verdict.lower_bound is not None
    assert verdict.lower_bound <= 0
