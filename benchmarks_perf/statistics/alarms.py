"""How often a test finds a difference, or a likeness, that is not there."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from reporting import at_most, bench
from scipy.stats import binom

from vlassess.stats.budget import mcnemar_power
from vlassess.stats.clusters import cluster_mean, hierarchical_difference
from vlassess.stats.equivalence import MarginTest, equivalent, equivalent_paired, not_worse, not_worse_paired
from vlassess.stats.paired import PairedTable, paired_table
from vlassess.stats.permutation import shuffle, sign_flip
from vlassess.stats.stratified import cochran_mantel_haenszel
from vlassess.stats.unpaired import boschloo

ALPHA = 0.05
RUNS = 10_000
DRAWS = 999
MARGIN = 0.1
GRID = np.linspace(0.005, 0.995, 199)

Alarm = Callable[[np.random.Generator], bool]


def measure_alarms() -> None:
    """Print the chance of a false alarm of every test; of the exact ones, the largest over all rates."""
    for n in (20, 50, 200):
        largest = max(mcnemar_power(n, 1e-9, float(psi)) for psi in GRID)
        at_most(f"false alarms mcnemar_exact n={n}", largest, ALPHA + 1e-9)
    for n_a, n_b in ((20, 20), (20, 50)):
        at_most(f"false alarms boschloo n={n_a},{n_b}", _boschloo(n_a, n_b), ALPHA + 1e-9)
    for name, alarm in SIMULATED.items():
        rng = np.random.default_rng(18)
        share = float(np.mean([alarm(rng) for _ in range(RUNS)]))
        at_most(f"false alarms {name}", share, ALPHA + 0.005)
    bench("standard error of a simulated share of 0.05", math.sqrt(ALPHA * (1 - ALPHA) / RUNS))


def _boschloo(n_a: int, n_b: int) -> float:
    rejected = np.array([[boschloo(a, n_a, b, n_b) <= ALPHA for b in range(n_b + 1)] for a in range(n_a + 1)])
    sizes = [binom.pmf(np.arange(n_a + 1), n_a, p) @ rejected @ binom.pmf(np.arange(n_b + 1), n_b, p) for p in GRID]
    return float(max(sizes))


def _tasks(rng: np.random.Generator, tasks: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums and counts of paired differences in tasks that favour either policy at random."""
    rates = rng.beta(2, 2, tasks)
    gains = rng.normal(0, 0.15, tasks)
    a = rng.binomial(50, np.clip(rates + gains, 0, 1))
    b = rng.binomial(50, np.clip(rates - gains, 0, 1))
    return (a - b).astype(np.float64), np.full(tasks, 50.0)


def _over_tasks(tasks: int) -> Alarm:
    def alarm(rng: np.random.Generator) -> bool:
        interval = cluster_mean(*_tasks(rng, tasks), rng, draws=DRAWS, bounds=(-1.0, 1.0)).interval
        return interval is not None and not interval.low <= 0 <= interval.high

    return alarm


def _one_rate(tasks: int) -> Alarm:
    def alarm(rng: np.random.Generator) -> bool:
        k = rng.binomial(50, rng.beta(4, 2, tasks))
        interval = cluster_mean(k, np.full(tasks, 50.0), rng, draws=DRAWS).interval
        return interval is not None and not interval.low <= 4 / 6 <= interval.high

    return alarm


def _flip_tasks(rng: np.random.Generator) -> bool:
    sums, counts = _tasks(rng, 8)
    return (sign_flip(sums / counts, rng, DRAWS) or 0.0) <= ALPHA


def _flip_progress(rng: np.random.Generator) -> bool:
    shared = rng.random(50)
    a, b = (np.clip(shared + rng.normal(0, 0.3, 50), 0, 1) for _ in range(2))
    return (sign_flip(a - b, rng, DRAWS) or 0.0) <= ALPHA


def _shuffle_progress(rng: np.random.Generator) -> bool:
    a, b = (np.where(rng.random(size) < 0.4, 1.0, rng.random(size)) for size in (30, 50))
    return (shuffle(a, b, rng, DRAWS) or 0.0) <= ALPHA


def _strata(rng: np.random.Generator) -> bool:
    rates = np.array([0.05, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
    size_a, size_b = np.array([5, 20] * 5), np.array([20, 5] * 5)
    return (
        cochran_mantel_haenszel(rng.binomial(size_a, rates), size_a, rng.binomial(size_b, rates), size_b).p_value
        <= ALPHA
    )


def _repeats(rng: np.random.Generator) -> bool:
    easy = rng.beta(1, 1, 60)
    gains = rng.normal(0, 0.2, 60)
    a = rng.random((60, 3)) < np.clip(easy + gains, 0, 1)[:, None]
    b = rng.random((60, 3)) < np.clip(easy - gains, 0, 1)[:, None]
    found = hierarchical_difference(a, b, np.repeat(np.arange(6), 10), "new starts", rng, DRAWS).interval
    return found is not None and not found.low <= 0 <= found.high


def _margin_paired(test: Callable[[PairedTable, float], MarginTest], sign: int) -> Alarm:
    """Return a test on 200 pairs whose difference is at the margin, on the side of ``sign``."""

    def alarm(rng: np.random.Generator) -> bool:
        shared = rng.random(200)
        own = np.where(rng.random(200) < 0.3, rng.random(200), shared)
        return test(paired_table(own < 0.8 + sign * MARGIN, shared < 0.8), MARGIN).shown

    return alarm


def _margin(test: Callable[[int, int, int, int, float], MarginTest], sign: int) -> Alarm:
    """Return the same on 300 unpaired episodes an arm."""

    def alarm(rng: np.random.Generator) -> bool:
        a, b = int(rng.binomial(300, 0.8 + sign * MARGIN)), int(rng.binomial(300, 0.8))
        return test(a, 300, b, 300, MARGIN).shown

    return alarm


SIMULATED: dict[str, Alarm] = {
    "cluster interval, difference, 4 tasks": _over_tasks(4),
    "cluster interval, difference, 10 tasks": _over_tasks(10),
    "cluster interval, difference, 30 tasks": _over_tasks(30),
    "cluster interval, difference, 90 tasks": _over_tasks(90),
    "cluster interval, rate 0.67, 4 tasks": _one_rate(4),
    "cluster interval, rate 0.67, 10 tasks": _one_rate(10),
    "cluster interval, rate 0.67, 40 tasks": _one_rate(40),
    "sign flip of 8 tasks": _flip_tasks,
    "sign flip of 50 pairs' progress": _flip_progress,
    "permutation of unpaired progress": _shuffle_progress,
    "cochran_mantel_haenszel": _strata,
    "not worse, paired, at the margin": _margin_paired(not_worse_paired, -1),
    "equivalent, paired, at the margin": _margin_paired(equivalent_paired, 1),
    "not worse, unpaired, at the margin": _margin(not_worse, -1),
    "equivalent, unpaired, at the margin": _margin(equivalent, 1),
    "repeats, 60 starts x 3, new starts": _repeats,
}
