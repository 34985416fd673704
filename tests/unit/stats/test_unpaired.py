from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import boschloo_exact, fisher_exact

from vlassess.stats.paired import Alternative
from vlassess.stats.unpaired import boschloo, newcombe_interval

# Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, method 10.
NEWCOMBE = [
    (56, 70, 48, 80, 0.0524, 0.3339),
    (9, 10, 3, 10, 0.1705, 0.8090),
    (6, 7, 2, 7, 0.0582, 0.8062),
    (5, 56, 0, 29, -0.0381, 0.1926),
    (0, 10, 0, 20, -0.1611, 0.2775),
    (0, 10, 0, 10, -0.2775, 0.2775),
    (10, 10, 0, 20, 0.6791, 1.0000),
    (10, 10, 0, 10, 0.6075, 1.0000),
]


@st.composite
def arms(draw: st.DrawFn, most: int) -> tuple[int, int, int, int]:
    n_a, n_b = draw(st.integers(1, most)), draw(st.integers(1, most))
    return draw(st.integers(0, n_a)), n_a, draw(st.integers(0, n_b)), n_b


@pytest.mark.parametrize(("k_a", "n_a", "k_b", "n_b", "low", "high"), NEWCOMBE)
def test_published_intervals(k_a: int, n_a: int, k_b: int, n_b: int, low: float, high: float) -> None:
    assert newcombe_interval(k_a, n_a, k_b, n_b) == pytest.approx((low, high), abs=5.1e-5)


@given(arm=arms(most=30), alternative=st.sampled_from(["two-sided", "less", "greater"]))
@settings(deadline=None, max_examples=60)
def test_boschloo_against_scipy(arm: tuple[int, int, int, int], alternative: Alternative) -> None:
    k_a, n_a, k_b, n_b = arm
    expected = boschloo_exact([[k_a, k_b], [n_a - k_a, n_b - k_b]], alternative=alternative).pvalue
    assert boschloo(k_a, n_a, k_b, n_b, alternative) == pytest.approx(expected, abs=1e-6)


def test_seven_against_fourteen_of_twenty() -> None:
    """The example of two 20-trial evaluations: Fisher says no, Boschloo yes, as fieldtrial 0.3.0 also prints."""
    assert fisher_exact([[7, 14], [13, 6]]).pvalue == pytest.approx(0.0562, abs=5e-5)
    assert boschloo(7, 20, 14, 20) == pytest.approx(0.03848314601782476, abs=1e-9)
    assert newcombe_interval(7, 20, 14, 20) == pytest.approx((-0.5788525335, -0.0416149155), abs=1e-9)


@pytest.mark.parametrize(("n_a", "n_b"), [(5, 5), (4, 9), (12, 12)])
def test_boschloo_never_alarms_more_than_alpha(n_a: int, n_b: int) -> None:
    counts = list(itertools.product(range(n_a + 1), range(n_b + 1)))
    rejected = [(a, b) for a, b in counts if boschloo(a, n_a, b, n_b) <= 0.05]
    assert rejected
    for p in np.linspace(0.0, 1.0, 101):
        size = math.fsum(
            math.comb(n_a, a) * math.comb(n_b, b) * p ** (a + b) * (1 - p) ** (n_a + n_b - a - b) for a, b in rejected
        )
        assert size <= 0.05 + 1e-9


@given(arm=arms(most=25))
@settings(deadline=None, max_examples=40)
def test_boschloo_is_at_most_twice_fishers_smaller_side(arm: tuple[int, int, int, int]) -> None:
    k_a, n_a, k_b, n_b = arm
    table = [[k_a, k_b], [n_a - k_a, n_b - k_b]]
    sides = [fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
    assert boschloo(k_a, n_a, k_b, n_b) <= min(1.0, 2 * min(sides)) + 1e-9
    assert boschloo(k_a, n_a, k_b, n_b) == pytest.approx(boschloo(k_b, n_b, k_a, n_a), abs=1e-9)


def test_large_arms_take_no_time_to_speak_of() -> None:
    assert boschloo(700, 2000, 800, 2000) == pytest.approx(0.00112082, abs=1e-7)


@given(arm=arms(most=200))
@settings(deadline=None, max_examples=80)
def test_newcombe_properties(arm: tuple[int, int, int, int]) -> None:
    k_a, n_a, k_b, n_b = arm
    found, swapped = newcombe_interval(k_a, n_a, k_b, n_b), newcombe_interval(k_b, n_b, k_a, n_a)
    assert -1 - 1e-12 <= found.low <= k_a / n_a - k_b / n_b + 1e-12
    assert k_a / n_a - k_b / n_b - 1e-12 <= found.high <= 1 + 1e-12
    assert (-swapped.high, -swapped.low) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("counts", [(3, 2, 1, 2), (1, 2, -1, 2), (0, 0, 1, 2)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int, int]) -> None:
    for function in (boschloo, newcombe_interval):
        with pytest.raises(ValueError, match="successes in"):
            function(*counts)
