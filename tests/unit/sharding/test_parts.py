from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.schema.items import WorkItem, episode_item
from vlassess.sharding import Shard, ShardError, limit_items, parse_shard, shard_items
from vlassess_link.data import Episode
from vlassess_link.digest import content_id

Key = Callable[[WorkItem], object]
FACTORS: dict[str, Key] = {
    "task": lambda item: item.episode.task,
    "cell": lambda item: tuple(item.episode.perturbation.items()),
    "policy": lambda item: item.policy,
}


def stratum(item: WorkItem) -> object:
    return [key(item) for key in FACTORS.values()]


def crossed(tasks: int, cells: int, policies: int, starts: int, repeats: int = 1) -> tuple[WorkItem, ...]:
    """Return a plan in the order of `vlassess.plan`."""
    return tuple(
        episode_item(
            f"policy-{policy}",
            Episode(
                episode_id=content_id(["episode", task, start, cell, repeat]),
                pair_key=content_id(["pair", task, start]),
                benchmark="b@1",
                suite="s",
                task=f"task-{task}",
                index=start,
                seed=start,
                policy_seed=repeat,
                step_limit=10,
                repeat=repeat,
                perturbation={"axis": f"level-{cell}"} if cell else {},
            ),
        )
        for task in range(tasks)
        for start in range(starts)
        for cell in range(cells)
        for repeat in range(repeats)
        for policy in range(policies)
    )


PLANS = st.builds(
    crossed, st.integers(1, 7), st.integers(1, 5), st.integers(1, 4), st.integers(1, 6), st.integers(1, 2)
)


def all_shards(items: Sequence[WorkItem], of: int) -> list[tuple[WorkItem, ...]]:
    return [shard_items(items, Shard(number, of)) for number in range(1, of + 1)]


def unevenness(parts: Sequence[Sequence[WorkItem]], key: Key) -> int:
    """Return by how much the parts' counts differ, at most over the levels of a factor."""
    counts = [Counter(str(key(item)) for item in part) for part in parts]
    levels = {level for count in counts for level in count}
    return max(max(count[level] for count in counts) - min(count[level] for count in counts) for level in levels)


@given(PLANS, st.integers(1, 12))
def test_shards_are_disjoint_complete_and_balanced(items: tuple[WorkItem, ...], of: int) -> None:
    parts = all_shards(items, min(of, len(items)))
    assert Counter(item.item_id for part in parts for item in part) == Counter(item.item_id for item in items)
    assert unevenness(parts, lambda item: None) <= 1
    assert unevenness(parts, stratum) <= 1
    for key in FACTORS.values():
        assert unevenness(parts, key) <= 2
    for part in parts:
        assert [item for item in items if item in part] == list(part)


@pytest.mark.parametrize(
    ("tasks", "cells", "policies", "starts", "of"), [(4, 2, 2, 6, 2), (3, 3, 1, 6, 3), (6, 2, 1, 4, 4)]
)
def test_a_common_divisor_gives_no_shard_one_cell_or_one_start(
    tasks: int, cells: int, policies: int, starts: int, of: int
) -> None:
    items = crossed(tasks, cells, policies, starts)
    parts = all_shards(items, of)
    for key in FACTORS.values():
        assert unevenness(parts, key) <= 1
    for part in parts:
        assert len({item.episode.index for item in part}) > starts // 2


def test_plans_of_usual_sizes_are_even_within_one_almost_always() -> None:
    found = Counter(
        max(unevenness(all_shards(items, of), key) for key in FACTORS.values())
        for tasks in (2, 3, 5)
        for cells in (1, 2, 3)
        for policies in (1, 2, 3)
        for items in [crossed(tasks, cells, policies, 3)]
        for of in (2, 4, 5, 7)
        if of <= len(items)
    )
    assert max(found) <= 2
    assert found[2] <= 0.02 * found.total()


@given(st.data())
def test_a_plan_that_is_not_crossed_is_shared_out_too(data: st.DataObject) -> None:
    whole = crossed(4, 3, 2, 3)
    items = tuple(data.draw(st.lists(st.sampled_from(whole), min_size=5, unique_by=lambda item: item.item_id)))
    parts = all_shards(items, 5)
    assert sorted(item.item_id for part in parts for item in part) == sorted(item.item_id for item in items)
    assert unevenness(parts, lambda item: None) <= 1
    assert unevenness(parts, stratum) <= 1


def test_one_shard_is_the_plan() -> None:
    items = crossed(2, 2, 1, 3)
    assert shard_items(items, Shard(1, 1)) == items


def test_the_same_shard_on_every_machine() -> None:
    """Another process has another salt of Python's own hash; and a later version must not deal out anew."""
    items = crossed(3, 2, 2, 3)
    here = content_id([item.item_id for item in shard_items(items, Shard(2, 7))])
    code = (
        "from tests.unit.sharding.test_parts import crossed\n"
        "from vlassess.sharding import Shard, shard_items\n"
        "from vlassess_link.digest import content_id\n"
        "print(content_id([item.item_id for item in shard_items(crossed(3, 2, 2, 3), Shard(2, 7))]))"
    )
    there = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    assert here == there == "2258f696ac423f6b0fa6"


@pytest.mark.parametrize(("text", "shard"), [("1/1", (1, 1)), (" 3/7 ", (3, 7)), ("007/12", (7, 12))])
def test_a_shard_is_read(text: str, shard: tuple[int, int]) -> None:
    assert parse_shard(text) == shard
    assert str(parse_shard(text)) == f"{shard[0]}/{shard[1]}"


@pytest.mark.parametrize("text", ["", "3", "0/7", "8/7", "1/0", "-1/7", "1/7/2", "a/b", "1.0/7", "1 / 7", "²/7"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ShardError, match="as in 1/4"):
        parse_shard(text)


def test_more_shards_than_items_are_refused() -> None:
    with pytest.raises(ShardError, match="shard is 1/5, but the plan has 4 items; take at most 4 shards"):
        shard_items(crossed(2, 1, 1, 2), Shard(1, 5))


@given(PLANS, st.integers(1, 60), st.integers(0, 20))
def test_a_limited_plan_stands_for_the_whole(items: tuple[WorkItem, ...], limit: int, more: int) -> None:
    few, many = limit_items(items, limit), limit_items(items, limit + more)
    assert len(few) == min(limit, len(items))
    assert {item.item_id for item in few} <= {item.item_id for item in many}
    assert list(few) == [item for item in items if item in few]
    policies = Counter(item.policy for item in few)
    assert max(policies.values()) - min((policies[item.policy] for item in items), default=0) <= 1
    episodes = {item.episode.episode_id: item.episode.task for item in few}
    tasks = Counter(episodes.values())
    assert max(tasks.values()) - min(tasks[item.episode.task] for item in items) <= 1


def test_a_limit_takes_every_cell_and_keeps_pairs_together() -> None:
    items = limit_items(crossed(4, 3, 2, 10), 4 * 3 * 2)
    assert set(Counter(tuple(item.episode.perturbation.items()) for item in items).values()) == {8}
    assert set(Counter(item.episode.pair_key for item in items).values()) == {6}
    assert limit_items(items, 1000) == items


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_that_leaves_nothing_is_refused(limit: int) -> None:
    with pytest.raises(ShardError, match=f"limit is {limit}; it must be at least 1"):
        limit_items(crossed(1, 1, 1, 1), limit)
