from __future__ import annotations

import numpy as np
import pytest

from tests.unit.robustness.solving import decided, said
from vlassess.robustness import HoelderMargin, Lipschitz
from vlassess.robustness.objectives import cones, lattice, relu_network


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("make", [lattice, cones])
def test_with_a_true_bound_every_verdict_is_true(make, dimension: int) -> None:  # type: ignore[no-untyped-def]
    kinds = []
    for seed in range(40):
        minimum = (-0.3, -0.02, 0.05, 0.3)[seed % 4]
        objective = make(dimension, seed, minimum)
        verdict = said(decided(Lipschitz(bound=objective.lipschitz, batch=4, budget=3000), dimension, objective))
        kinds.append(verdict.kind)
        assert verdict.kind != ("robust" if minimum < 0 else "adversarial")
        if verdict.kind == "robust":
            assert verdict.lower_bound <= minimum
    assert kinds.count("unknown") <= 12 * (dimension > 1)


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("minimum", [-0.05, 0.05])
def test_networks_with_their_exact_constant(dimension: int, minimum: float) -> None:
    for seed in range(6):
        network = relu_network(dimension, seed, minimum)
        assert network.lipschitz is not None
        verdict = said(decided(Lipschitz(bound=network.lipschitz, budget=20_000), dimension, network))
        assert verdict.kind == ("robust" if minimum > 0 else "adversarial")


def test_a_bound_for_each_axis() -> None:
    def function(points: np.ndarray) -> np.ndarray:
        return 0.2 + 3.0 * np.abs(points[:, 0] - 0.4) + 0.01 * np.abs(points[:, 1] - 0.5)

    each, one = (said(decided(Lipschitz(bound=bound), 2, function)) for bound in ((3.0, 0.01), 3.01))
    assert each.kind == one.kind == "robust"
    assert each.constants == (3.0, 0.01)
    assert each.queries < one.queries


def test_a_bound_that_is_violated_ends_the_run() -> None:
    def function(points: np.ndarray) -> np.ndarray:
        return 0.1 + 2.0 * np.abs(points[:, 0] - 0.4)

    verdict = said(decided(Lipschitz(bound=0.9), 1, function))
    assert verdict.kind == "unknown"
    assert verdict.reason == "bound violated"
    assert verdict.contradiction is not None


def test_a_violation_between_boxes_is_seen_before_the_certificate() -> None:
    def jump(points: np.ndarray) -> np.ndarray:
        return np.where(points[:, 0] < 1 / 3, 0.1, 0.6)

    verdict = said(decided(Lipschitz(bound=1.7), 1, jump))
    assert verdict.kind == "unknown"
    assert verdict.reason == "bound violated"


def test_it_needs_far_fewer_queries_than_the_curve() -> None:
    objective = cones(2, 3, 0.1)
    assert objective.lipschitz is not None
    boxes = decided(Lipschitz(bound=objective.lipschitz), 2, objective)
    curve = decided(HoelderMargin(), 2, objective)
    assert said(boxes).kind == "robust"
    assert boxes.queries < 4 * curve.queries
