"""Only what the records prove is a pair."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.comparison.build import arm_of, moved, trial_of
from vlassess.comparison import match
from vlassess.comparison.pairing import DIFFERS, ERROR, MISSING, NO_PARTNER, UNMEASURED, compare_states
from vlassess.schema.arms import Cell

TRIALS = [trial_of(index, index % 2 == 0) for index in range(6)]


def test_all_that_agree_are_pairs() -> None:
    found = match(arm_of("A", TRIALS), arm_of("B", TRIALS))
    assert (len(found.starts), found.shared, found.dropped, found.impossible) == (6, 6, (), "")
    assert len(found.sure) == 6
    assert all(start.a[0].index == start.b[0].index for start in found.starts)


@pytest.mark.parametrize(("by", "pairs"), [(0.9e-6, 6), (-0.9e-6, 6), (1.1e-6, 5), (0.5, 5)])
def test_states_may_differ_by_a_millionth(by: float, pairs: int) -> None:
    other = [moved(trial, "goal", by) if trial.index == 3 else trial for trial in TRIALS]
    found = match(arm_of("A", TRIALS), arm_of("B", other))
    assert len(found.starts) == pairs
    if pairs == 5:
        (drop,) = found.dropped
        assert drop.reason == DIFFERS
        assert drop.place == "walk/to-4 #3"
        assert f"component 'goal' differs by {abs(by):.3g}" in drop.detail
        assert found.refuted == 1


def test_what_is_dropped_says_why() -> None:
    mine = [*TRIALS[:2], trial_of(2, "error"), trial_of(3, "missing"), trial_of(4, state={})]
    found = match(arm_of("A", mine), arm_of("B", TRIALS))
    assert len(found.starts) == 2
    assert [(drop.reason, drop.place) for drop in found.dropped] == [
        (NO_PARTNER, "walk/to-4 #5 of B"),
        (ERROR, "walk/to-4 #2 of A"),
        (MISSING, "walk/to-4 #3 of A"),
        (UNMEASURED, "walk/to-4 #4"),
    ]


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"state": {"goal": [4.0]}}, "components measured on one side only: x"),
        ({"instruction": "walk"}, "the instructions differ"),
        ({"step_limit": 30}, "the step limits differ (20 and 30)"),
    ],
)
def test_a_part_of_the_proof_may_be_missing(change: dict[str, Any], doubt: str) -> None:
    other = [dataclasses.replace(TRIALS[0], **change), *TRIALS[1:]]
    found = match(arm_of("A", TRIALS), arm_of("B", other))
    assert len(found.starts) == 6
    assert len(found.sure) == 5
    assert found.starts[0].doubts == (doubt,)


def test_other_parameters_make_every_pair_doubtful() -> None:
    found = match(arm_of("A", TRIALS, conduct={"benchmark parameter 'hard'": "True"}), arm_of("B", TRIALS))
    assert found.sure == ()
    assert found.starts[0].doubts == ("benchmark parameter 'hard' differs (True and None)",)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"unpairable": "it records no states"}, "it records no states"),
        ({"benchmark": "fake@2"}, "the benchmark's versions differ (fake@1 and fake@2)"),
        (
            {"trials": tuple(trial_of(index, pair_key=f"other{index}") for index in range(3))},
            "no planned start in common",
        ),
    ],
)
def test_why_there_can_be_no_pair_at_all(changes: dict[str, Any], reason: str) -> None:
    found = match(arm_of("A", TRIALS), dataclasses.replace(arm_of("B", TRIALS), **changes))
    assert found.starts == ()
    assert reason in found.impossible


def perturbed(cell: Cell, name: str, by: float) -> list[Any]:
    base = [dataclasses.replace(trial, state={**trial.state, "lamp": [0.0]}, cell=cell) for trial in TRIALS]
    return [moved(trial, name, by) for trial in base]


def test_what_a_perturbation_may_touch_is_not_compared() -> None:
    cell = (("light", "dark"),)
    a, b = arm_of("A", perturbed(cell, "lamp", 0.0)), arm_of("B", perturbed(cell, "lamp", 1.0))
    assert len(match(a, b, cell).starts) == 6
    assert match(a, arm_of("B", perturbed(cell, "goal", 1.0)), cell).starts == ()
    assert match(a, b).starts == ()  # none of them is of the control


def test_an_axis_that_changes_the_start_is_never_paired() -> None:
    cell = (("start", "far"),)
    arm = perturbed(cell, "goal", 0.0)
    assert "changes the start itself" in match(arm_of("A", arm), arm_of("B", arm), cell).impossible


def test_repeats_are_one_start() -> None:
    twice = [dataclasses.replace(trial, repeat=repeat) for trial in TRIALS for repeat in (0, 1)]
    found = match(arm_of("A", twice), arm_of("B", twice))
    assert len(found.starts) == 6
    assert {(len(start.a), len(start.b)) for start in found.starts} == {(2, 2)}


@pytest.mark.parametrize(
    ("a", "b", "refuted"),
    [
        ({"x": [1.0, 2.0]}, {"x": [1.0]}, True),
        ({"x": "here"}, {"x": "here"}, False),
        ({"x": "here"}, {"x": "there"}, True),
        ({"x": [float("inf")]}, {"x": [float("inf")]}, False),
        ({"x": []}, {"x": []}, False),
        ({}, {}, True),
    ],
)
def test_states_of_every_form(a: dict[str, Any], b: dict[str, Any], refuted: bool) -> None:
    assert compare_states(a, b).refuted is refuted


numbers = st.dictionaries(st.sampled_from("xyz"), st.lists(st.floats(-9, 9), min_size=1, max_size=3), min_size=1)


@given(numbers, numbers)
def test_comparing_states_has_no_side(a: dict[str, Any], b: dict[str, Any]) -> None:
    one, other = compare_states(a, b), compare_states(b, a)
    assert (one.refuted, one.reason) == (other.refuted, other.reason)
    assert not compare_states(a, a).refuted
    assert compare_states(a, b, free=(*a, *b)).reason == UNMEASURED
