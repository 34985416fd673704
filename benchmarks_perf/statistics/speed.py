"""How long a large comparison takes."""

from __future__ import annotations

import time

import numpy as np
from reporting import at_most, bench

from vlassess.stats.comparison import compare_unpaired, rank_policies
from vlassess.stats.sequential import Block, DifferenceState, advance

POLICIES, TASKS, EPISODES, DRAWS = 5, 40, 2000, 10_000


def measure_speed() -> None:
    """Print seconds: five policies against each other, one unpaired comparison, one block of a sequential test."""
    rng = np.random.default_rng(0)
    rates = np.linspace(0.5, 0.9, POLICIES)[:, None]
    successes = rng.random((POLICIES, EPISODES)) < rates
    progress = np.where(successes, 1.0, rng.random((POLICIES, EPISODES)))
    tasks = np.repeat(np.arange(TASKS), EPISODES // TASKS)
    start = time.perf_counter()
    ranking = rank_policies(successes, tasks, rng, progress, draws=DRAWS)
    at_most("seconds, 5 policies x 2000 episodes x 40 tasks, 10000 draws", time.perf_counter() - start, 5)
    bench("comparisons in it", len(ranking.comparisons))

    start = time.perf_counter()
    compare_unpaired((successes[0], tasks), (successes[1], tasks), rng, (progress[0], progress[1]), DRAWS)
    bench("seconds, unpaired 2 x 2000 episodes", time.perf_counter() - start)

    start, state = time.perf_counter(), DifferenceState()
    for _ in range(100):
        state = advance(state, Block(3, 2, 5))
    bench("milliseconds, one block of a sequential test", 10 * (time.perf_counter() - start))
