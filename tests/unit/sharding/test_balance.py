"""Shares against brute force, and their speed on a plan larger than any here."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import pytest

from vlassess.sharding.balance import shares

Grid = list[list[int]]


def worst(strata: Sequence[tuple[int, ...]], taken: Grid) -> int:
    """Return by how much the parts' shares of a level differ, at most over all levels of all factors."""
    found = 0
    for factor in range(len(strata[0])):
        for level in {stratum[factor] for stratum in strata}:
            rows = [row for stratum, row in zip(strata, taken, strict=True) if stratum[factor] == level]
            held = [sum(column) for column in zip(*rows, strict=True)]
            found = max(found, max(held) - min(held))
    return found


def best(strata: Sequence[tuple[int, ...]], count: int) -> int:
    """Return the least `worst` of all ways to give one member of each stratum to a part, sizes within 1."""
    found = len(strata)
    for owners in itertools.product(range(count), repeat=len(strata)):
        sizes = [owners.count(part) for part in range(count)]
        if max(sizes) - min(sizes) <= 1:
            found = min(found, worst(strata, [[int(part == owner) for part in range(count)] for owner in owners]))
    return found


@pytest.mark.parametrize(
    ("levels", "count"), [((2, 2), 2), ((3, 2), 2), ((2, 2, 2), 2), ((3, 3), 2), ((3, 2), 3), ((4, 2), 3)]
)
def test_no_way_is_better(levels: tuple[int, ...], count: int) -> None:
    strata = list(itertools.product(*map(range, levels)))
    assert worst(strata, shares([1] * len(strata), strata, count)) == best(strata, count)


def test_rows_add_up_and_sizes_differ_by_one() -> None:
    sizes, strata = [5, 0, 7, 1], [(0, 0), (0, 1), (1, 0), (1, 1)]
    taken = shares(sizes, strata, 3)
    assert [sum(row) for row in taken] == sizes
    assert all(max(row) - min(row) <= 1 for row in taken)
    totals = [sum(column) for column in zip(*taken, strict=True)]
    assert max(totals) - min(totals) <= 1


def test_a_large_plan_takes_a_moment() -> None:
    strata = list(itertools.product(range(130), range(5), range(4)))
    began = time.process_time()
    taken = shares([50] * len(strata), strata, 64)
    assert time.process_time() - began < 10
    assert worst(strata, taken) <= 2
