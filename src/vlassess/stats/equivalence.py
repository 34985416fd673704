"""Claims of likeness: equivalent, not worse, reproduced. Each needs a margin that was declared before the run.

"No significant difference" is no such claim: a small run finds none either.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import binomtest, norm
from statsmodels.stats.proportion import test_proportions_2indep as score_test

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share, check_successes
from vlassess.stats.paired import PairedTable, tango_interval, tango_score
from vlassess.stats.rates import clopper_pearson
from vlassess.stats.unpaired import newcombe_interval

Verdict = Literal["reproduced", "approximate", "not reproduced"]


class MarginTest(NamedTuple):
    """A test against a margin.

    Attributes:
        margin: As a share: 0.03 is three points.
        p_value: Of "the difference is at or beyond the margin"; small means the claim of likeness holds.
        shown: Whether ``p_value`` is at most alpha.
    """

    margin: float
    p_value: float
    shown: bool


class Reproduction(NamedTuple):
    """How a score of ours relates to a published one.

    Attributes:
        verdict: "reproduced": within the margin, shown by two one-sided tests. "approximate": the interval of the
            difference contains 0, but reaches beyond the margin. "not reproduced": it does neither.
        difference: Ours minus theirs.
        interval: Of the difference.
        equivalence: The two one-sided tests.
    """

    verdict: Verdict
    difference: float
    interval: Interval
    equivalence: MarginTest


def not_worse_paired(table: PairedTable, margin: float, alpha: float = 0.05) -> MarginTest:
    """Test over pairs whether A's rate is above B's minus the margin.

    Definition: Tango's score test at -margin, one-sided.
    Source: Tango, Statistics in Medicine 17 (1998) 891-908.
    Valid as `vlassess.stats.paired.tango_interval` is: from about 50 pairs on.

    Raises:
        ValueError: ``margin`` or ``alpha`` is outside its range.
    """
    _check(margin, alpha)
    return _result(margin, float(norm.sf(tango_score(table, -margin))), alpha)


def equivalent_paired(table: PairedTable, margin: float, alpha: float = 0.05) -> MarginTest:
    """Test over pairs whether the rates differ by less than the margin: two one-sided tests, both at alpha.

    Definition: as `not_worse_paired`, in both directions; the larger p-value counts.
    Source: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680.

    Raises:
        ValueError: ``margin`` or ``alpha`` is outside its range.
    """
    _check(margin, alpha)
    above, below = norm.sf(tango_score(table, -margin)), norm.cdf(tango_score(table, margin))
    return _result(margin, float(max(above, below)), alpha)


def not_worse(successes_a: int, n_a: int, successes_b: int, n_b: int, margin: float, alpha: float = 0.05) -> MarginTest:
    """Test over unpaired episodes whether A's rate is above B's minus the margin.

    Definition: the score test with rates estimated under the margin; computed by statsmodels.
    Source: Farrington and Manning, Statistics in Medicine 9 (1990) 1447-1454.
    Valid for about 50 episodes an arm and more.

    Raises:
        ValueError: an argument is outside its range.
    """
    _check(margin, alpha)
    check_successes(successes_a, n_a)
    check_successes(successes_b, n_b)
    return _result(margin, _beyond(successes_a, n_a, successes_b, n_b, margin), alpha)


def equivalent(
    successes_a: int, n_a: int, successes_b: int, n_b: int, margin: float, alpha: float = 0.05
) -> MarginTest:
    """Test over unpaired episodes whether the rates differ by less than the margin.

    Definition: as `not_worse`, in both directions; the larger p-value counts.
    Source: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680.

    Raises:
        ValueError: an argument is outside its range.
    """
    sides = (
        not_worse(successes_a, n_a, successes_b, n_b, margin, alpha),
        not_worse(successes_b, n_b, successes_a, n_a, margin, alpha),
    )
    return max(sides, key=lambda side: side.p_value)


def reproduction(
    successes: int, n: int, reported: float, reported_n: int | None, margin: float = 0.05, alpha: float = 0.05
) -> Reproduction:
    """Judge whether ``successes`` of ``n`` reproduce a published rate.

    Definition: see `Reproduction`; Newcombe's interval of the difference and `equivalent`. The published successes
    are reported * reported_n, rounded. A published rate without its n is taken as exact: then the interval is
    Clopper-Pearson's minus that rate, and the tests are exact binomial ones; this overstates how sure one can be.

    Args:
        successes: Ours.
        n: Our episodes.
        reported: The published rate, as a share.
        reported_n: Their episodes; None if they do not say.
        margin: What still counts as the same score, as a share.
        alpha: Of each one-sided test; 1 - alpha is the interval's confidence.

    Raises:
        ValueError: an argument is outside its range.
    """
    _check(margin, alpha)
    check_successes(successes, n)
    if not 0 <= reported <= 1:
        raise ValueError(f"reported is {reported}; it must be a share from 0 to 1")
    if reported_n is None:
        found = clopper_pearson(successes, n, 1 - alpha)
        if found is None:
            raise ValueError(f"n is {n}; it must be at least 1")
        interval = Interval(found.low - reported, found.high - reported)
        likeness = _result(margin, _beyond_exact(successes, n, reported, margin), alpha)
    else:
        theirs = round(reported * reported_n)
        interval = newcombe_interval(successes, n, theirs, reported_n, 1 - alpha)
        likeness = equivalent(successes, n, theirs, reported_n, margin, alpha)
    overlap = interval.low <= 0 <= interval.high
    verdict: Verdict = "reproduced" if likeness.shown else "approximate" if overlap else "not reproduced"
    return Reproduction(verdict, successes / n - reported, interval, likeness)


def paired_interval_within(table: PairedTable, margin: float, alpha: float = 0.05) -> bool | None:
    """Return whether the 1 - 2 alpha interval of the difference lies inside the margin; None for no pair.

    The same statement as `equivalent_paired` in the form of an interval, as reports draw it.

    Raises:
        ValueError: ``margin`` or ``alpha`` is outside its range.
    """
    _check(margin, alpha)
    interval = tango_interval(table, 1 - 2 * alpha)
    return None if interval is None else -margin < interval.low and interval.high < margin


def _beyond(successes_a: int, n_a: int, successes_b: int, n_b: int, margin: float) -> float:
    # It also returns odds, which are infinite for an arm without failures.
    with np.errstate(divide="ignore", invalid="ignore"):
        test = score_test(
            successes_a, n_a, successes_b, n_b, value=-margin, method="score", alternative="larger", correction=False
        )
    return float(test.pvalue)


def _beyond_exact(successes: int, n: int, reported: float, margin: float) -> float:
    low, high = reported - margin, reported + margin
    above = binomtest(successes, n, low, "greater").pvalue if low > 0 else 0.0
    below = binomtest(successes, n, high, "less").pvalue if high < 1 else 0.0
    return float(max(above, below))


def _result(margin: float, p_value: float, alpha: float) -> MarginTest:
    return MarginTest(margin, p_value, p_value <= alpha)


def _check(margin: float, alpha: float) -> None:
    check_share("margin", margin)
    check_share("alpha", alpha)
    if alpha >= 0.5:
        raise ValueError(f"alpha is {alpha}; it must be below 0.5")
