"""Queries to a counterexample, against H2V-M, scipy's DIRECT and random draws."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from instances import Instance, decide, median, spread
from reporting import at_least, at_most, bench
from scipy.optimize import direct

from vlassess.robustness import HoelderCoverage, HoelderMargin, Settings

CAP = 10_000
DRAWS = 100_000
"""Random draws after which a seed counts as this many."""
SEEDS = 20
HARD = 500
"""Median of random draws from which an instance is hard."""
GAIN = {1: 2.0, 2: 5.0, 3: 8.0}
FAMILIES: dict[str, dict[int, list[tuple[float, float]]]] = {
    "fourier": {key: [(-0.1, 0.0), (-0.01, 0.0), (-0.001, 0.0)] for key in (1, 2, 3)},
    "actions": {key: [(-0.2, 0.0), (-0.05, 0.0), (-0.005, 0.0)] for key in (1, 2, 3)},
    "well": {
        1: [(-0.3, 0.05), (-0.05, 0.1), (-0.05, 0.05), (-0.05, 0.02)],
        2: [(-0.3, 0.05), (-0.05, 0.1), (-0.05, 0.05), (-0.05, 0.03)],
        3: [(-0.3, 0.1), (-0.05, 0.15), (-0.05, 0.1), (-0.05, 0.08)],
    },
}
"""Family -> parameters -> minimum and width."""
NARROW: dict[str, dict[int, list[tuple[float, float]]]] = {
    "fourier": {key: [(-0.001, 0.0), (-0.0002, 0.0), (-5e-05, 0.0)] for key in (1, 2, 3)},
    "actions": {key: [(-0.005, 0.0), (-0.001, 0.0), (-0.0002, 0.0)] for key in (1, 2, 3)},
    "well": {
        1: [(-0.05, 0.002), (-0.05, 0.001), (-0.05, 0.0005)],
        2: [(-0.05, 0.05), (-0.05, 0.04), (-0.05, 0.03)],
        3: [(-0.05, 0.12), (-0.05, 0.1), (-0.05, 0.08)],
    },
}
"""Candidates for hard instances."""


class Costs(NamedTuple):
    """Queries to a counterexample; what found none counts as the cap."""

    ours: int
    h2vm: int
    direct: int
    random: float


def measure_counterexamples(full: bool) -> None:
    """Print all of it."""
    print(f"# 3. to a counterexample, {'full' if full else 'short'} form", flush=True)
    number = 20 if full else 6
    for dimension, family in itertools.product((1, 2, 3), FAMILIES):
        instances = instances_of(FAMILIES[family][dimension], family, dimension, number)
        costs = spread(costs_of, instances)
        ours, h2vm, by_direct, random = (median(column) for column in zip(*costs, strict=True))
        print(f"N={dimension} {family}: medians ours {ours:g}, H2V-M {h2vm:g}, DIRECT {by_direct:g}, random {random:g}")
        at_most(f"to_counterexample_{family}_n{dimension}", ours / min(h2vm, by_direct), 1.2)
    for dimension in (1, 2, 3):
        hard(dimension, number)


def instances_of(kinds: list[tuple[float, float]], family: str, dimension: int, number: int) -> list[Instance]:
    """Return ``number`` instances of every kind."""
    return [Instance(family, dimension, seed, minimum, size) for minimum, size in kinds for seed in range(number)]


def hard(dimension: int, number: int) -> None:
    """Print the gain over random draws where these need long."""
    candidates = [
        one for family in NARROW for one in instances_of(NARROW[family][dimension], family, dimension, number)
    ]
    found = [(one, costs) for one, costs in zip(candidates, spread(hard_costs, candidates), strict=True) if costs]
    gains = [costs.random / costs.ours for _, costs in found if costs is not None]
    missed = sum(costs is not None and costs.ours >= CAP for _, costs in found)
    for family in NARROW:
        mine = [costs.random / costs.ours for one, costs in found if costs is not None and one.family == family]
        if mine:
            print(f"N={dimension} {family}: {len(mine)} hard, random / ours {median(mine):.3g}")
    print(f"N={dimension}: {len(found)} of {len(candidates)} are hard; {missed} were not found, which counts as {CAP}")
    at_least(f"random_against_ours_hard_n{dimension}", median(gains), GAIN[dimension])
    bench(f"hard_instances_n{dimension}", len(found))


def costs_of(instance: Instance) -> Costs:
    """Return what an instance costs each method."""
    objective = instance.objective()
    dimension = instance.dimension
    return Costs(
        cost(HoelderCoverage(budget=CAP), objective, dimension),
        cost(HoelderMargin(budget=CAP), objective, dimension),
        cost_of_direct(objective, dimension),
        random_median(objective, instance, 5),
    )


def hard_costs(instance: Instance) -> Costs | None:
    """Return what a hard instance costs random draws and us; None if it is not hard."""
    objective = instance.objective()
    draws = random_median(objective, instance, SEEDS)
    if draws <= HARD:
        return None
    return Costs(cost(HoelderCoverage(budget=CAP), objective, instance.dimension), CAP, CAP, draws)


def cost(settings: Settings, objective: Callable[[np.ndarray], np.ndarray], dimension: int) -> int:
    """Return the queries to a counterexample."""
    outcome = decide(settings, objective, dimension)
    return outcome.queries if outcome.kind == "adversarial" else CAP


def random_median(objective: Callable[[np.ndarray], np.ndarray], instance: Instance, seeds: int) -> float:
    """Return the median over seeds of the uniform draws to a counterexample."""
    return median(draws_to(objective, instance.dimension, np.random.default_rng(seed)) for seed in range(seeds))


def draws_to(objective: Callable[[np.ndarray], np.ndarray], dimension: int, rng: np.random.Generator) -> int:
    """Return the number of draws to the first counterexample."""
    for made in range(0, DRAWS, 2000):
        below = np.flatnonzero(objective(rng.random((2000, dimension))) < 0.0)
        if len(below):
            return made + int(below[0]) + 1
    return DRAWS


class Found(Exception):
    """A counterexample was met."""


def cost_of_direct(objective: Callable[[np.ndarray], np.ndarray], dimension: int) -> int:
    """Return the queries that ``scipy.optimize.direct`` needs to a counterexample, as it comes."""
    made = 0

    def counted(point: np.ndarray) -> float:
        nonlocal made
        made += 1
        value = float(objective(point[None])[0])
        if value < 0.0:
            raise Found
        return value

    try:
        direct(counted, [(0, 1)] * dimension, maxfun=CAP, maxiter=CAP, vol_tol=0, len_tol=0)
    except Found:
        return made
    return CAP
