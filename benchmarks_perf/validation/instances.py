"""The instances that are measured, chosen once by family and seed, and how one is decided.

Solvers were tuned on other seeds and, in part, on another implementation's objectives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from vlassess.robustness import Run, Settings
from vlassess.robustness.objectives import Known, actions, fourier, lattice, noisy, quantised, well

FIRST_SEED = 20_000
PROCESSES = 2
Task = TypeVar("Task")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Instance:
    """One objective: family, number of parameters, seed, minimum, and a width or step where the family has one."""

    family: str
    dimension: int
    seed: int
    minimum: float
    size: float = 0.0

    def objective(self) -> Known:
        """Return it."""
        common = (self.dimension, FIRST_SEED + self.seed, self.minimum)
        if self.family == "well":
            return well(*common, self.size)
        if self.family == "noisy":
            return noisy(fourier(*common), self.size)
        if self.family == "quantised":
            return quantised(fourier(*common), self.size)
        return {"fourier": fourier, "actions": actions, "lattice": lattice}[self.family](*common)


class Outcome(NamedTuple):
    """What became of a run."""

    kind: str
    queries: int


def decide(settings: Settings, function: Callable[[np.ndarray], np.ndarray], dimension: int) -> Outcome:
    """Return the verdict's kind and its cost."""
    run = Run(settings, dimension)
    while run.verdict is None:
        run.tell(function(run.ask()))
    return Outcome(run.verdict.kind, run.queries)


def decide_all(solvers: Sequence[Settings], instance: Instance) -> list[Outcome]:
    """Return what each solver says of one instance."""
    objective = instance.objective()
    return [decide(settings, objective, instance.dimension) for settings in solvers]


def outcomes(solvers: Sequence[Settings], instances: Iterable[Instance]) -> list[list[Outcome]]:
    """Return what each solver says, by instance, in their order."""
    return spread(partial(decide_all, list(solvers)), list(instances))


def spread(work: Callable[[Task], Found], tasks: Sequence[Task]) -> list[Found]:
    """Do the tasks in two processes and return what they give, in order."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(PROCESSES) as pool:
        return list(pool.map(work, tasks, chunksize=max(1, min(16, len(tasks) // 8))))


def wells(dimension: int, width: float, number: int, first: int = 0) -> list[Instance]:
    """Return wells that reach -0.05, of one width."""
    return [Instance("well", dimension, first + seed, -0.05, width) for seed in range(number)]


def median(numbers: Iterable[float]) -> float:
    """Return the median."""
    return float(np.median(list(numbers)))
