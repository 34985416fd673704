"""Few-shot curves, beside scipy's optimisers and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import differential_evolution, minimize_scalar
from scipy.special import xlog1py, xlogy
from scipy.stats import chi2

from vlassess.stats.curves import Curve, curve_band, fit_curve, start_inflation

K = np.array([0, 2, 5, 10, 20])
N = np.full(5, 40)
WON = np.array([8, 18, 25, 31, 33])


def log_likelihood(s0: float, s_inf: float, tau: float) -> float:
    p = np.clip(Curve(s0, s_inf, tau).at(K), 1e-9, 1 - 1e-9)
    return float((xlogy(WON, p) + xlog1py(N - WON, -p)).sum())


def test_the_fit_is_the_best_one_that_scipy_finds_anywhere() -> None:
    fit = fit_curve(K, WON, N)
    assert fit is not None
    box = [(0, 1), (0, 1), (np.log(0.25), np.log(160))]
    found = differential_evolution(lambda x: -log_likelihood(x[0], x[1], float(np.exp(x[2]))), box, seed=1, tol=1e-10)
    assert log_likelihood(*fit.curve) == pytest.approx(-found.fun, abs=1e-4)
    assert fit.curve == pytest.approx((found.x[0], found.x[1], np.exp(found.x[2])), rel=0.01)


def test_the_interval_of_s0_is_where_the_profile_falls_by_half_a_quantile() -> None:
    fit = fit_curve(K, WON, N)
    assert fit is not None
    limit = log_likelihood(*fit.curve) - float(chi2.isf(0.05, 1)) / 2
    for end in (fit.s0.low, fit.s0.high):
        assert end is not None
        box = [(0, 1), (np.log(0.25), np.log(160))]
        best = differential_evolution(lambda x, end=end: -log_likelihood(end, x[0], float(np.exp(x[1]))), box, seed=1)
        assert -best.fun == pytest.approx(limit, abs=0.1)


@pytest.mark.filterwarnings("ignore:The Identity link")
def test_with_tau_known_it_is_a_binomial_regression_with_identity_link() -> None:
    fit = fit_curve(K, WON, N)
    assert fit is not None
    left = np.exp(-K / fit.curve.tau)
    family = sm.families.Binomial(sm.families.links.Identity())
    model = sm.GLM(np.column_stack([WON, N - WON]), np.column_stack([left, 1 - left]), family=family)
    found = model.fit(start_params=[0.2, 0.8])
    assert (fit.curve.s0, fit.curve.s_inf) == pytest.approx(tuple(found.params), abs=1e-3)


def test_flat_p_is_the_likelihood_ratio_test() -> None:
    fit = fit_curve(K, WON, N)
    assert fit is not None
    constant = minimize_scalar(lambda p: -log_likelihood(p, p, 1.0), bounds=(0.01, 0.99), method="bounded")
    ratio = 2 * (log_likelihood(*fit.curve) + constant.fun)
    assert fit.flat_p == pytest.approx(chi2.sf(ratio, 2), rel=1e-3)


@pytest.mark.parametrize(
    ("won", "reason"),
    [
        ([20, 20, 20, 20, 20], "flat"),
        ([4, 6, 8, 13, 22], "largest K below 2 tau"),
        ([4, 36, 36, 36, 36], "risen before the smallest K"),
        ([8, 18, 25, 31, 33], None),
    ],
)
def test_tau_is_a_number_only_where_it_is_identified(won: list[int], reason: str | None) -> None:
    fit = fit_curve(K, won, N)
    assert fit is not None
    assert fit.unidentified == reason


def test_two_values_of_k_make_no_curve() -> None:
    assert fit_curve([0, 5], [1, 9], [20, 20]) is None


def test_a_rate_may_fall_with_k() -> None:
    fit = fit_curve(K, N - WON, N)
    assert fit is not None
    assert fit.curve.s_inf < fit.curve.s0


def test_the_fit_of_exact_rates_is_the_curve() -> None:
    true = Curve(0.15, 0.9, 6.0)
    fit = fit_curve(K, true.at(K) * 4000, np.full(5, 4000))
    assert fit is not None
    assert fit.curve == pytest.approx(true, rel=0.01)


def test_the_band_is_monotone_and_around_the_curve() -> None:
    rng = np.random.default_rng(2)
    outcomes = (rng.random((40, 5)) < WON / 40).astype(float)
    fit = fit_curve(K, outcomes.sum(axis=0), N)
    assert fit is not None
    for matched in (True, False):
        band = curve_band(outcomes, K, fit, np.random.default_rng(3), matched, 200)
        low, curve, high = (np.array(line) for line in (band.low, band.curve, band.high))
        assert (np.diff(low) >= -1e-9).all()
        assert (np.diff(high) >= -1e-9).all()
        assert (low <= curve + 0.02).all()
        assert (curve <= high + 0.02).all()
        assert (high - low > 0.05).all()


def test_independent_starts_widen_nothing_and_equal_ones_do() -> None:
    rng = np.random.default_rng(4)
    curve = Curve(0.2, 0.85, 4.0)
    apart = (rng.random((4000, 5)) < curve.at(K)).astype(float)
    assert start_inflation(apart, K, curve) == pytest.approx(np.ones(3), abs=0.1)
    alike = (rng.random((4000, 1)) < curve.at(K)).astype(float)
    assert start_inflation(alike, K, curve)[1] > 1.05


@pytest.mark.parametrize(
    ("k", "won", "n", "words"),
    [
        ([0, 2, 2], [1, 2, 3], [9, 9, 9], "different numbers"),
        ([0, 2, 5], [1, 2, 30], [9, 9, 9], "successes <= n"),
        ([0, 2], [1, 2, 3], [9, 9, 9], "equally long"),
    ],
)
def test_what_does_not_fit_is_refused(k: list[int], won: list[int], n: list[int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit_curve(k, won, n)
