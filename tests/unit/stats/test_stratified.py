from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from vlassess.stats.paired import PairedTable, mcnemar_exact
from vlassess.stats.stratified import cochran_mantel_haenszel, paired_strata


def test_published_values() -> None:
    """UC Berkeley admissions by department (Bickel, Hammel and O'Connell, Science 187 (1975) 398-404).

    R's ``mantelhaen.test(UCBAdmissions, correct = FALSE)`` prints M^2 = 1.5246, p = 0.2169, odds ratio 0.9046968 with
    0.7719074 to 1.0603298.
    """
    men, men_n = np.array([512, 353, 120, 138, 53, 22]), np.array([825, 560, 325, 417, 191, 373])
    women, women_n = np.array([89, 17, 202, 131, 94, 24]), np.array([108, 25, 593, 375, 393, 341])
    found = cochran_mantel_haenszel(men, men_n, women, women_n)
    assert found.p_value == pytest.approx(0.2169, abs=5e-5)
    assert found.odds_ratio == pytest.approx(0.9046968, abs=1e-6)
    assert found.odds_interval == pytest.approx((0.7719074, 1.0603298), abs=1e-6)
    # Woolf's and Breslow and Day's tests both reject that the departments are alike.
    assert found.heterogeneity_p is not None
    assert found.heterogeneity_p < 0.01


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_properties(data: st.DataObject) -> None:
    tasks = data.draw(st.integers(1, 6))
    sizes = st.lists(st.integers(1, 12), min_size=tasks, max_size=tasks)
    n_a, n_b = data.draw(sizes), data.draw(sizes)
    k_a = [data.draw(st.integers(0, n)) for n in n_a]
    k_b = [data.draw(st.integers(0, n)) for n in n_b]
    found, swapped = cochran_mantel_haenszel(k_a, n_a, k_b, n_b), cochran_mantel_haenszel(k_b, n_b, k_a, n_a)
    assert 0 <= found.p_value <= 1
    assert swapped.p_value == pytest.approx(found.p_value)
    assert swapped.difference == pytest.approx(-found.difference)
    if found.odds_ratio is not None:
        assert swapped.odds_ratio == pytest.approx(1 / found.odds_ratio)
    for value in (found.odds_ratio, found.heterogeneity_p, *(found.interval or ()), *(found.odds_interval or ())):
        assert value is None or math.isfinite(value)


def test_one_large_stratum_is_the_pooled_test() -> None:
    found = cochran_mantel_haenszel([120], [200], [90], [200])
    pooled = chi2_contingency([[120, 80], [90, 110]], correction=False).pvalue
    assert found.p_value == pytest.approx(pooled, rel=0.02)
    assert found.difference == pytest.approx(0.15)
    half = 1.959963985 * math.sqrt(0.6 * 0.4 / 200 + 0.45 * 0.55 / 200)
    assert found.interval == pytest.approx((0.15 - half, 0.15 + half))
    assert found.heterogeneity_p is None


def test_tasks_that_differ_do_not_make_a_difference() -> None:
    """Both policies are alike in each task, but A ran the easy one more often: pooled they seem to differ."""
    found = cochran_mantel_haenszel([90, 2], [100, 20], [18, 10], [20, 100])
    assert found.p_value == pytest.approx(1.0)
    assert found.difference == pytest.approx(0.0)


def test_strata_without_information_say_nothing() -> None:
    found = cochran_mantel_haenszel([5, 0], [5, 7], [9, 0], [9, 4])
    assert found == (1.0, 0.0, None, None, None, None)
    extreme = cochran_mantel_haenszel([5, 5], [5, 5], [0, 0], [5, 5])
    assert extreme.p_value < 0.01
    assert extreme.odds_ratio is None


def test_pairs_over_tasks() -> None:
    tables = [PairedTable(20, 9, 2, 9), PairedTable(2, 8, 3, 7), PairedTable(10, 0, 0, 10)]
    found = paired_strata(tables)
    assert found.p_value == mcnemar_exact(PairedTable(32, 17, 5, 26))
    assert found.difference == pytest.approx((7 / 40 + 5 / 20 + 0) / 3)
    assert found.odds_ratio == pytest.approx(17 / 5)
    assert found.heterogeneity_p == pytest.approx(chi2_contingency([[9, 8], [2, 3]]).pvalue)
    assert found.odds_interval is not None
    assert found.odds_interval.low < 3.4 < found.odds_interval.high
    assert found.interval is not None
    assert found.interval.low < found.difference < found.interval.high


def test_pairs_that_never_differ_have_no_odds() -> None:
    assert paired_strata([PairedTable(3, 0, 0, 4)]) == (1.0, 0.0, None, None, None, None)
    assert paired_strata([PairedTable(3, 4, 0, 4)]).odds_ratio is None


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="no task is given"):
        cochran_mantel_haenszel([], [], [], [])
    with pytest.raises(ValueError, match="0 <= successes <= n"):
        cochran_mantel_haenszel([3], [2], [1], [1])
    with pytest.raises(ValueError, match="every table needs a pair"):
        paired_strata([])
