"""Blocks: an order that nobody's speed can change, and a test that reads finished ones alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runs import config_of, items_of
from vlassess.comparison import Place, Race, block_order, place_of
from vlassess.stats.sequential import log_capital

CELLS = [{"axis": "start", "level": "far"}]
ITEMS = items_of(config_of(episodes=8, benchmark_params={"tasks": 3}))
WITH_CELLS = items_of(config_of(episodes=8, benchmark_params={"tasks": 3}, cells=CELLS))
BLOCKS = block_order(ITEMS, "plan")
PLACES = {place_of(item) for item in ITEMS}


def test_a_block_holds_one_start_of_every_task_with_its_cells() -> None:
    blocks = block_order(WITH_CELLS, "plan")
    for block in range(8):
        members = [place for place, number in blocks.items() if number == block]
        assert Counter(place.task for place in members) == {"to-4": 2, "to-5": 2, "to-6": 2}
        assert len({(place.task, place.index) for place in members}) == 3


def test_the_order_is_the_plans_alone() -> None:
    assert block_order(ITEMS[::-1], "plan") == BLOCKS
    assert block_order(ITEMS, "other plan") != BLOCKS
    orders = {
        task: [p.index for p in sorted(PLACES, key=BLOCKS.__getitem__) if p.task == task] for task in ("to-4", "to-5")
    }
    assert orders["to-4"] != orders["to-5"]
    assert orders["to-4"] != list(range(8))


@given(st.permutations(sorted(PLACES, key=str)), st.randoms(use_true_random=False))
def test_the_order_of_results_changes_nothing(order: list[Place], random: np.random.Generator) -> None:
    outcome = {place: bool((place.index + int(place.task[-1])) % 3) for place in PLACES}
    read = {place: place.index % 2 == 0 for place in PLACES}
    races = [Race(BLOCKS, {"a": PLACES}, read, 0.05) for _ in range(2)]
    for place in sorted(PLACES, key=BLOCKS.__getitem__):
        races[0].tell("a", place, outcome[place])
    for number, place in enumerate(order):
        races[1].tell("a", place, outcome[place])
        told = set(order[: number + 1])
        finished = next((b for b in range(8) if not {p for p in PLACES if BLOCKS[p] == b} <= told), 8)
        assert races[1].finished == finished
    assert races[0].state == races[1].state
    assert races[0].history == races[1].history
    assert races[0].state.pairs == 24


def test_a_member_without_a_final_result_holds_its_block() -> None:
    race = Race(BLOCKS, {"a": PLACES}, dict.fromkeys(PLACES, False), 0.05)
    held = next(place for place in PLACES if BLOCKS[place] == 2)
    for place in PLACES - {held}:
        race.tell("a", place, True)
    assert (race.finished, race.state.pairs) == (2, 6)
    assert race.waiting == [held]
    race.tell("a", held, True)
    assert race.finished == 8
    assert race.decided_at is not None
    assert race.waiting == []


def test_both_arms_may_run() -> None:
    race = Race(BLOCKS, {"a": PLACES, "b": PLACES}, {}, 0.05)
    for place in PLACES:
        race.tell("a", place, True)
    assert race.finished == 0
    for place in PLACES:
        race.tell("b", place, False)
    assert (race.finished, race.state.only_a) == (8, 24)


def test_a_place_that_the_other_arm_lacks_is_in_no_pair() -> None:
    read = {place: False for place in PLACES if BLOCKS[place] > 0 and place.task != "to-4"}
    race = Race(BLOCKS, {"a": PLACES}, read, 0.05)
    for place in PLACES:
        race.tell("a", place, True)
    assert (race.finished, race.state.pairs, race.state.blocks) == (8, 14, 7)


def test_cells_of_one_start_are_one_piece_of_evidence() -> None:
    blocks = block_order(WITH_CELLS, "plan")
    race = Race(blocks, {"a": set(blocks)}, dict.fromkeys(blocks, False), 0.05)
    for place in blocks:
        race.tell("a", place, not place.cell)
    assert race.state.pairs == 24
    assert race.state.mixed == (0.5,) * 24
    assert race.state.difference == pytest.approx(0.5)


def test_cells_that_share_their_starts_raise_no_false_alarm() -> None:
    # Both cells of a start come out alike, the worst case: as two pairs each they would be counted twice.
    rng = np.random.default_rng(5)
    alarms, naive = 0, 0
    for _ in range(300):
        gaps = rng.integers(-1, 2, size=40)
        looks = [tuple(map(float, gaps[: n + 1])) for n in range(40)]
        alarms += any(log_capital(0, 0, 0, mixed=look) >= np.log(20) for look in looks)
        twice = [(2 * look.count(1.0), 2 * look.count(-1.0), 2 * look.count(0.0)) for look in looks]
        naive += any(log_capital(*counts) >= np.log(20) for counts in twice)
    assert alarms <= 15 + 2 * 3.8  # 0.05 of 300, and two standard deviations
    assert naive > alarms
