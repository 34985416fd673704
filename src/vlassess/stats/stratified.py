"""Two policies over many tasks: each task compared with itself, then joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2_contingency, norm
from statsmodels.stats.contingency_tables import StratifiedTable

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share, numbers, same_length
from vlassess.stats.paired import PairedTable, mcnemar_exact
from vlassess.stats.rates import clopper_pearson


class Strata(NamedTuple):
    """One comparison over strata.

    Attributes:
        p_value: Of "within every stratum both have the same rate".
        difference: Rate of A minus rate of B, joined over strata.
        interval: Of the difference; None where it is undefined.
        odds_ratio: Common odds ratio; None where a cell is empty in all strata.
        odds_interval: Of the odds ratio; None where it is undefined.
        heterogeneity_p: Of "the odds ratio is the same in every stratum"; None where fewer than two strata tell.
    """

    p_value: float
    difference: float
    interval: Interval | None
    odds_ratio: float | None
    odds_interval: Interval | None
    heterogeneity_p: float | None


def cochran_mantel_haenszel(
    successes_a: ArrayLike, n_a: ArrayLike, successes_b: ArrayLike, n_b: ArrayLike, confidence: float = 0.95
) -> Strata:
    """Return the comparison of two unpaired arms within tasks, one array entry a task.

    Definition: Mantel and Haenszel's chi-square without continuity correction and common odds ratio, with Breslow and
    Day's test of its homogeneity, computed by statsmodels; the difference is weighted by n_a n_b / (n_a + n_b), with
    the variance of Greenland and Robins, Biometrics 41 (1985) 55-68.
    Source: Mantel and Haenszel, JNCI 22 (1959) 719-748.
    Valid if episodes are independent and the expected successes and failures over all tasks are about 10 or more in
    each arm; single tasks may be small. Tasks of different difficulty do no harm, which a pooled test cannot say
    when the arms ran them in different shares.

    Raises:
        ValueError: arrays differ in length, no task is given, or a count is outside its range.
    """
    check_share("confidence", confidence)
    k_a, size_a, k_b, size_b = _counts(successes_a, n_a, successes_b, n_b)
    weights = size_a * size_b / (size_a + size_b)
    difference = float(weights @ (k_a / size_a - k_b / size_b) / weights.sum())
    variance = k_a * (size_a - k_a) / size_a**3 + k_b * (size_b - k_b) / size_b**3
    error = math.sqrt(float(weights**2 @ variance)) / float(weights.sum())
    half = float(norm.isf((1 - confidence) / 2)) * error
    interval = Interval(max(-1.0, difference - half), min(1.0, difference + half)) if error else None

    # A task in which all or none succeeded says nothing about the odds ratio, and would divide by 0.
    telling = (k_a + k_b > 0) & (k_a + k_b < size_a + size_b)
    if not telling.any():
        return Strata(1.0, difference, interval, None, None, None)
    cells = np.stack([[k_a, size_a - k_a], [k_b, size_b - k_b]])[:, :, telling]
    table = StratifiedTable(cells)
    p_value = float(table.test_null_odds(correction=False).pvalue)
    if (cells[0, 0] * cells[1, 1]).sum() == 0 or (cells[0, 1] * cells[1, 0]).sum() == 0:
        return Strata(p_value, difference, interval, None, None, None)
    odds = Interval(*(float(end) for end in table.oddsratio_pooled_confint(alpha=1 - confidence)))
    # A fitted cell of 0 makes the statistic undefined, which shows as a division by 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        same = float(table.test_equal_odds().pvalue) if telling.sum() > 1 else math.nan
    return Strata(
        p_value, difference, interval, float(table.oddsratio_pooled), odds, same if math.isfinite(same) else None
    )


def paired_strata(tables: Sequence[PairedTable], confidence: float = 0.95) -> Strata:
    """Return the comparison of paired arms over tasks, one table a task.

    Definition: with each pair as a stratum, Mantel and Haenszel's test is McNemar's on the summed tables, given here
    in its exact form; the odds ratio is only_a / only_b, with the Clopper-Pearson interval of only_a among the
    discordant pairs; homogeneity is the chi-square test of (task) x (only_a, only_b). The difference gives every task
    the same weight, however many pairs it has, with the normal interval of paired differences.
    Source: Breslow and Day, Statistical Methods in Cancer Research 1 (1980), section 5.2.
    Valid: the test for every number of pairs; interval of the difference and homogeneity for about 5 or more
    discordant pairs a task.

    Raises:
        ValueError: there is no table, or a table has no pair.
    """
    check_share("confidence", confidence)
    if not tables or min(table.pairs for table in tables) == 0:
        raise ValueError("there must be a table, and every table needs a pair; leave out tasks without one")
    only_a, only_b, pairs = (
        np.array(column, dtype=np.float64)
        for column in zip(*((table.only_a, table.only_b, table.pairs) for table in tables), strict=True)
    )
    gaps = (only_a - only_b) / pairs
    variance = ((only_a + only_b) / pairs - gaps**2) / pairs
    error = math.sqrt(float(variance.sum())) / len(tables)
    half = float(norm.isf((1 - confidence) / 2)) * error
    difference = float(gaps.mean())
    interval = Interval(max(-1.0, difference - half), min(1.0, difference + half)) if error else None

    total = PairedTable(*(int(sum(column)) for column in zip(*tables, strict=True)))
    share = clopper_pearson(total.only_a, total.discordant, confidence)
    telling = only_a + only_b > 0
    mixed = telling.sum() > 1 and total.only_a > 0 and total.only_b > 0
    same = float(chi2_contingency(np.stack([only_a[telling], only_b[telling]])).pvalue) if mixed else None
    odds = total.only_a / total.only_b if total.only_b and total.only_a else None
    odds_interval = None
    if share is not None and odds is not None:
        odds_interval = Interval(share.low / (1 - share.low), share.high / (1 - share.high))
    return Strata(mcnemar_exact(total), difference, interval, odds, odds_interval, same)


def _counts(*given: ArrayLike) -> list[NDArray[np.float64]]:
    names = ("successes_a", "n_a", "successes_b", "n_b")
    arrays = [numbers(name, values) for name, values in zip(names, given, strict=True)]
    same_length(**dict(zip(names, arrays, strict=True)))
    if len(arrays[0]) == 0:
        raise ValueError("no task is given; a comparison over tasks needs at least one")
    for k, n in (arrays[:2], arrays[2:]):
        if (n < 1).any() or (k < 0).any() or (k > n).any():
            raise ValueError("in every task and arm it must be 0 <= successes <= n and n >= 1; leave out empty tasks")
    return arrays
