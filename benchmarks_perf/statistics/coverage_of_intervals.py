"""How often intervals contain the truth, by exact enumeration: no simulation, no noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from reporting import at_least, bench
from scipy.stats import binom, multinomial
from statsmodels.stats.proportion import confint_proportions_2indep

from vlassess.stats.paired import tango_bounds
from vlassess.stats.rates import clopper_pearson, jeffreys, wilson

RATES = (0.02, 0.1, 0.5, 0.9, 0.98)
SIZES = (20, 50, 200)
CORRELATIONS = (0.0, 0.3, 0.6)
PAIRS = [(a, b) for a, b in itertools.product(RATES, repeat=2) if abs(a - b) <= 0.5 + 1e-9]
TINY = 1e-9


def measure_coverage() -> None:
    """Print the coverage of every interval; the named figure is the least over rates."""
    for n in SIZES:
        for name, method in (("clopper_pearson", clopper_pearson), ("wilson", wilson), ("jeffreys", jeffreys)):
            ends = np.array([method(k, n) for k in range(n + 1)])
            least = min(_covered(ends, binom.pmf(np.arange(n + 1), n, p), p) for p in RATES)
            if name == "clopper_pearson":
                at_least(f"coverage {name} n={n}", least, 0.95)
            else:
                bench(f"coverage {name} n={n}", least)
        for correlation in CORRELATIONS:
            at_least(f"coverage tango n={n} correlation={correlation}", min(_tango(n, correlation)), 0.935)
        at_least(f"coverage newcombe n={n}", min(_newcombe(n)), 0.935)


def _covered(ends: NDArray[np.float64], chances: NDArray[np.float64], truth: float) -> float:
    inside = (ends[:, 0] <= truth + TINY) & (truth - TINY <= ends[:, 1])
    return math.fsum(chances[inside])


def _tango(n: int, correlation: float) -> Iterator[float]:
    only_a, only_b = (index.ravel() for index in np.indices((n + 1, n + 1)))
    possible = only_a + only_b <= n
    only_a, only_b = only_a[possible], only_b[possible]
    ends = np.stack(tango_bounds(only_a, only_b, n), axis=1)
    for p, q in PAIRS:
        both = p * q + correlation * math.sqrt(p * (1 - p) * q * (1 - q))
        if max(0.0, p + q - 1) <= both <= min(p, q) + 1e-12:
            shares = [max(p - both, 0.0), max(q - both, 0.0)]
            counts = np.stack([only_a, only_b, n - only_a - only_b], axis=1)
            yield _covered(ends, multinomial.pmf(counts, n, [*shares, 1 - sum(shares)]), p - q)


def _newcombe(n: int) -> Iterator[float]:
    k_a, k_b = (index.ravel() for index in np.indices((n + 1, n + 1)))
    ends = np.stack(confint_proportions_2indep(k_a, n, k_b, n, compare="diff", method="newcomb"), axis=1)
    for p, q in PAIRS:
        yield _covered(ends, binom.pmf(k_a, n, p) * binom.pmf(k_b, n, q), p - q)
