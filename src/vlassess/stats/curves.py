"""Success as a curve over the number of demonstrations K: s(K) = s0 + (s_inf - s0) (1 - exp(-K / tau)).

Fits look at a fixed grid of all three parameters at once, which has no starting value to depend on and is a matrix
product for any number of data sets; the best point is then polished. Rates may rise or fall with K.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import xlog1py, xlogy
from scipy.stats import chi2

from vlassess.schema.findings import Band, Parameter, Unidentified
from vlassess.stats.checks import check_share, numbers, same_length

_FINE, _COARSE = (81, 64), (41, 24)
"""Values of each rate and of tau: for a fit, and for each resample of the band."""
_LEAST = 1e-6
_CHUNK = 100
_SHOWN = 81
FEWEST_K = 3

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """One curve.

    Attributes:
        s0: Rate without demonstrations.
        s_inf: Rate at saturation.
        tau: Demonstrations after which 63 % of the change is done.
    """

    s0: float
    s_inf: float
    tau: float

    def at(self, k: ArrayLike) -> Floats:
        """Return the rate at each K."""
        left = np.exp(-np.asarray(k, np.float64) / self.tau)
        return np.asarray(self.s_inf + (self.s0 - self.s_inf) * left)


class CurveFit(NamedTuple):
    """A fitted curve.

    Attributes:
        curve: Maximum-likelihood estimate, whether or not it is identified.
        s0: With its profile-likelihood interval.
        s_inf: Likewise.
        tau: Likewise; ``low`` is 0 and ``high`` None where the data do not bound it.
        flat_p: Of "the rate does not depend on K".
        unidentified: Why tau must not be given as a number; None where it may.
    """

    curve: Curve
    s0: Parameter
    s_inf: Parameter
    tau: Parameter
    flat_p: float
    unidentified: Unidentified | None


class _Tables(NamedTuple):
    """Logarithms of success and failure at each K (columns) for each point of the grid (rows)."""

    rates: Floats
    taus: Floats
    log_p: NDArray[np.float32]
    log_q: NDArray[np.float32]


def fit_curve(
    k: ArrayLike, successes: ArrayLike, n: ArrayLike, confidence: float = 0.95, inflation: ArrayLike = (1.0, 1.0, 1.0)
) -> CurveFit | None:
    """Return the curve through the success counts at each K; None for fewer than three values of K.

    Definition: maximum binomial likelihood with s0 and s_inf in [0, 1] and tau between an eighth of the smallest
    K > 0 and eight times the largest, where the curve is a step and almost a straight line. The interval of a
    parameter holds the values that the likelihood-ratio test with one degree of freedom does not reject, the other
    two being fitted anew for each. ``flat_p`` compares with the best constant, with two degrees of freedom.
    tau is not identified where: ``flat_p`` is above 1 - confidence; the largest K is below 2 tau, or below the upper
    end of its interval; its interval reaches the lower end of its range.
    Source: profile likelihood: Venzon and Moolgavkar, Applied Statistics 37 (1988) 87-94.
    Valid from about 30 trials a K on, if trials are independent; for matched starts give the ``inflation``.

    Args:
        k: Different numbers of demonstrations, at least 0.
        successes: At each K.
        n: Trials at each K, at least 1.
        confidence: Of the intervals.
        inflation: What the likelihood-ratio statistics of s0, s_inf and tau are divided by (`start_inflation`).

    Raises:
        ValueError: arrays do not fit together, or a value is outside its range.
    """
    levels, won, size = _counts(k, successes, n)
    check_share("confidence", confidence)
    if len(levels) < FEWEST_K or levels.max() <= 0:
        return None
    tables = _tables(tuple(levels.tolist()), *_FINE)
    grid = _likelihoods(tables, won[:, None], size[:, None])[:, 0].astype(np.float64)
    shaped = grid.reshape(len(tables.rates), len(tables.rates), len(tables.taus))
    best = np.unravel_index(int(shaped.argmax()), shaped.shape)
    start = Curve(float(tables.rates[best[0]]), float(tables.rates[best[1]]), float(tables.taus[best[2]]))
    curve, peak = _polished(start, levels, won, size, (float(tables.taus[0]), float(tables.taus[-1])))
    peak = max(peak, float(grid.max()))

    limit = float(chi2.isf(1 - confidence, 1)) * np.asarray(inflation, np.float64)
    profiles = (shaped.max(axis=(1, 2)), shaped.max(axis=(0, 2)), shaped.max(axis=(0, 1)))
    axes = (tables.rates, tables.rates, np.log(tables.taus))
    fitted = (curve.s0, curve.s_inf, float(np.log(curve.tau)))
    ends = [_ends(*entry) for entry in zip(axes, profiles, fitted, (peak,) * 3, limit, strict=True)]
    bounded = ends[2][0] > axes[2][0], ends[2][1] < axes[2][-1]
    tau = Parameter(
        curve.tau,
        float(np.exp(ends[2][0])) if bounded[0] else 0.0,
        float(np.exp(ends[2][1])) if bounded[1] else None,
    )
    pooled = won.sum() / size.sum()
    ratio = 2 * (peak - float((xlogy(won, pooled) + xlog1py(size - won, -pooled)).sum()))
    flat_p = float(chi2.sf(max(ratio, 0.0), 2))
    return CurveFit(
        curve,
        Parameter(curve.s0, *ends[0]),
        Parameter(curve.s_inf, *ends[1]),
        tau,
        flat_p,
        _why_not(flat_p > 1 - confidence, curve, tau, float(levels.max())),
    )


def start_inflation(outcomes: ArrayLike, k: ArrayLike, curve: Curve) -> Floats:
    """Return by how much matched starts widen the intervals of s0, s_inf and tau: (3,), each at least 1.

    A start that is easy is easy at every K, so trials on the same starts are not independent.
    Definition: diagonal of H^-1 J H^-1 over that of H^-1, where H is the information of independent trials and J the
    sum over starts of the outer products of their scores; ones where H cannot be inverted.
    Source: Varin, Reid and Firth, Statistica Sinica 21 (2011) 5-42, section 2.3.

    Args:
        outcomes: (starts, values of K), each 0 or 1, NaN where a trial is missing.
        k: Values of K.
        curve: As fitted to the sums.
    """
    found, levels = np.asarray(outcomes, np.float64), numbers("k", k)
    known = np.isfinite(found)
    p = np.clip(curve.at(levels), 0.01, 0.99)
    left = np.exp(-levels / curve.tau)
    slopes = np.stack([left, 1 - left, (curve.s0 - curve.s_inf) * left * levels / curve.tau])
    weights = 1 / (p * (1 - p))
    information = (slopes * weights * known.sum(axis=0)) @ slopes.T
    if np.linalg.cond(information) > 1e8:
        return np.ones(3)
    scores = np.where(known, found - p, 0.0) * weights @ slopes.T
    inverse = np.linalg.inv(information)
    ratio = np.diag(inverse @ (scores.T @ scores) @ inverse) / np.diag(inverse)
    return np.asarray(np.clip(ratio, 1.0, float(len(levels))))


def curve_band(
    outcomes: ArrayLike, k: ArrayLike, fit: CurveFit, rng: np.random.Generator, matched: bool, draws: int = 400
) -> Band:
    """Return the curve with a pointwise 95 % bootstrap band that rises (or falls) with K as the curve does.

    Definition: ``draws`` resamples are fitted on a grid, all in the direction of the fitted curve; the band is the
    2.5 % and 97.5 % points of their curves, each of which is monotone, and so are they. Matched starts are drawn as
    wholes; half a success and half a failure at every K are drawn along, so that a K at which all trials succeeded
    is not certain.
    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 13.

    Args:
        outcomes: (starts, values of K), each 0 or 1, NaN where a trial is missing.
        k: Values of K.
        fit: Of the same outcomes.
        rng: Draws the resamples.
        matched: Whether a row is one start.
        draws: Resamples.
    """
    found, levels = np.asarray(outcomes, np.float64), numbers("k", k)
    won, size = _resampled(found, rng, matched, draws)
    tables = _tables(tuple(levels.tolist()), *_COARSE)
    rates, taus = tables.rates, tables.taus
    first, second, third = np.meshgrid(rates, rates, taus, indexing="ij")
    rising = fit.curve.s_inf >= fit.curve.s0
    allowed = np.flatnonzero((second >= first if rising else second <= first).ravel())
    # Closer to each other where the curve bends most.
    shown = float(levels.max()) * np.linspace(0.0, 1.0, _SHOWN) ** 2
    part = tables._replace(log_p=tables.log_p[allowed], log_q=tables.log_q[allowed])
    best = np.concatenate(
        [
            allowed[_likelihoods(part, won[at : at + _CHUNK].T, size[at : at + _CHUNK].T).argmax(axis=0)]
            for at in range(0, draws, _CHUNK)
        ]
    )
    s0, s_inf, tau = (axis.ravel()[best][:, None] for axis in (first, second, third))
    curves = s_inf + (s0 - s_inf) * np.exp(-shown / tau)
    low, high = np.quantile(curves, (0.025, 0.975), axis=0)
    curve = fit.curve.at(shown)
    return Band(*(tuple(np.round(line, 6).tolist()) for line in (shown, curve, low, high)))


def _why_not(flat: bool, curve: Curve, tau: Parameter, largest: float) -> Unidentified | None:
    if flat:
        return "flat"
    if largest < 2 * curve.tau:
        return "largest K below 2 tau"
    if tau.high is None or tau.high > largest:
        return "interval beyond the largest K"
    return "risen before the smallest K" if tau.low <= 0 else None


@lru_cache(maxsize=16)
def _tables(k: tuple[float, ...], rates: int, taus: int) -> _Tables:
    levels = np.array(k)
    share = np.linspace(0.0, 1.0, rates)
    tau = np.geomspace(levels[levels > 0].min() / 8, levels.max() * 8, taus)
    left = np.exp(-levels / tau[:, None])
    p = share[:, None, None, None] * left + share[None, :, None, None] * (1 - left)
    p = np.clip(p, _LEAST, 1 - _LEAST).reshape(-1, len(levels))
    return _Tables(share, tau, np.log(p).astype(np.float32), np.log1p(-p).astype(np.float32))


def _likelihoods(tables: _Tables, won: Floats, size: Floats) -> NDArray[np.float32]:
    """Return the log-likelihood of each point of the grid (rows) for each data set (columns)."""
    return np.asarray(tables.log_p @ won.astype(np.float32) + tables.log_q @ (size - won).astype(np.float32))


def _polished(start: Curve, k: Floats, won: Floats, size: Floats, taus: tuple[float, float]) -> tuple[Curve, float]:
    """Return the best curve near a start, and its log-likelihood."""

    def cost(point: Floats) -> tuple[float, Floats]:
        left = np.exp(-k / np.exp(point[2]))
        p = np.clip(point[1] + (point[0] - point[1]) * left, _LEAST, 1 - _LEAST)
        score = won / p - (size - won) / (1 - p)
        slope = (point[0] - point[1]) * left * k / np.exp(point[2])
        gradient = -np.array([(score * left).sum(), (score * (1 - left)).sum(), (score * slope).sum()])
        return -float((xlogy(won, p) + xlog1py(size - won, -p)).sum()), gradient

    first = np.array([start.s0, start.s_inf, np.log(start.tau)])
    bounds = ((0.0, 1.0), (0.0, 1.0), (np.log(taus[0]), np.log(taus[1])))
    found = minimize(cost, first, jac=True, method="L-BFGS-B", bounds=bounds)
    if found.fun > cost(first)[0]:
        return start, -cost(first)[0]
    return Curve(float(found.x[0]), float(found.x[1]), float(np.exp(found.x[2]))), -float(found.fun)


def _ends(axis: Floats, profile: Floats, fitted: float, peak: float, limit: float) -> tuple[float, float]:
    """Return the outermost values that are not rejected, between points of the grid by the root of the statistic."""
    root = np.sqrt(np.maximum(2 * (peak - profile), 0.0))
    edge = float(np.sqrt(limit))
    kept = np.flatnonzero(root <= edge)
    if len(kept) == 0:
        # The interval lies between two points of the grid.
        return fitted, fitted
    low, high = int(kept[0]), int(kept[-1])
    ends = []
    for inside, outside in ((low, low - 1), (high, high + 1)):
        if not 0 <= outside < len(axis):
            ends.append(float(axis[inside]))
            continue
        part = (edge - root[inside]) / (root[outside] - root[inside])
        ends.append(float(axis[inside] + part * (axis[outside] - axis[inside])))
    return min(ends[0], fitted), max(ends[1], fitted)


def _resampled(outcomes: Floats, rng: np.random.Generator, matched: bool, draws: int) -> tuple[Floats, Floats]:
    """Return successes and trials at each K of every resample: two arrays (draws, values of K)."""
    known = np.isfinite(outcomes)
    won = np.where(known, outcomes, 0.0)
    starts, levels = outcomes.shape
    if matched:
        chances = np.append(np.ones(starts), (0.5, 0.5)) / (starts + 1)
        picked = rng.multinomial(starts, chances, size=draws).astype(np.float64)
        added = np.array([np.ones(levels), np.zeros(levels)])
        return picked @ np.vstack([won, added]), picked @ np.vstack([known, np.ones((2, levels))])
    size = known.sum(axis=0).astype(np.float64)
    drawn = rng.binomial(size.astype(int), (won.sum(axis=0) + 0.5) / (size + 1), size=(draws, levels))
    return drawn.astype(np.float64), np.broadcast_to(size, drawn.shape).astype(np.float64)


def _counts(k: ArrayLike, successes: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats, Floats]:
    levels, won, size = numbers("k", k), numbers("successes", successes), numbers("n", n)
    same_length(k=levels, successes=won, n=size)
    if len(np.unique(levels)) < len(levels) or (levels < 0).any():
        raise ValueError("k must hold different numbers of demonstrations, none below 0; pool the trials of each")
    if (size < 1).any() or (won < 0).any() or (won > size).any():
        raise ValueError("at each k it must be 0 <= successes <= n and n >= 1; leave out a k without trials")
    return levels, won, size
