from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from vlassess.stats.many import benjamini_hochberg, better, holm, indistinguishable, rank_intervals, rank_shares

p_values = st.lists(st.floats(0, 1), max_size=12)


@given(values=p_values)
@settings(deadline=None, max_examples=60)
def test_holm_by_its_definition(values: list[float]) -> None:
    order = sorted(range(len(values)), key=values.__getitem__)
    expected, largest = [0.0] * len(values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - place) * values[index]))
        expected[index] = largest
    assert holm(values).tolist() == pytest.approx(expected)


@given(values=p_values.filter(bool))
@settings(deadline=None, max_examples=40)
def test_benjamini_hochberg_against_scipy(values: list[float]) -> None:
    assert benjamini_hochberg(values).tolist() == pytest.approx(false_discovery_control(values).tolist())


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_groups_are_the_maximal_cliques(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    found = np.zeros((n, n), dtype=bool)
    for i, j in itertools.combinations(range(n), 2):
        found[i, j] = data.draw(st.booleans())
    cliques = [
        set(group)
        for size in range(1, n + 1)
        for group in itertools.combinations(range(n), size)
        if not any(found[i, j] for i, j in itertools.combinations(group, 2))
    ]
    expected = [group for group in cliques if not any(group < other for other in cliques)]
    assert indistinguishable(found) == tuple(sorted(tuple(sorted(group)) for group in expected))


def test_ranks_of_three_policies() -> None:
    gaps = np.array([[0, 0.3, 0.02], [-0.3, 0, -0.28], [-0.02, 0.28, 0]])
    p = np.array([[1, 0.001, 0.6], [1, 1, 0.002], [1, 1, 1]])
    found = better(gaps, p)
    assert found.tolist() == [[False, True, False], [False, False, False], [False, True, False]]
    assert rank_intervals(found) == ((1, 2), (3, 3), (1, 2))
    assert indistinguishable(found) == ((0, 2), (1,))


def test_all_pairs_are_adjusted_together() -> None:
    gaps = np.array([[0, 0.3, 0.3], [-0.3, 0, 0.1], [-0.3, -0.1, 0]])
    p = np.array([[1, 0.03, 0.04], [1, 1, 0.9], [1, 1, 1]])
    assert not better(gaps, p).any()
    assert rank_intervals(better(gaps, p)) == ((1, 3),) * 3


def test_rank_shares() -> None:
    rng = np.random.default_rng(2)
    counts = np.full(10, 50)
    sums = np.stack([np.full(10, 45), np.full(10, 30), np.full(10, 30), np.arange(10)])
    shares = rank_shares(sums, counts, rng, 500)
    assert shares[0].tolist() == [1, 0, 0, 0]
    assert shares[1].tolist() == pytest.approx([0, 0.5, 0.5, 0])
    assert shares.sum(axis=0).tolist() == pytest.approx([1] * 4)
    assert shares.sum(axis=1).tolist() == pytest.approx([1] * 4)


def test_nothing_to_compare() -> None:
    assert holm([]).tolist() == []
    assert indistinguishable(np.zeros((0, 0), dtype=bool)) == ()
    assert rank_intervals(np.zeros((1, 1), dtype=bool)) == ((1, 1),)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"all must lie in \[0, 1\]"):
        holm([1.5])
    with pytest.raises(ValueError, match="square and of one size"):
        better(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="sums has 1 dimensions"):
        rank_shares([1, 2], [3, 3], np.random.default_rng(0))
