from __future__ import annotations

import numpy as np
import pytest

from vlassess.stats.comparison import compare_paired, compare_unpaired, rank_policies
from vlassess.stats.paired import mcnemar_exact, tango_interval
from vlassess.stats.unpaired import boschloo, newcombe_interval

TASKS = np.repeat(np.arange(40), 25)


def successes(*rates: float) -> np.ndarray:
    shared = np.random.default_rng(4).random(1000)
    mixed = np.random.default_rng(5).random((len(rates), 1000))
    own = np.where(np.random.default_rng(6).random((len(rates), 1000)) < 0.5, mixed, shared)
    return own < np.array(rates)[:, None]


def rng() -> np.random.Generator:
    return np.random.default_rng(9)


def test_a_planted_difference_is_found_in_every_way() -> None:
    a, b = successes(0.75, 0.6)
    found = compare_paired(a, b, TASKS, rng(), (a * 1.0, b * 1.0), draws=500)
    assert found.p_value == mcnemar_exact(found.table) < 1e-6
    assert found.interval == tango_interval(found.table)
    assert found.over_tasks.method == "bootstrap"
    assert found.over_tasks.estimate == pytest.approx(found.table.difference)
    assert found.over_tasks.interval is not None
    assert found.over_tasks.interval.low > 0
    assert found.strata.difference == pytest.approx(found.table.difference)
    assert found.progress_p == pytest.approx(1 / 501)


def test_unpaired_policies() -> None:
    a, b = successes(0.75, 0.6)
    found = compare_unpaired((a, TASKS), (b[:700], TASKS[:700]), rng(), (a * 1.0, b[:700] * 1.0), 500)
    assert found.p_value == boschloo(int(a.sum()), 1000, int(b[:700].sum()), 700) < 1e-6
    assert found.interval == newcombe_interval(int(a.sum()), 1000, int(b[:700].sum()), 700)
    assert found.strata is not None
    assert found.strata.p_value < 1e-6
    assert found.progress_p == pytest.approx(1 / 501)
    assert compare_unpaired((a, TASKS), (b, TASKS + 100), rng()).strata is None


def test_five_policies() -> None:
    outcomes = successes(0.9, 0.6, 0.6, 0.61, 0.3)
    found = rank_policies(outcomes, TASKS, rng(), outcomes * 1.0, draws=300)
    assert len(found.comparisons) == 10
    assert found.ranks == ((1, 1), (2, 4), (2, 4), (2, 4), (5, 5))
    assert found.groups == ((0,), (1, 2, 3), (4,))
    assert found.shares[0, 0] == 1
    for pair, comparison in found.comparisons.items():
        assert comparison.p_value <= found.hochberg_p[pair] <= found.holm_p[pair]


def test_one_policy_has_one_rank() -> None:
    found = rank_policies(successes(0.5), TASKS, rng(), draws=10)
    assert found.ranks == ((1, 1),)
    assert found.groups == ((0,),)
    assert found.comparisons == {}


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(ValueError, match="no pair"):
        compare_paired([], [], [], rng())
    with pytest.raises(ValueError, match="both policies need an episode"):
        compare_unpaired(([], []), ([1], [0]), rng())
    with pytest.raises(ValueError, match="equally long"):
        compare_paired([1], [1], [0, 1], rng())
