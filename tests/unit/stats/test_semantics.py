from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess.stats.semantics import longest_run, success_semantics
from vlassess_link.specs import Termination

LIMIT, FIRST = Termination("at_limit"), Termination("on_success")


@pytest.mark.parametrize(
    ("steps", "termination", "hold", "expected"),
    [
        ([0, 1, 1, 0], LIMIT, 2, (True, False, True)),
        ([0, 1, 0, 1], LIMIT, 2, (True, True, False)),
        ([0, 0, 0], LIMIT, 1, (False, False, False)),
        ([], LIMIT, 1, (False, False, False)),
        ([0, 1], FIRST, 1, (True, None, True)),
        ([0, 1], FIRST, 2, (True, None, None)),
        ([0, 0], FIRST, 5, (False, None, None)),
        ([0, 1, 1, 1], Termination("hold", 3), 3, (True, None, True)),
        ([0, 1, 1, 1], Termination("hold", 3), 2, (True, None, True)),
        ([1, 0, 1, 0], Termination("hold", 3), 2, (True, None, False)),
        ([0, 1, 1, 1], Termination("hold", 3), 4, (True, None, None)),
    ],
)
def test_meanings(
    steps: list[int], termination: Termination, hold: int, expected: tuple[bool, bool | None, bool | None]
) -> None:
    assert success_semantics(steps, termination, hold) == expected


@given(steps=st.lists(st.booleans(), max_size=30))
@settings(deadline=None, max_examples=60)
def test_longest_run_by_grouping(steps: list[bool]) -> None:
    runs = [len(list(group)) for value, group in itertools.groupby(steps) if value]
    assert longest_run(steps) == max(runs, default=0)


@given(steps=st.lists(st.booleans(), min_size=1, max_size=30), hold=st.integers(1, 5))
@settings(deadline=None, max_examples=40)
def test_a_stricter_meaning_never_succeeds_where_a_milder_fails(steps: list[bool], hold: int) -> None:
    found = success_semantics(steps, LIMIT, hold)
    assert found.ever >= bool(found.at_end)
    assert found.ever >= bool(found.held)
    assert success_semantics(steps, LIMIT, 1).held == found.ever


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="hold is 0"):
        success_semantics([1], LIMIT, 0)
    with pytest.raises(ValueError, match="an outcome is 0 or 1"):
        success_semantics([2], LIMIT)
