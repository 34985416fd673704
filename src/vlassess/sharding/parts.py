"""Parts of a plan: pure functions of the plan alone, the same on every machine.

Shards are balanced over tasks, cells and policies. A start goes to a shard by its id, which is a hash, never by its
number: dealt out by number, a plan whose factors have a divisor in common with the number of shards would
give a shard one cell, or one start.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from vlassess.schema.items import WorkItem
from vlassess.sharding.balance import shares
from vlassess_link.data import Episode
from vlassess_link.errors import VlassessError

Factors = tuple[tuple[str, str], tuple[tuple[str, str], ...], str]


class ShardError(VlassessError):
    """What was asked for is no part of the plan."""


class Shard(NamedTuple):
    """One of several disjoint parts that make up a plan.

    Attributes:
        number: From 1 to `of`.
        of: How many there are.
    """

    number: int
    of: int

    def __str__(self) -> str:
        """Return it as the command line has it: ``3/7``."""
        return f"{self.number}/{self.of}"


def parse_shard(text: str) -> Shard:
    """Return the shard that ``text`` names, as in ``3/7``.

    Raises:
        ShardError: it is not two whole numbers, or the first is not from 1 to the second.
    """
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
    if match is None:
        raise ShardError(f"shard is {text!r}; it must be I/N with two whole numbers, as in 1/4")
    shard = Shard(int(match[1]), int(match[2]))
    if not 1 <= shard.number <= shard.of:
        raise ShardError(f"shard is {text!r}; the first number must be from 1 to the second, as in 1/4")
    return shard


def shard_items(items: Sequence[WorkItem], shard: Shard) -> tuple[WorkItem, ...]:
    """Return the items of one shard, in plan order.

    The shards of one ``of`` are disjoint and together are the plan; see `partition` for how alike they are.

    Raises:
        ShardError: the plan has fewer items than there are shards.
    """
    if shard.of > len(items):
        raise ShardError(
            f"shard is {shard}, but the plan has {len(items)} items; "
            f"take at most {len(items)} shards, so that none is empty"
        )
    numbers = partition(items, shard.of)
    return tuple(item for item in items if numbers[item.item_id] == shard.number)


def partition(items: Iterable[WorkItem], count: int) -> dict[str, int]:
    """Return item id -> number of its shard, from 1 to ``count``.

    The sizes of the shards, and what they hold of each task x cell x policy, differ by at most 1; what they hold of a
    task, of a cell and of a policy by 1, or by 2 where these together leave no other way.
    """
    strata: dict[Factors, list[str]] = defaultdict(list)
    for item in items:
        strata[_factors(item)].append(item.item_id)
    held = shares([len(ids) for ids in strata.values()], list(strata), count)
    found: dict[str, int] = {}
    for ids, row in zip(strata.values(), held, strict=True):
        numbers = [number for number, share in enumerate(row, 1) for _ in range(share)]
        found.update(zip(sorted(ids), numbers, strict=True))
    return found


def limit_items(items: Sequence[WorkItem], limit: int) -> tuple[WorkItem, ...]:
    """Return at most ``limit`` items that stand for the whole plan, in plan order.

    Policies get the same episodes, tasks equally many, and cells take turns, as far as ``limit`` divides. The items
    of a smaller limit are among those of a larger one.

    Raises:
        ShardError: ``limit`` is below 1.
    """
    if limit < 1:
        raise ShardError(f"limit is {limit}; it must be at least 1")
    chosen = {item.item_id for item in spread(items)[:limit]}
    return tuple(item for item in items if item.item_id in chosen)


def spread(items: Iterable[WorkItem]) -> list[WorkItem]:
    """Return all items, in an order whose beginning stands for all of them."""
    policies: dict[str, list[WorkItem]] = defaultdict(list)
    tasks: dict[tuple[str, str], list[Episode]] = defaultdict(list)
    for item in items:
        if item.episode.episode_id not in policies:
            tasks[item.episode.suite, item.episode.task].append(item.episode)
        policies[item.episode.episode_id].append(item)
    by_hash = sorted(tasks.values(), key=lambda episodes: min(episode.pair_key for episode in episodes))
    turns = zip_longest(*(_in_turn(episodes, number) for number, episodes in enumerate(by_hash)))
    return [item for turn in turns for episode in turn if episode is not None for item in policies[episode.episode_id]]


def _in_turn(episodes: Sequence[Episode], number: int) -> list[Episode]:
    """Return one task's episodes start by start, so that a start's cells are together; tasks begin with other cells."""
    starts: dict[tuple[str, int], list[Episode]] = defaultdict(list)
    for episode in episodes:
        starts[episode.pair_key, episode.repeat].append(episode)
    found = []
    for key in sorted(starts):
        first = number % len(starts[key])
        found += starts[key][first:] + starts[key][:first]
    return found


def _factors(item: WorkItem) -> Factors:
    episode = item.episode
    return (episode.suite, episode.task), tuple(sorted(episode.perturbation.items())), item.policy
