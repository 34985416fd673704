"""No robust verdict is contradicted by brute force, and every witness replays one at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.robustness.solving import decided, said
from vlassess.robustness import HoelderCoverage, Lipschitz, Settings
from vlassess.robustness.objectives import (
    Known,
    actions,
    cones,
    fourier,
    lattice,
    noisy,
    quantised,
    relu_network,
    well,
)

MINIMA = (-0.1, -0.005, 0.005, 0.1, 0.3)
SUBJECTS: dict[str, Callable[[int, int, float], Known]] = {
    "fourier": fourier,
    "actions": actions,
    "well": lambda n, seed, minimum: well(n, seed, minimum, {1: 0.001, 2: 0.05, 3: 0.1}[n]),
    "lattice": lattice,
    "cones": cones,
    "noisy": lambda n, seed, minimum: noisy(fourier(n, seed, minimum + 0.01), 0.01),
    "quantised": lambda n, seed, minimum: quantised(fourier(n, seed, minimum), 1 / 32),
    "network": relu_network,
}
NOISE = {"noisy": 0.01, "quantised": 1 / 64}


def agrees(subject: str, dimension: int, seed: int, points: int) -> bool:
    """Whether there is a verdict at all; a wrong one fails."""
    objective = SUBJECTS[subject](dimension, seed, MINIMA[seed % len(MINIMA)])
    solvers: list[Settings] = [HoelderCoverage(batch=8, noise=NOISE.get(subject, 0.0), budget=6000)]
    if objective.lipschitz is not None:
        solvers.append(Lipschitz(bound=objective.lipschitz, batch=8, budget=6000))
    verdicts = [said(decided(settings, dimension, objective)) for settings in solvers]
    for verdict in verdicts:
        if verdict.kind == "adversarial":
            assert objective(np.array([verdict.witness]))[0] == pytest.approx(verdict.value, abs=1e-12)
            assert verdict.value < 0
        if verdict.kind == "robust":
            assert objective(brute(objective, dimension, points)).min() > 0, (subject, dimension, seed)
    return any(verdict.kind != "unknown" for verdict in verdicts)


def brute(objective: Known, dimension: int, points: int) -> np.ndarray:
    side = round(points ** (1 / dimension))
    axis = np.linspace(0.0, 1.0, side)
    mesh = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    near = np.random.default_rng(0).normal(np.array(objective.minimiser), 0.01, (points // 10, dimension))
    return np.concatenate([mesh, np.clip(near, 0, 1), [objective.minimiser]])


CASES = [(subject, n) for subject in SUBJECTS for n in (1, 2, 3) if (subject, n) != ("network", 3)]


@pytest.mark.parametrize(("subject", "dimension"), CASES)
def test_no_verdict_is_contradicted(subject: str, dimension: int) -> None:
    assert any([agrees(subject, dimension, seed, 30_000) for seed in (1, 3)])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("subject", "dimension"), CASES)
def test_no_verdict_is_contradicted_by_a_million_points(subject: str, dimension: int) -> None:
    assert any([agrees(subject, dimension, seed, 10**6) for seed in range(20)])
