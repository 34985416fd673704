"""Intervals when episodes are not independent: tasks as clusters, repeats of one start.

Ten tasks of 50 episodes are 500 independent episodes for a claim about these ten tasks, but ten for a claim about
tasks that were not run. Which claim is meant decides what is drawn anew.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from scipy.stats import norm, t

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share, numbers, same_length
from vlassess.stats.rates import clopper_pearson

BOOTSTRAP_FROM = 30
"""Clusters from which on the bootstrap is used; with few it covers too little (4 tasks: 82 % instead of 95 %)."""

Claim = Literal["these starts", "new starts", "new tasks"]
"""What is thought of as drawn anew: the policies' noise, the starts within these tasks, or the tasks."""

_CHUNK = 2_000_000


class ClusterEstimate(NamedTuple):
    """A mean over clusters.

    Attributes:
        estimate: All sums over all counts; None without an episode.
        interval: None where the method has nothing to estimate it from.
        method: "bootstrap", "t", "exact" (all clusters at one end of the range) or "none".
        clusters: How many independent units the interval rests on.
    """

    estimate: float | None
    interval: Interval | None
    method: str
    clusters: int


def cluster_sums(values: ArrayLike, clusters: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each cluster's sum of values and number of values, in the order of the sorted cluster labels.

    Raises:
        ValueError: the arrays differ in length, or a value is not finite.
    """
    summed, labels = numbers("values", values), np.asarray(clusters)
    same_length(values=summed, clusters=labels)
    _, index = np.unique(labels, return_inverse=True)
    total = np.bincount(index, summed).astype(np.float64)
    return total, np.bincount(index).astype(np.float64)


def cluster_mean(
    sums: ArrayLike,
    counts: ArrayLike,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = 10_000,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> ClusterEstimate:
    """Return a mean (a rate, or a difference of paired rates) with an interval for a claim about new clusters.

    Definition: sum of sums / sum of counts. From 30 clusters on, the percentile interval of ``draws`` resamples of
    whole clusters, at levels widened to what t and n - 1 ask; below, estimate +- t s on the logit scale of the range,
    where s is the standard error of the ratio over clusters and t has clusters - 1 degrees of freedom. If all
    clusters are at one end of the range, s is 0 though nothing is certain: then Clopper-Pearson with clusters for
    episodes.
    Source: Cochran, Sampling Techniques (1977), section 6.3 (ratio); Korn and Graubard, Survey Methodology 24 (1998)
    193-201 (logit scale); Hesterberg, American Statistician 69 (2015) 371-386 (widened percentiles). A plain
    percentile bootstrap has 18 % false alarms with 4 clusters.
    Valid if clusters are independent draws: for a difference of two policies from 4 clusters on, for one rate between
    0.2 and 0.8 likewise; a mean rate of 0.9 with 10 clusters is missed 6 times in 100 instead of 5.

    Args:
        sums: Per cluster, the sum of outcomes or of paired differences.
        counts: Per cluster, how many episodes or pairs, at least 1.
        rng: Draws the resamples.
        confidence: Between 0 and 1.
        draws: Resamples.
        bounds: Smallest and largest possible mean: (0, 1) of a rate, (-1, 1) of a difference.

    Raises:
        ValueError: an argument is outside its range.
    """
    totals, sizes = numbers("sums", sums), numbers("counts", counts)
    same_length(sums=totals, counts=sizes)
    check_share("confidence", confidence)
    if (sizes < 1).any():
        raise ValueError(f"counts holds {sizes.min()}; leave out clusters without an episode")
    clusters = len(totals)
    if clusters == 0:
        return ClusterEstimate(None, None, "none", 0)
    estimate = float(totals.sum() / sizes.sum())
    residuals = totals - estimate * sizes
    if np.allclose(residuals, 0.0, atol=1e-12 * sizes.max()):
        return _all_alike(estimate, clusters, confidence, bounds)
    quantile = float(t.isf((1 - confidence) / 2, clusters - 1))
    if clusters < BOOTSTRAP_FROM:
        error = math.sqrt(clusters / (clusters - 1) * float(residuals @ residuals)) / float(sizes.sum())
        return ClusterEstimate(estimate, _logit_interval(estimate, quantile * error, bounds), "t", clusters)
    tail = float(norm.sf(math.sqrt(clusters / (clusters - 1)) * quantile))
    means = _resampled_means(totals, sizes, rng, draws)
    low, high = np.quantile(means, [tail, 1 - tail], method="weibull")
    return ClusterEstimate(estimate, _clipped((float(low), float(high)), bounds), "bootstrap", clusters)


def hierarchical_difference(
    a: ArrayLike,
    b: ArrayLike,
    tasks: ArrayLike,
    claim: Claim,
    rng: np.random.Generator,
    draws: int = 10_000,
) -> ClusterEstimate:
    """Return mean A minus mean B over starts that were repeated, with a 95 % interval for the claim.

    Definition: every start counts the same; its difference is A's mean over repeats minus B's. What the claim thinks
    of as drawn anew is resampled whole, and everything below comes with it: tasks ("new tasks": see `cluster_mean`),
    starts within each task ("new starts"), or repeats within each start and arm ("these starts"). Resampling lower
    levels too would count their variance twice.
    Source: Davison and Hinkley, Bootstrap Methods (1997), section 3.8; n - 1 of n units are drawn, which makes the
    variance right for few (Rao and Wu, JASA 83 (1988) 231-241), and the percentiles are widened to what t asks.
    Valid if units of the resampled level are independent, in all about 30 or more.

    Args:
        a: Outcomes or progress of A, (starts, repeats); NaN for a repeat that is missing.
        b: The same of B, with any number of repeats.
        tasks: The task of each start.
        claim: What is drawn anew.
        rng: Draws the resamples.
        draws: Resamples.

    Returns:
        The interval is None where a start (a task) has only one repeat (start), so that its spread is unknown.

    Raises:
        ValueError: shapes do not fit, or a start has no repeat in an arm.
    """
    first, second = _repeats("a", a), _repeats("b", b)
    labels = np.asarray(tasks)
    same_length(a=first, b=second, tasks=labels)
    if len(first) == 0:
        return ClusterEstimate(None, None, "none", 0)
    differences = np.nanmean(first, axis=1) - np.nanmean(second, axis=1)
    if claim == "new tasks":
        return cluster_mean(*cluster_sums(differences, labels), rng, draws=draws, bounds=(-1.0, 1.0))
    estimate = float(differences.mean())
    if claim == "new starts":
        groups = [differences[labels == label] for label in np.unique(labels)]
    else:
        # A group's mean enters with weight (its size) / (starts): repeats are scaled so that each start weighs 1.
        groups = [sign * row[~np.isnan(row)] for arm, sign in ((first, 1.0), (second, -1.0)) for row in arm]
    weights = [len(group) if claim == "new starts" else 1 for group in groups]
    units = sum(len(group) for group in groups)
    if min(len(group) for group in groups) < 2:
        return ClusterEstimate(estimate, None, "none", units)
    means = np.zeros(draws)
    for group, weight in zip(groups, weights, strict=True):
        picked = rng.multinomial(len(group) - 1, np.full(len(group), 1 / len(group)), size=draws)
        means += weight / len(first) * (picked @ group) / (len(group) - 1)
    tail = float(norm.sf(t.isf(0.025, units - len(groups))))
    low, high = np.quantile(means, [tail, 1 - tail], method="weibull")
    return ClusterEstimate(estimate, _clipped((float(low), float(high)), (-1.0, 1.0)), "bootstrap", units)


def design_effect(values: ArrayLike, clusters: ArrayLike) -> float | None:
    """Return how many times larger the variance of the mean is than that of as many independent values.

    Definition: (standard error over clusters / standard error over values)^2, of the mean of all values. The number
    of values divided by it is the number of independent values that would tell as much. None where one is undefined:
    fewer than two clusters, or all values alike.
    Source: Kish, Survey Sampling (1965), section 8.2.

    Raises:
        ValueError: the arrays differ in length, or a value is not finite.
    """
    flat = numbers("values", values)
    sums, counts = cluster_sums(flat, clusters)
    if len(sums) < 2 or np.ptp(flat) == 0:
        return None
    residuals = sums - flat.mean() * counts
    between = len(sums) / (len(sums) - 1) * float(residuals @ residuals) / len(flat) ** 2
    return between / (float(flat.var(ddof=1)) / len(flat))


def _resampled_means(
    totals: NDArray[np.float64], sizes: NDArray[np.float64], rng: np.random.Generator, draws: int
) -> NDArray[np.float64]:
    clusters = len(totals)
    means = []
    step = max(1, _CHUNK // clusters)
    for start in range(0, draws, step):
        picked = rng.integers(clusters, size=(min(step, draws - start), clusters))
        means.append(totals[picked].sum(axis=1) / sizes[picked].sum(axis=1))
    return np.concatenate(means)


def _logit_interval(estimate: float, half: float, bounds: tuple[float, float]) -> Interval:
    """Return estimate +- half, formed on the logit scale of the range, which it so never leaves."""
    low, width = bounds[0], bounds[1] - bounds[0]
    share = (estimate - low) / width
    spread = half / width / (share * (1 - share))
    ends = (float(expit(logit(share) + sign * spread)) for sign in (-1, 1))
    return Interval(*(low + width * end for end in ends))


def _all_alike(estimate: float, clusters: int, confidence: float, bounds: tuple[float, float]) -> ClusterEstimate:
    """Return the interval of clusters without any spread: known only at an end of the range."""
    low, high = bounds
    if not (math.isclose(estimate, low, abs_tol=1e-9) or math.isclose(estimate, high, abs_tol=1e-9)):
        return ClusterEstimate(estimate, None, "none", clusters)
    share = clopper_pearson(clusters if math.isclose(estimate, high, abs_tol=1e-9) else 0, clusters, confidence)
    if share is None:
        return ClusterEstimate(estimate, None, "none", clusters)
    scaled = low + (high - low) * share.low, low + (high - low) * share.high
    return ClusterEstimate(estimate, Interval(*scaled), "exact", clusters)


def _clipped(found: tuple[float, float], bounds: tuple[float, float]) -> Interval:
    return Interval(max(found[0], bounds[0]), min(found[1], bounds[1]))


def _repeats(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name} has {array.ndim} dimensions; it must be (starts, repeats)")
    if np.isnan(array).all(axis=1).any():
        raise ValueError(f"{name} has a start without any repeat; leave the start out of both arms")
    return array
