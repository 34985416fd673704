from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess.robustness.partition import Estimate, Partition, rounded

values = st.floats(-1, 3)
plans = st.lists(st.tuples(st.integers(0, 10**6), st.floats(0.05, 0.95), values, values), min_size=1, max_size=30)


def grown(dimension: int, estimate: Estimate, plan: list[tuple[int, float, float, float]]) -> Partition:
    """Split the intervals that the plan names, at its shares, with two terms."""
    partition = Partition(dimension, 2, estimate)
    partition.begin([1.0, 0.5], [0.7, 0.9])
    for number, share, *row in plan:
        intervals = [one for one in range(partition.count) if partition.width(one) > 1e-6]
        interval = intervals[number % len(intervals)]
        position = partition.left(interval) + share * partition.width(interval)
        partition.split(interval, position, row)
    return partition


@pytest.mark.parametrize("neighbours", [1, 3])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@given(plan=plans, noise=st.sampled_from([0.0, 0.05]))
@settings(max_examples=25)
def test_updates_near_a_split_are_all_that_is_needed(
    dimension: int, neighbours: int, plan: list[tuple[int, float, float, float]], noise: float
) -> None:
    partition = grown(dimension, Estimate(1.3, 1e-6, noise, neighbours), plan)
    partition.settle()
    one_by_one = [(partition.bound(one), partition.trial(one)) for one in range(partition.count)]
    partition.refresh()
    anew = [(partition.bound(one), partition.trial(one)) for one in range(partition.count)]
    np.testing.assert_allclose(one_by_one, anew, rtol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_bounds_hold_where_the_slopes_do(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    partition = Partition(dimension, 1, Estimate(1.1, 20.0))

    def function(x: float) -> float:
        return float(np.abs(x - 0.37) ** (1 / dimension) * 3 + 2 * np.abs(x - 0.81) ** (1 / dimension))

    partition.begin([function(0.0)], [function(1.0)])
    for _ in range(60):
        interval = int(rng.integers(partition.count))
        if partition.width(interval) > 1e-6:
            position = partition.trial(interval)
            partition.split(interval, position, [function(position)])
    partition.refresh()
    for interval in range(partition.count):
        if partition.width(interval):
            inside = np.linspace(0, 1, 200) * partition.width(interval) + partition.left(interval)
            assert min(map(function, inside)) >= partition.bound(interval) - 1e-12


@given(plans, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_order_within_a_batch_changes_nothing(
    plan: list[tuple[int, float, float, float]], random: st.DataObject
) -> None:
    estimate = Estimate(1.3, 1e-6)
    one, other = grown(2, estimate, plan), grown(2, estimate, plan)
    intervals = [number for number in range(one.count) if one.width(number) > 1e-4]
    batch = [(number, one.trial(number), [0.3 + number, 0.1 * number]) for number in intervals]
    for number, position, row in batch:
        one.split(number, position, row)
    for number, position, row in sorted(batch, key=lambda _: random.random()):  # type: ignore[attr-defined]
        other.split(number, position, row)
    for partition in (one, other):
        partition.settle()

    def intervals_of(partition: Partition) -> list[tuple[float, float, float]]:
        return sorted((partition.left(n), partition.width(n), partition.bound(n)) for n in range(partition.count))

    assert one.largest == other.largest
    np.testing.assert_allclose(intervals_of(one), intervals_of(other), rtol=1e-12)


def test_the_largest_slope_is_never_forgotten() -> None:
    partition = Partition(2, 1, Estimate(1.3, 1e-6))
    partition.begin([0.0], [1.0])
    partition.split(0, 0.5, [0.5])
    assert partition.largest == [1.0]  # both halves now show 0.5 / sqrt(0.5) = 0.71


def test_a_place_is_inserted_wherever_it_lies_and_only_once() -> None:
    partition = Partition(2, 1, Estimate(1.3, 1e-6))
    partition.begin([1.0], [1.0])
    assert partition.insert(0.25, [0.5])
    assert partition.insert(0.125, [0.6])
    assert not partition.insert(0.25, [0.5])
    assert not partition.insert(0.0, [1.0])
    assert partition.count == 4
    partition.settle()
    assert partition.several(10, 0.0) == sorted([0, 2, 3], key=partition.bound)
    assert partition.wide(0.2) == [2]


@given(st.floats(1e-9, 0.5), st.floats(0.05, 0.95))
def test_rounded_positions_are_short_and_close(width: float, share: float) -> None:
    left = rounded(0.3, width)
    position = rounded(left + share * width, width)
    assert abs(position - left - share * width) <= 2.0**-16 * width
    assert position.as_integer_ratio()[1] <= 2.0**17 / width
