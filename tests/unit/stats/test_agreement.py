"""Rank agreement, beside the figures that the SIMPLER authors publish."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.stats.agreement import kendall_tau, mean_maximum_rank_violation, pearson, rank_agreement

# Success rates of RT-2-X, RT-1 (converged, 15 %, X, begin) and Octo-Base as the authors publish them, on the robot and
# in simulation with visual matching, and the measures of their table 1: arXiv 2405.05941.
PICK_REAL, PICK_SIMULATED = (0.907, 0.853, 0.920, 0.760, 0.133, 0.293), (0.787, 0.857, 0.710, 0.567, 0.027, 0.170)
NEAR_REAL, NEAR_SIMULATED = (0.733, 0.633, 0.583, 0.450, 0.017, 0.350), (0.779, 0.442, 0.354, 0.317, 0.050, 0.042)

Rates = st.lists(st.integers(0, 40).map(lambda won: won / 40), min_size=2, max_size=6)


@pytest.mark.parametrize(
    ("simulated", "real", "mmrv", "r"),
    [(PICK_SIMULATED, PICK_REAL, 0.031, 0.976), (NEAR_SIMULATED, NEAR_REAL, 0.111, 0.855)],
)
def test_published_tables_of_simpler(
    simulated: tuple[float, ...], real: tuple[float, ...], mmrv: float, r: float
) -> None:
    # Rates have three digits, which moves r by a thousandth.
    assert mean_maximum_rank_violation(simulated, real) == pytest.approx(mmrv, abs=6e-4)
    assert pearson(simulated, real) == pytest.approx(r, abs=1.5e-3)


@given(Rates, Rates)
def test_mmrv_is_its_definition(real: list[float], simulated: list[float]) -> None:
    real, simulated = (side[: min(len(real), len(simulated))] for side in (real, simulated))
    places = range(len(real))
    expected = np.mean(
        [
            max(abs(real[i] - real[j]) * ((simulated[i] < simulated[j]) != (real[i] < real[j])) for j in places)
            for i in places
        ]
    )
    assert mean_maximum_rank_violation(simulated, real) == pytest.approx(expected)


@given(Rates)
def test_a_rising_simulation_violates_nothing(real: list[float]) -> None:
    assert mean_maximum_rank_violation([0.5 * value for value in real], real) == 0.0


def test_tau_counts_pairs() -> None:
    first, second = [0.1, 0.4, 0.2, 0.9], [0.2, 0.3, 0.5, 0.8]
    signs = [
        np.sign(first[i] - first[j]) * np.sign(second[i] - second[j]) for i, j in itertools.combinations(range(4), 2)
    ]
    assert kendall_tau(first, second) == pytest.approx(np.mean(signs))


def test_what_is_undefined_is_none() -> None:
    assert kendall_tau([0.5], [0.5]) is None
    assert kendall_tau([0.5, 0.5], [0.1, 0.2]) is None
    assert pearson([0.1, 0.2], [0.3, 0.1]) is None
    assert mean_maximum_rank_violation([0.1], [0.2]) is None


def test_few_trials_leave_the_order_open_and_many_do_not() -> None:
    rates = np.array([[0.2], [0.4], [0.6], [0.8]])
    wide, narrow = (
        rank_agreement((rates * n, np.full((4, 1), n)), (rates * n, np.full((4, 1), n)), np.random.default_rng(1))
        for n in (10, 2000)
    )
    assert wide.tau == narrow.tau == pytest.approx(1.0)
    assert wide.tau_interval is not None
    assert narrow.tau_interval is not None
    assert wide.tau_interval.low < 0.7
    assert narrow.tau_interval.low == pytest.approx(1.0)
    assert wide.reversed_chance[0, 1] > 0.1 > narrow.reversed_chance[0, 1]


def test_the_interval_holds_the_true_tau_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(100):
        real, simulated = rng.random((2, 5, 1))
        n = np.full((5, 1), 30)
        found = rank_agreement((rng.binomial(n, simulated), n), (rng.binomial(n, real), n), rng, draws=400)
        true = kendall_tau(simulated[:, 0], real[:, 0])
        assert true is not None
        assert found.tau_interval is not None
        held += found.tau_interval.low - 1e-9 <= true <= found.tau_interval.high + 1e-9
    assert held >= 90
