from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess.stats import Interval, covered_length, mean, median

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(numbers)
@settings(deadline=None, max_examples=50)
def test_mean_and_median_agree_with_the_standard_library(values: list[float]) -> None:
    assert mean(values) == pytest.approx(statistics.fmean(values))
    assert median(values) == statistics.median(values)


def test_nothing_has_no_mean() -> None:
    assert mean([]) is None
    assert median([]) is None


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), max_size=12)


@given(spans)
@settings(deadline=None, max_examples=100)
def test_covered_length_counts_every_unit_once(found: list[tuple[int, int]]) -> None:
    units = {unit for low, size in found for unit in range(low, low + size)}
    assert covered_length(Interval(low, low + size) for low, size in found) == len(units)
