from __future__ import annotations

import dataclasses
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runs import config_of, items_of, record_of
from vlassess.execution.handout import BlockedHandOut, DurationModel, Group, HandOut, group_of
from vlassess.schema.items import WorkItem

POLICY = {"local": "vlassess_link.testing:FakePolicy"}
CONFIG = config_of(
    episodes=3,
    benchmark_params={"tasks": 3},
    policies={"a": {**POLICY, "params": {"chunk": 1}}, "b": {**POLICY, "params": {"chunk": 2}}},
)
ITEMS = items_of(CONFIG)
BOTH = ("a", "b")
EXPECTED = {
    group_of(policy, "walk", task): steps
    for policy, scale in (("a", 1.0), ("b", 10.0))
    for task, steps in (("to-4", 5.0 * scale), ("to-5", 9.0 * scale), ("to-6", 7.0 * scale))
}


def group(item: WorkItem) -> Group:
    return group_of(item.policy, item.episode.suite, item.episode.task)


def drained(handout: HandOut) -> list[WorkItem]:
    taken = []
    while (item := handout.next(BOTH)) is not None:
        taken.append(item)
    return taken


def test_the_longest_expected_comes_first_and_the_plans_order_within() -> None:
    taken = drained(HandOut(ITEMS, DurationModel(EXPECTED).expected))
    lengths = [EXPECTED[group(item)] for item in taken]
    assert lengths == sorted(lengths, reverse=True)
    for each in EXPECTED:
        assert [item.episode.index for item in taken if group(item) == each] == [0, 1, 2]


def test_among_equals_the_first_planned_wins() -> None:
    assert drained(HandOut(ITEMS, lambda _: 1.0))[0] == ITEMS[0]


def test_the_running_mean_replaces_what_was_declared() -> None:
    durations = DurationModel({group_of("a", "walk", "to-4"): 100.0, group_of("a", "walk", "to-5"): 10.0})
    first, second = group_of("a", "walk", "to-4"), group_of("a", "walk", "to-5")
    assert (durations.expected(first), durations.expected(second)) == (100.0, 10.0)
    item = next(item for item in ITEMS if group(item) == first)
    for seconds in (1.0, 3.0):
        durations.learn(dataclasses.replace(record_of(item), steps=50, seconds={"total": seconds}))
    assert durations.expected(first) == 2.0
    # The others' steps go at the overall rate: 4 seconds for 100 steps.
    assert durations.expected(second) == 10.0 * 4 / 100
    assert durations.expected(group_of("a", "walk", "unheard of")) == 0.0


def test_what_is_learnt_changes_the_order_at_once() -> None:
    durations = DurationModel(EXPECTED)
    handout = HandOut(ITEMS, durations.expected)
    first = handout.next(BOTH)
    assert first is not None
    assert group(first) == group_of("b", "walk", "to-5")
    durations.learn(dataclasses.replace(record_of(first), steps=45, seconds={"total": 0.001}))
    second = handout.next(BOTH)
    assert second is not None
    assert group(second) == group_of("b", "walk", "to-6")


def test_only_policies_that_are_ready_get_episodes() -> None:
    handout = HandOut(ITEMS, DurationModel(EXPECTED).expected)
    assert handout.next(()) is None
    taken = handout.next(("a",))
    assert taken is not None
    assert taken.policy == "a"
    while handout.next(("a",)) is not None:
        pass
    assert len(handout) == len(ITEMS) // 2
    assert handout


def test_what_is_put_back_comes_last_in_its_group() -> None:
    items = [item for item in ITEMS if group(item) == group_of("a", "walk", "to-4")]
    handout = HandOut(items, lambda _: 1.0)
    first = handout.next(BOTH)
    assert first == items[0]
    handout.put_back(first)
    assert drained(handout) == [items[1], items[2], items[0]]
    assert not handout
    handout.put_back(first)
    assert drained(handout) == [first]


@given(st.permutations(ITEMS), st.lists(st.sampled_from(["a", "b", "both", "back", "learn"]), max_size=60))
def test_every_item_is_handed_out_exactly_once(items: list[WorkItem], moves: list[str]) -> None:
    durations = DurationModel(EXPECTED)
    handout = HandOut(items, durations.expected)
    out: list[WorkItem] = []
    for move in moves:
        if move == "back" and out:
            handout.put_back(out.pop(0))
        elif move == "learn" and out:
            durations.learn(dataclasses.replace(record_of(out[-1]), seconds={"total": float(len(out))}))
        else:
            item = handout.next({"a": ("a",), "b": ("b",)}.get(move, BOTH))
            out += [] if item is None else [item]
        assert len(handout) + len(out) == len(ITEMS)
        assert bool(handout) == (len(handout) > 0)
    out += drained(handout)
    assert Counter(item.item_id for item in out) == Counter(item.item_id for item in ITEMS)


BLOCKS = {item.item_id: item.episode.index for item in ITEMS}


def test_blocks_come_in_order_and_the_longest_expected_first_in_each() -> None:
    taken = drained_blocks(BlockedHandOut(ITEMS, DurationModel(EXPECTED).expected, BLOCKS))
    assert [BLOCKS[item.item_id] for item in taken] == [0] * 6 + [1] * 6 + [2] * 6
    for block in range(3):
        lengths = [EXPECTED[group(item)] for item in taken if BLOCKS[item.item_id] == block]
        assert lengths == sorted(lengths, reverse=True)


def test_what_is_put_back_returns_to_its_block() -> None:
    handout = BlockedHandOut(ITEMS, lambda _: 1.0, BLOCKS)
    taken = [handout.next(BOTH) for _ in range(8)]
    first = taken[0]
    assert first is not None
    handout.put_back(first)
    assert handout.next(BOTH) == first
    assert len(handout) == len(ITEMS) - 8


def test_a_block_whose_policy_is_not_ready_does_not_stop_the_others() -> None:
    handout = BlockedHandOut(ITEMS, lambda _: 1.0, BLOCKS)
    assert [BLOCKS[item.item_id] for _ in range(9) if (item := handout.next(("a",))) is not None] == [0] * 3 + [
        1
    ] * 3 + [2] * 3
    assert handout.next(("a",)) is None
    assert len(handout) == 9
    assert handout
    assert len(drained_blocks(handout)) == 9
    assert not handout


def drained_blocks(handout: BlockedHandOut) -> list[WorkItem]:
    taken = []
    while (item := handout.next(BOTH)) is not None:
        taken.append(item)
    return taken
