"""CPU time of the solver without the objective, against the numpy prototype and against the number of queries."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from instances import Instance, median
from reporting import at_most, bench

from vlassess.robustness import Hoelder, HoelderCoverage, Run, Settings

PROTOTYPE = Path(__file__).parents[3] / "shared" / "reference" / "h2v_prototype.py"
LIMIT = 0.4
FLAT = 1.5
REPEATS = 5


class Timed:
    """An objective that keeps the CPU time spent in it."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self.function, self.spent, self.queries = function, 0.0, 0

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the values."""
        begun = time.process_time()
        values = self.function(points)
        self.spent += time.process_time() - begun
        self.queries += len(points)
        return values


def measure_overhead(full: bool) -> None:
    """Print all of it; without the prototype's file, only our own figures."""
    print(f"# 4. solver overhead, {'full' if full else 'short'} form", flush=True)
    prototype = load()
    if prototype is None:
        print(f"{PROTOTYPE} is not there: nothing to compare with, only our own times are printed")
    for dimension in (2, 3):
        certificates(prototype, dimension, REPEATS if full else 3)
        long_runs(prototype, dimension, 50_000 if full else 10_000)


def certificates(prototype: ModuleType | None, dimension: int, repeats: int) -> None:
    """Print the CPU time a query of certificates, the coverage and the batch being the same."""
    objectives = [Instance("actions", dimension, seed, 0.2).objective() for seed in range(repeats)]
    for batch in (1, 16):
        ours = [per_query(HoelderCoverage(batch=batch), one, dimension) for one in objectives]
        name = f"certificates_n{dimension}_batch_{batch}"
        bench(f"microseconds_a_query_{name}", 1e6 * median(ours))
        if prototype is not None:
            theirs = [
                of_prototype(prototype, one, dimension, rule="margin", cover=1e-3, xi=1e-6, K=10_000, batch=batch)
                for one in objectives
            ]
            ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
            at_most(f"overhead_against_prototype_{name}", median(ratios), LIMIT)


def long_runs(prototype: ModuleType | None, dimension: int, longest: int) -> None:
    """Print the CPU time a query of a search that does not end, short and long."""
    smooth = Instance("fourier", dimension, 3, 0.1).objective()

    def plateau(points: np.ndarray) -> np.ndarray:
        return np.maximum(smooth(points) - 0.4, 0.0) + 1e-9

    for batch in (1, 16):
        times = {
            queries: median(
                per_query(Hoelder(epsilon=1e-12, budget=queries, batch=batch), plateau, dimension) for _ in range(3)
            )
            for queries in (2000, longest)
        }
        name = f"n{dimension}_batch_{batch}"
        print(f"N={dimension}, batch {batch}: {', '.join(f'{1e6 * t:.1f} us at {n}' for n, t in times.items())}")
        at_most(f"overhead_{longest}_against_2000_{name}", times[longest] / times[2000], FLAT)
        if prototype is not None:
            theirs = of_prototype(
                prototype, plateau, dimension, rule="fixed", eps=1e-12, eps_min=1e-12, xi=1e-6, K=longest, batch=batch
            )
            at_most(f"overhead_against_prototype_{longest}_{name}", times[longest] / theirs, LIMIT)


def per_query(settings: Settings, function: Callable[[np.ndarray], np.ndarray], dimension: int) -> float:
    """Return our CPU seconds a query, the objective's not counted."""
    timed, begun = Timed(function), time.process_time()
    run = Run(settings, dimension)
    while run.verdict is None:
        run.tell(timed(run.ask()))
    return (time.process_time() - begun - timed.spent) / timed.queries


def of_prototype(
    prototype: ModuleType, function: Callable[[np.ndarray], np.ndarray], dimension: int, **settings: object
) -> float:
    """Return the prototype's CPU seconds a query, the objective's not counted."""
    timed, begun = Timed(function), time.process_time()
    prototype.h2v(timed, dimension, **settings)
    return (time.process_time() - begun - timed.spent) / timed.queries


def load() -> ModuleType | None:
    """Return the prototype, or None where it is not there."""
    if not PROTOTYPE.exists():
        return None
    spec = importlib.util.spec_from_file_location("h2v_prototype", PROTOTYPE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
