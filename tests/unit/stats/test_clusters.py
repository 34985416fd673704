from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit
from scipy.stats import bootstrap, t

from vlassess.stats.clusters import Claim, cluster_mean, cluster_sums, design_effect, hierarchical_difference
from vlassess.stats.rates import clopper_pearson


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_few_clusters_against_a_logistic_regression_with_clustered_errors() -> None:
    """One rate with clustered errors on the logit scale is the intercept of statsmodels' sandwich estimator."""
    draw = rng()
    counts = draw.integers(10, 40, 12)
    sums = draw.binomial(counts, draw.beta(3, 2, 12))
    labels = np.repeat(np.arange(12), counts)
    outcomes = np.concatenate([np.arange(n) < k for k, n in zip(sums, counts, strict=True)]).astype(float)
    model = sm.GLM(outcomes, np.ones_like(outcomes), family=sm.families.Binomial())
    # use_correction False leaves K / (K - 1) to us.
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": labels, "use_correction": False})
    half = t.isf(0.025, 11) * float(fit.bse[0]) * math.sqrt(12 / 11)
    found = cluster_mean(sums, counts, rng())
    assert found.method == "t"
    assert found.interval is not None
    assert logit(found.interval.low) == pytest.approx(float(fit.params[0]) - half, abs=1e-6)
    assert logit(found.interval.high) == pytest.approx(float(fit.params[0]) + half, abs=1e-6)


def test_many_clusters_against_scipys_bootstrap() -> None:
    draw = rng()
    rates = draw.binomial(50, draw.beta(4, 2, 60)) / 50
    # The levels that Hesterberg's widening comes to for 60 clusters.
    tail = 0.5 * math.erfc(math.sqrt(60 / 59) * t.isf(0.025, 59) / math.sqrt(2))
    theirs = bootstrap((rates,), np.mean, confidence_level=1 - 2 * tail, n_resamples=40_000, method="percentile", rng=1)
    found = cluster_mean(rates * 50, np.full(60, 50), rng(), draws=40_000)
    assert found.method == "bootstrap"
    assert found.interval == pytest.approx(tuple(theirs.confidence_interval), abs=2e-3)


@pytest.mark.parametrize("clusters", [1, 5, 40])
def test_all_successes_are_not_certainty(clusters: int) -> None:
    found = cluster_mean(np.full(clusters, 50), np.full(clusters, 50), rng())
    assert found.method == "exact"
    assert found.interval == clopper_pearson(clusters, clusters)
    worst = cluster_mean(np.full(clusters, -50), np.full(clusters, 50), rng(), bounds=(-1.0, 1.0))
    assert worst.interval is not None
    assert worst.interval.low == -1


def test_what_cannot_be_estimated_is_none() -> None:
    assert cluster_mean([], [], rng()) == (None, None, "none", 0)
    assert cluster_mean([10], [20], rng()) == (0.5, None, "none", 1)
    assert cluster_mean([10, 5], [20, 10], rng()) == (0.5, None, "none", 2)
    assert design_effect([1, 0, 1], ["a", "a", "a"]) is None
    assert design_effect([1, 1], ["a", "b"]) is None


@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_properties(data: st.DataObject) -> None:
    clusters = data.draw(st.integers(2, 45))
    counts = data.draw(st.lists(st.integers(1, 30), min_size=clusters, max_size=clusters))
    sums = [data.draw(st.integers(0, count)) for count in counts]
    found = cluster_mean(sums, counts, rng(), draws=300)
    again = cluster_mean(sums, counts, rng(), draws=300)
    assert found == again
    assert found.estimate == pytest.approx(sum(sums) / sum(counts))
    if found.interval is not None and found.estimate is not None:
        assert 0 <= found.interval.low <= found.estimate + 1e-9
        assert found.estimate - 1e-9 <= found.interval.high <= 1


def test_correlated_episodes_are_worth_fewer() -> None:
    same = np.repeat([1.0, 0.0, 1.0, 0.0], 25)
    labels = np.repeat(np.arange(4), 25)
    assert design_effect(same, labels) == pytest.approx(33.0)
    mixed = (rng().random(20_000) < 0.5).astype(float)
    assert design_effect(mixed, np.arange(20_000) % 2000) == pytest.approx(1.0, abs=0.1)


def test_sums_of_clusters_follow_sorted_labels() -> None:
    sums, counts = cluster_sums([1, 0, 1, 1], ["b", "a", "b", "a"])
    assert sums.tolist() == [1, 2]
    assert counts.tolist() == [2, 2]


def nested(starts: int, repeats: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = rng()
    easy = draw.random((starts, 1))
    a, b = draw.random((starts, repeats)) < easy, draw.random((starts, repeats)) < 0.7 * easy
    return a.astype(float), b.astype(float), np.arange(starts) % 5


@pytest.mark.parametrize("claim", ["these starts", "new starts"])
def test_the_hierarchical_bootstrap_has_the_standard_error_of_its_level(claim: Claim) -> None:
    a, b, tasks = nested(200, 4)
    found = hierarchical_difference(a, b, tasks, claim, rng(), draws=6000)
    gaps = a.mean(axis=1) - b.mean(axis=1)
    if claim == "new starts":
        variance = sum(len(g) * g.var(ddof=1) for g in (gaps[tasks == task] for task in range(5))) / 200**2
    else:
        variance = float(a.var(axis=1, ddof=1).sum() + b.var(axis=1, ddof=1).sum()) / 4 / 200**2
    assert found.estimate == pytest.approx(gaps.mean())
    assert found.interval is not None
    half = (found.interval.high - found.interval.low) / 2
    assert half == pytest.approx(1.96 * math.sqrt(variance), rel=0.06)


def test_a_wider_claim_has_a_wider_interval() -> None:
    draw = rng()
    tasks = np.arange(100) % 5
    rates = np.clip(draw.normal(0.5, 0.2, (100, 1)), 0, 1)
    a, b = draw.random((100, 3)) < rates, draw.random((100, 3)) < np.where(tasks < 3, 1.0, 0.1)[:, None] * rates[::-1]
    widths = []
    for claim in ("these starts", "new starts", "new tasks"):
        interval = hierarchical_difference(a, b, tasks, claim, rng(), draws=2000).interval
        assert interval is not None
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths)


def test_missing_repeats_are_left_out_and_single_ones_have_no_spread() -> None:
    a, b, tasks = nested(20, 3)
    a[0, 1:] = math.nan
    assert hierarchical_difference(a, b, tasks, "new starts", rng(), draws=200).interval is not None
    assert hierarchical_difference(a, b, tasks, "these starts", rng(), draws=200).interval is None
    a[0] = math.nan
    with pytest.raises(ValueError, match="without any repeat"):
        hierarchical_difference(a, b, tasks, "new starts", rng())
    assert hierarchical_difference(a[:0], b[:0], tasks[:0], "new starts", rng()).estimate is None


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="counts holds 0"):
        cluster_mean([0], [0], rng())
    with pytest.raises(ValueError, match="equally long"):
        cluster_mean([0, 1], [1], rng())
    with pytest.raises(ValueError, match="a has 1 dimensions"):
        hierarchical_difference([1.0], [[1.0]], [0], "new starts", rng())
