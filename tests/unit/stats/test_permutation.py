from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from vlassess.stats.paired import PairedTable, mcnemar_exact
from vlassess.stats.permutation import shuffle, sign_flip

numbers = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=9)


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@given(differences=numbers)
@settings(deadline=None, max_examples=60)
def test_sign_flips_against_brute_force(differences: list[float]) -> None:
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    expected = sum(value >= abs(sum(differences)) for value in sums) / len(sums)
    assert sign_flip(differences, rng()) == pytest.approx(expected)


@given(won=st.integers(0, 12), lost=st.integers(0, 12), same=st.integers(0, 4))
@settings(deadline=None, max_examples=40)
def test_sign_flips_of_binary_outcomes_are_mcnemars_test(won: int, lost: int, same: int) -> None:
    differences = [1.0] * won + [-1.0] * lost + [0.0] * same
    found = sign_flip(differences, rng(), 20_000)
    expected = mcnemar_exact(PairedTable(same, won, lost, 0))
    if differences:
        assert found == pytest.approx(expected, abs=1e-9 if won + lost <= 16 else 0.02)


def test_many_sign_flips_against_scipy() -> None:
    values = rng().normal(0.25, 1, 60)
    theirs = permutation_test((values,), np.sum, permutation_type="samples", n_resamples=20_000, rng=2).pvalue
    assert sign_flip(values, rng(), 20_000) == pytest.approx(theirs, abs=0.01)


def test_shuffles_against_scipy() -> None:
    a, b = rng().normal(0.4, 1, 30), np.random.default_rng(1).normal(0, 1, 50)
    theirs = permutation_test(
        (a, b), lambda x, y: np.mean(x) - np.mean(y), permutation_type="independent", n_resamples=10_000, rng=2
    ).pvalue
    assert shuffle(a, b, rng(), 10_000) == pytest.approx(theirs, abs=0.015)


def test_p_is_never_zero_and_no_number_is_no_test() -> None:
    assert sign_flip(np.full(40, 1.0), rng(), 99) == pytest.approx(0.01)
    assert shuffle(np.ones(50), np.zeros(50), rng(), 99) == pytest.approx(0.01)
    assert sign_flip([], rng()) is None
    assert shuffle([], [1.0], rng()) is None
    assert sign_flip([0.0, 0.0], rng()) == 1.0
    assert shuffle([1.0], [1.0], rng(), 99) == 1.0
    with pytest.raises(ValueError, match="holds NaN"):
        sign_flip([math.nan], rng())
