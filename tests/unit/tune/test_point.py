"""Where demand and supply meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.tune.point import LOAD, OperatingPoint, knee, next_workers, operating_point

PUBLISHED_DEMAND = {1: 11.2, 50: 364.6, 80: 400.0}
PUBLISHED_SUPPLY = {1: 165.2, 16: 468.2}


def test_the_published_operating_point() -> None:
    # arXiv 2603.13966, figure 1: K* = 50 uses 78 % of the supply at B = 16. (At 80 the figure has a number only.)
    point = operating_point(PUBLISHED_DEMAND, PUBLISHED_SUPPLY)
    assert (point.workers, point.max_batch, point.bound_by) == (50, 16, "policy")
    assert round(100 * point.load) == 78


@pytest.mark.parametrize(
    ("demand", "supply", "wanted"),
    [
        ({1: 10.0, 2: 18.0, 4: 20.0}, {1: 100.0}, OperatingPoint(4, 1, 20.0, 100.0, "range")),
        ({1: 10.0, 2: 20.0, 4: 20.5, 8: 15.0}, {1: 100.0}, OperatingPoint(2, 1, 20.0, 100.0, "benchmark")),
        ({1: 90.0, 2: 180.0}, {1: 100.0}, OperatingPoint(1, 1, 90.0, 100.0, "policy")),
        ({1: 10.0, 2: 20.0}, {1: 50.0, 4: 97.0, 8: 100.0}, OperatingPoint(2, 4, 20.0, 97.0, "range")),
    ],
)
def test_operating_points(demand: dict[int, float], supply: dict[int, float], wanted: OperatingPoint) -> None:
    assert operating_point(demand, supply) == wanted


def test_a_curve_without_a_point() -> None:
    with pytest.raises(ValueError, match="the curve has no point"):
        knee({})


CURVES = st.dictionaries(st.integers(1, 64), st.floats(0.1, 1000.0), min_size=1, max_size=8)


@given(demand=CURVES, supply=CURVES)
def test_no_queue_builds_up_where_it_can_be_helped(demand: dict[int, float], supply: dict[int, float]) -> None:
    point = operating_point(demand, supply)
    assert point.supply >= 0.95 * max(supply.values())
    assert point.load < LOAD or point.workers == min(demand)
    assert point.workers <= knee(demand) or point.workers == min(demand)


@given(
    rate=st.floats(1.0, 50.0),
    contention=st.floats(0.0, 0.5),
    limit=st.floats(0.5, 2000.0),
    most=st.integers(1, 64),
)
def test_the_search_ends_at_the_most_workers_that_fit(rate: float, contention: float, limit: float, most: int) -> None:
    def measured(workers: int) -> float:
        return rate * workers / (1 + contention * (workers - 1))

    demand = {1: measured(1)}
    while (workers := next_workers(demand, limit, most)) is not None:
        assert 1 <= workers <= most
        assert workers not in demand
        demand[workers] = measured(workers)
    assert len(demand) <= 14
    fits = [workers for workers in range(1, most + 1) if measured(workers) < limit]
    above = [workers for workers, value in demand.items() if value >= limit]
    if above and fits:
        # Both neighbours of the crossing are measured.
        assert max(fits) in demand
