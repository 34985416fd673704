from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

from vlassess.stats import budget
from vlassess.stats.paired import PairedTable


def test_every_figure_of_the_transfer_protocol() -> None:
    rule = budget.unpaired_without_power(0.10)
    assert (rule.n, rule.power) == (192, 0.5)
    assert rule.exact == pytest.approx(192.08, abs=0.01)
    assert budget.unpaired_without_power(0.10, rate=0.45).exact == pytest.approx(190.2, abs=0.1)
    assert budget.half_width(20) == pytest.approx(0.22, abs=0.005)
    assert budget.half_width(200) == pytest.approx(0.069, abs=0.0005)
    assert budget.is_pilot(20, 0.10)
    assert budget.is_pilot(20, 0.15)
    assert not budget.is_pilot(200, 0.10)
    assert budget.cost(192, 90).hours == pytest.approx(4.8)
    grid = budget.cost(192, 90, cells=5, policies=2)
    assert grid.trials == 1920
    assert grid.hours == pytest.approx(48.0)
    # "Cut the required n by a factor of two or more": from a correlation of 0.5 on.
    unpaired = budget.unpaired(0.10).n
    assert budget.paired(0.10, budget.discordance_from(0.10, 0.5)).n * 1.9 < unpaired
    assert budget.paired(0.10, budget.discordance_from(0.10, 0.3)).n * 1.9 > unpaired


@pytest.mark.parametrize(("power", "n"), [(0.8, 393), (0.9, 526)])
def test_episodes_an_arm(power: float, n: int) -> None:
    assert budget.unpaired(0.10, power).n == n


@pytest.mark.parametrize(("correlation", "n"), [(0.0, 394), (0.3, 277), (0.5, 200), (0.7, 122)])
def test_pairs(correlation: float, n: int) -> None:
    assert budget.paired(0.10, budget.discordance_from(0.10, correlation)).n == n


def test_the_rule_of_thumb_has_half_power_indeed() -> None:
    """Exact power of the pooled z-test at 192 an arm, .45 against .55."""
    counts = np.arange(193)
    a, b = np.meshgrid(counts, counts, indexing="ij")
    pooled = (a + b) / 384
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(a - b) / 192 / np.sqrt(2 * pooled * (1 - pooled) / 192)
    chance = binom.pmf(a, 192, 0.45) * binom.pmf(b, 192, 0.55)
    assert float(chance[z > 1.959964].sum()) == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize(("delta", "power"), [(0.1, 0.8), (0.05, 0.9), (0.2, 0.8)])
def test_unpaired_is_near_statsmodels_arcsine_formula(delta: float, power: float) -> None:
    effect = proportion_effectsize(0.5 + delta / 2, 0.5 - delta / 2)
    theirs = NormalIndPower().solve_power(effect, power=power, alpha=0.05)
    assert budget.unpaired(delta, power).exact == pytest.approx(theirs, rel=0.015)


@pytest.mark.parametrize(("n", "delta", "discordance"), [(12, 0.3, 0.5), (25, 0.2, 0.35), (9, 0.6, 0.6)])
def test_exact_power_by_enumeration(n: int, delta: float, discordance: float) -> None:
    p, q = (discordance + delta) / 2, (discordance - delta) / 2
    total = 0.0
    for won in range(n + 1):
        for lost in range(n + 1 - won):
            if won + lost and binomtest(won, won + lost).pvalue <= 0.05:
                ways = math.comb(n, won) * math.comb(n - won, lost)
                total += ways * p**won * q**lost * (1 - p - q) ** (n - won - lost)
    assert budget.mcnemar_power(n, delta, discordance) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(("delta", "discordance", "n"), [(0.2, 0.52, 140), (0.2, 0.376, 101), (0.4, 0.42, 30)])
def test_exact_pairs_suffice_and_one_fewer_does_not(delta: float, discordance: float, n: int) -> None:
    found = budget.paired_exact(delta, discordance, 0.9)
    assert all(budget.mcnemar_power(m, delta, discordance) >= 0.9 for m in range(found.n, found.n + 50))
    assert budget.mcnemar_power(found.n - 1, delta, discordance) < 0.9
    if delta == 0.2:
        assert found.n == n


@given(n=st.integers(2, 5000), rate=st.floats(0.05, 0.95), power=st.floats(0.5, 0.95))
@settings(deadline=None, max_examples=60)
def test_the_detectable_difference_is_the_inverse(n: int, rate: float, power: float) -> None:
    found = budget.detectable(n, power, rate)
    if found is not None:
        assert budget.unpaired(found, power, rate).exact == pytest.approx(n, rel=1e-6)
        smaller = budget.detectable(4 * n, power, rate)
        assert smaller == pytest.approx(found / 2, rel=1e-6)


def test_the_detectable_difference_of_pairs() -> None:
    found = budget.detectable(200, correlation=0.5)
    assert found is not None
    assert budget.paired(found, budget.discordance_from(found, 0.5)).exact == pytest.approx(200, rel=1e-6)
    assert budget.detectable(2, rate=0.98) is None
    assert "could not see any difference" in budget.blind_spot(2, 0.98)
    assert budget.blind_spot(500) == "With 500 episodes a policy, this run could not see a difference below 8.9 points."


def test_a_pilot_tells_how_often_policies_differ() -> None:
    pilot = budget.discordance_of(PairedTable(8, 4, 2, 6))
    assert pilot is not None
    assert pilot.share == pytest.approx(0.3)
    assert pilot.interval.low < 0.3 < pilot.interval.high
    assert pilot.correlation == PairedTable(8, 4, 2, 6).correlation
    assert budget.discordance_of(PairedTable(0, 0, 0, 0)) is None


@given(rate=st.floats(0.2, 0.8), delta=st.floats(0.01, 0.3), correlation=st.floats(-0.1, 0.5))
@settings(deadline=None, max_examples=60)
def test_discordance_has_the_correlation(rate: float, delta: float, correlation: float) -> None:
    high, low = rate + delta / 2, rate - delta / 2
    possible = (low - high * low) / math.sqrt(high * (1 - high) * low * (1 - low))
    if correlation > possible:
        with pytest.raises(ValueError, match="cannot have it"):
            budget.discordance_from(delta, correlation, rate)
        return
    discordance = budget.discordance_from(delta, correlation, rate)
    both = (high + low - discordance) / 2
    found = (both - high * low) / math.sqrt(high * (1 - high) * low * (1 - low))
    assert found == pytest.approx(correlation, abs=1e-5)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="delta is 10"):
        budget.unpaired(10)
    with pytest.raises(ValueError, match=r"both rates must lie in \[0, 1\]"):
        budget.unpaired(0.2, rate=0.95)
    with pytest.raises(ValueError, match=r"discordance is 0\.1"):
        budget.paired(0.2, 0.1)
    with pytest.raises(ValueError, match="n is 0"):
        budget.half_width(0)
    with pytest.raises(ValueError, match="n is 0"):
        budget.detectable(0)
    with pytest.raises(ValueError, match="n is 0"):
        budget.mcnemar_power(0, 0.1, 0.2)
    with pytest.raises(ValueError, match="all must be above 0"):
        budget.cost(10, 0)
