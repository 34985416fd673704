from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from statsmodels.stats.proportion import tost_proportions_2indep

from vlassess.stats.equivalence import (
    equivalent,
    equivalent_paired,
    not_worse,
    not_worse_paired,
    paired_interval_within,
    reproduction,
)
from vlassess.stats.paired import PairedTable


def test_farrington_and_manning_by_maximising_the_likelihood() -> None:
    k_a, n_a, k_b, n_b, margin = 83, 100, 88, 120, 0.1
    grid = np.linspace(margin + 1e-4, 1 - 1e-4, 200_001)
    logs = k_a * np.log(grid - margin) + (n_a - k_a) * np.log(1 - grid + margin)
    logs += k_b * np.log(grid) + (n_b - k_b) * np.log(1 - grid)
    q = float(grid[np.argmax(logs)])
    p = q - margin
    z = (k_a / n_a - k_b / n_b + margin) / math.sqrt(p * (1 - p) / n_a + q * (1 - q) / n_b)
    assert not_worse(k_a, n_a, k_b, n_b, margin).p_value == pytest.approx(float(norm.sf(z)), abs=1e-4)


def test_equivalence_against_statsmodels() -> None:
    theirs = tost_proportions_2indep(450, 500, 455, 500, -0.05, 0.05, method="score", correction=False)
    assert equivalent(450, 500, 455, 500, 0.05).p_value == pytest.approx(float(theirs.pvalue), abs=1e-9)


@given(counts=st.builds(PairedTable, *[st.integers(0, 80)] * 4), margin=st.floats(0.02, 0.4))
@settings(deadline=None, max_examples=80)
def test_the_paired_tests_are_the_interval(counts: PairedTable, margin: float) -> None:
    inside = paired_interval_within(counts, margin)
    found = equivalent_paired(counts, margin)
    if inside is None:
        assert counts.pairs == 0
        assert not found.shown
    elif abs(found.p_value - 0.05) > 1e-6:
        assert found.shown == inside
    assert found.p_value >= not_worse_paired(counts, margin).p_value - 1e-12


def test_no_significant_difference_is_not_likeness() -> None:
    assert not equivalent(7, 20, 8, 20, 0.05).shown
    assert not not_worse_paired(PairedTable(10, 2, 3, 5), 0.03).shown
    assert not_worse_paired(PairedTable(900, 20, 22, 58), 0.03).shown


@pytest.mark.parametrize("successes", [0, 20])
def test_the_ends_of_the_range_are_defined(successes: int) -> None:
    assert 0 < equivalent(successes, 20, successes, 20, 0.05).p_value < 1


@pytest.mark.parametrize(
    ("successes", "n", "reported", "reported_n", "verdict"),
    [
        # The harness paper's own cases: X-VLA on LIBERO as reported and with the wrong state source; GR00T with a gap
        # of -8.0 points on 200 episodes; and a pilot.
        (1956, 2000, 0.981, 2000, "reproduced"),
        (840, 2000, 0.978, 2000, "not reproduced"),
        (119, 200, 0.677, 200, "approximate"),
        (19, 20, 0.97, 500, "approximate"),
        (1956, 2000, 0.981, None, "reproduced"),
        (840, 2000, 0.978, None, "not reproduced"),
        (19, 20, 0.97, None, "approximate"),
        (500, 500, 1.0, None, "reproduced"),
    ],
)
def test_reproduction(successes: int, n: int, reported: float, reported_n: int | None, verdict: str) -> None:
    found = reproduction(successes, n, reported, reported_n)
    assert found.verdict == verdict
    assert found.interval.low - 1e-3 <= found.difference <= found.interval.high + 1e-3


def test_a_significant_difference_within_the_margin_is_reproduced() -> None:
    found = reproduction(19_000, 20_000, 0.94, 20_000)
    assert found.interval.low > 0
    assert found.verdict == "reproduced"


def test_a_published_rate_without_its_n_is_taken_as_exact() -> None:
    found = reproduction(94, 100, 0.96, None, margin=0.05)
    low = binomtest(94, 100, 0.91, "greater").pvalue
    assert found.equivalence.p_value == pytest.approx(float(low))


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="margin is 3"):
        equivalent(1, 2, 1, 2, 3)
    with pytest.raises(ValueError, match=r"must be below 0\.5"):
        equivalent(1, 2, 1, 2, 0.1, 0.6)
    with pytest.raises(ValueError, match="reported is 97"):
        reproduction(1, 2, 97, 100)
    with pytest.raises(ValueError, match="0 successes in 0"):
        reproduction(0, 0, 0.5, None)
