"""What verdicts cost: bisection over radii, the default solver, a margin against a width, the price of coverage."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from instances import Instance, decide, median, outcomes, spread
from reporting import at_least, at_most, bench

from vlassess.robustness import Hoelder, HoelderCoverage, HoelderMargin
from vlassess.robustness.objectives import Known
from vlassess.robustness.radii import RadiusSearch

RADII = {
    1: [(share,) for share in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)],
    2: [(angle, angle) for angle in (0.125, 0.25, 0.5, 1, 2, 4, 6, 10, 15, 20)],
}
RADII[3] = [(*one, *two) for one, two in zip(RADII[1], RADII[2], strict=True)]
"""The published radii of brightness, dual rotation and their composition (Aron et al. 2026)."""
DEPTHS = (-6.0, -3.0, -1.0, -0.3, 0.2)
"""Minima over the largest radius; the objective is 1 in the middle."""


def measure_queries(full: bool) -> None:
    """Print all of it."""
    print(f"# 2. queries, {'full' if full else 'short'} form", flush=True)
    number = 20 if full else 6
    bisection(number)
    certificates(number)
    roughness(number)


def bisection(number: int) -> None:
    """Print the queries of bisection as a share of deciding every radius by itself."""
    for dimension in RADII:
        instances = [Instance("actions", dimension, seed, DEPTHS[seed % len(DEPTHS)]) for seed in range(number)]
        costs = np.array(spread(both_ways, instances))
        ratio = float(costs[:, 0].sum() / costs[:, 1].sum())
        print(f"N={dimension}: bisection {costs[:, 0].sum()} queries, every radius {costs[:, 1].sum()}")
        at_most(f"bisection_against_all_radii_n{dimension}", ratio, 0.5)


def both_ways(instance: Instance) -> tuple[int, int]:
    """Return the queries of bisection and of every radius."""
    objective = instance.objective()
    return search(objective, RADII[instance.dimension], False), search(objective, RADII[instance.dimension], True)


def search(objective: Known, radii: list[tuple[float, ...]], every: bool) -> int:
    """Return the queries of a search over radii around the middle of the box."""
    shares = np.array(radii) / np.array(radii[-1])
    chooser, queries = RadiusSearch(len(radii), every), 0
    while (region := chooser.next()) is not None:
        outcome = decide(HoelderCoverage(batch=16), within(objective, shares[region]), objective.dimension)
        chooser.tell(region, outcome.kind)  # type: ignore[arg-type]
        queries += outcome.queries
    return queries


def within(objective: Known, share: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the objective over a smaller box around the middle."""
    return lambda points: objective(0.5 + (points - 0.5) * share)


def robust_instances(number: int, dimension: int) -> list[Instance]:
    """Return instances that are robust."""
    return [
        Instance(family, dimension, seed, minimum)
        for family in ("fourier", "actions", "lattice")
        for minimum in (0.1, 0.3)
        for seed in range(max(1, number // 4))
    ]


def certificates(number: int) -> None:
    """Print the default solver against H2V-M with the same coverage, and against H2V-M alone."""
    for dimension in (1, 2, 3):
        solvers = [HoelderCoverage(), HoelderCoverage(hunt=False, probes=0), HoelderMargin(), HoelderCoverage(batch=16)]
        found = outcomes(solvers, robust_instances(number, dimension))
        decided = [one for one in found if all(outcome.kind == "robust" for outcome in one)]
        default, covered, alone, many = (median(one[at].queries for one in decided) for at in range(4))
        print(
            f"N={dimension}, {len(decided)} of {len(found)} robust by all: H2V-C {default:g}, H2V-M with the same "
            f"coverage {covered:g}, H2V-M {alone:g}, H2V-C in batches of 16 {many:g}"
        )
        at_most(f"h2vc_against_h2vm_with_coverage_n{dimension}", ratio_of(decided, 0, 1), 1.1)
        bench(f"price_of_coverage_n{dimension}", ratio_of(decided, 0, 2))
        at_most(f"batch_16_against_1_n{dimension}", ratio_of(decided, 3, 0), 1.25)


def ratio_of(found: Iterable[list], one: int, other: int) -> float:
    """Return the median over instances of one solver's queries by another's."""
    return median(outcome[one].queries / outcome[other].queries for outcome in found)


def roughness(number: int) -> None:
    """Print H2V at 1e-5 against H2V-M, where outputs are rough and where they are not."""
    rough = [Instance("quantised", 1, seed, 0.4, 1 / 8) for seed in range(number)]
    rough += [Instance("quantised", 1, seed, 0.4, 1 / 32) for seed in range(number)]
    rough += [Instance("noisy", 1, seed, 0.4, 0.01) for seed in range(number)]
    compare("rough_n1", rough, 8.0)
    for dimension in (1, 2, 3):
        smooth = [Instance(family, dimension, seed, 0.3) for family in ("actions", "lattice") for seed in range(number)]
        compare(f"smooth_n{dimension}", smooth, None)


def compare(name: str, instances: list[Instance], target: float | None) -> None:
    """Print the median ratio of H2V's queries to H2V-M's, of those that H2V-M certified; a cap counts as the cap."""
    budget = 50_000 if target is not None else 20_000
    found = outcomes([Hoelder(epsilon=1e-5, budget=budget), HoelderMargin(budget=10_000)], instances)
    decided = [one for one in found if one[1].kind == "robust"]
    capped = sum(one[0].kind != "robust" for one in decided)
    print(f"{name}: H2V-M certified {len(decided)} of {len(found)}; H2V reached no verdict on {capped} of these")
    ratio = ratio_of(decided, 0, 1)
    if target is None:
        bench(f"h2v_against_h2vm_{name}", ratio)
    else:
        at_least(f"h2v_against_h2vm_{name}", ratio, target)
