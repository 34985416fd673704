"""False alarms of the sequential test when somebody looks all the time, as eight workers deliver the outcomes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from reporting import at_most, bench
from scipy.stats import binom

from vlassess.stats.sequential import log_capital

ALPHA = 0.05
WORKERS = 8
BLOCKS = 60
RUNS = 3000
RATES = np.array([0.02, 0.1, 0.3, 0.5, 0.5, 0.6, 0.7, 0.9, 0.95, 0.99])
SHIFT = np.array([0.0, 0.1, -0.2, 0.3, -0.3, 0.2, -0.1, 0.0, 0.0, 0.0])
"""What A gains or loses in each task: 0 on average."""


class Run(NamedTuple):
    """One simulated run of both policies.

    Attributes:
        only_a: Per block, pairs that A alone won.
        only_b: Per block, pairs that B alone won.
        ready: Per block, when it and all before it were finished.
        ends: When each episode ended, in the order of hand-out.
        gains: What each episode adds to A's lead: 1, 0 or -1.
    """

    only_a: NDArray[np.int_]
    only_b: NDArray[np.int_]
    ready: NDArray[np.float64]
    ends: NDArray[np.float64]
    gains: NDArray[np.int_]


def measure_looks() -> None:
    """Print the share of runs without any difference in which each stopping rule found one."""
    capital = _Capital()
    for label, shift in (("tasks of all rates", 0 * SHIFT), ("differences that cancel over tasks", SHIFT)):
        alarms: dict[str, int] = {}
        rng = np.random.default_rng(88)
        for _ in range(RUNS):
            for rule, alarm in _alarms(_simulate(rng, shift), capital):
                alarms[rule] = alarms.get(rule, 0) + alarm
        for rule, count in alarms.items():
            if rule.startswith("naive"):
                bench(f"false alarms, {label}: {rule}", count / RUNS)
            else:
                at_most(f"false alarms, {label}: {rule}", count / RUNS, ALPHA)


class _Capital:
    """Logarithms of the capital, computed once for each table."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], float] = {}

    def __call__(self, only_a: int, only_b: int) -> float:
        key = (max(only_a, only_b), min(only_a, only_b))
        if key not in self._known:
            self._known[key] = log_capital(*key, 0)
        return self._known[key]


def _simulate(rng: np.random.Generator, shift: NDArray[np.float64]) -> Run:
    tasks = len(RATES)
    a = rng.random((BLOCKS, tasks)) < RATES + shift
    b = rng.random((BLOCKS, tasks)) < RATES
    outcomes = np.stack([a, b], axis=2).reshape(BLOCKS, -1)
    gains = np.broadcast_to(np.array([1, -1]), (BLOCKS, tasks, 2)).reshape(BLOCKS, -1) * outcomes
    # A success ends early; a failure runs into the limit.
    seconds = np.where(outcomes, rng.uniform(20, 60, outcomes.shape), 100.0)
    order = rng.permuted(np.broadcast_to(np.arange(2 * tasks), outcomes.shape), axis=1)
    seconds, gains = np.take_along_axis(seconds, order, 1), np.take_along_axis(gains, order, 1)
    free = [0.0] * WORKERS
    ends = np.empty(seconds.size)
    for index, taken in enumerate(seconds.ravel()):
        ends[index] = free[0] + taken
        heapq.heapreplace(free, ends[index])
    ready = np.maximum.accumulate(ends.reshape(BLOCKS, -1).max(axis=1))
    return Run((a & ~b).sum(axis=1), (b & ~a).sum(axis=1), ready, ends, gains.ravel())


def _alarms(run: Run, capital: _Capital) -> Iterator[tuple[str, bool]]:
    limit = -math.log(ALPHA)
    won, lost = np.cumsum(run.only_a), np.cumsum(run.only_b)
    logs = np.array([capital(int(a), int(b)) for a, b in zip(won, lost, strict=True)])
    yield "after every block", bool((logs >= limit).any())

    hourly = np.searchsorted(run.ready, np.arange(600.0, run.ready[-1] + 600.0, 600.0), side="right") - 1
    yield "every ten minutes", bool((logs[hourly[hourly >= 0]] >= limit).any())

    # Goes on beyond the plan only where that looks worth it.
    planned = logs[: BLOCKS // 3].max() >= limit
    yield "extended if promising", bool(planned or (logs[BLOCKS // 3 - 1] > 1 and logs.max() >= limit))

    # Looks when A's lead among everything that happened to finish is at its largest.
    arrived = np.argsort(run.ends, kind="stable")
    lead = np.cumsum(run.gains[arrived])
    best = run.ends[arrived][int(np.argmax(np.abs(lead) / np.sqrt(np.arange(1, len(lead) + 1))))]
    block = int(np.searchsorted(run.ready, best, side="right")) - 1
    yield "at the most favourable moment", bool(block >= 0 and logs[block] >= limit)

    tails = 2 * binom.cdf(np.minimum(won, lost), won + lost, 0.5)
    yield "naive: fixed test after every block", bool((tails <= ALPHA).any())
