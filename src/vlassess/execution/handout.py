"""Which episode a free worker gets next: the longest expected first, or the first block's first.

Dynamic hand-out in longest-first order keeps the end of a run short: the last episodes to start are the
shortest (Graham's LPT rule). What is expected is a task's step limit (or what its benchmark declares) at first,
then the running mean of what its episodes took.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord

Group = tuple[str, str, str]


def group_of(policy: str, suite: str, task: str) -> Group:
    """Return the key of the episodes that are expected to take equally long."""
    return (policy, suite, task)


@dataclass
class _Seen:
    episodes: int = 0
    seconds: float = 0.0


class DurationModel:
    """Expected seconds per episode, by policy and task."""

    def __init__(self, expected_steps: Mapping[Group, float]) -> None:
        self._expected_steps = expected_steps
        self._seen: dict[Group, _Seen] = {}
        self._steps = 0
        self._seconds = 0.0

    def learn(self, record: EpisodeRecord) -> None:
        """Add what a finished episode took."""
        seconds = record.seconds.get("total", 0.0)
        seen = self._seen.setdefault(group_of(record.policy, record.suite, record.task), _Seen())
        seen.episodes += 1
        seen.seconds += seconds
        self._steps += record.steps
        self._seconds += seconds

    def expected(self, group: Group) -> float:
        """Return the expected seconds: the group's mean, else its expected steps at the run's overall rate."""
        seen = self._seen.get(group)
        if seen is not None:
            return seen.seconds / seen.episodes
        per_step = self._seconds / self._steps if self._steps else 1.0
        return self._expected_steps.get(group, 0.0) * per_step


class Queue(Protocol):
    """The items that no worker has yet, and which of them comes next."""

    def __len__(self) -> int:
        """Return how many items are left."""

    def __bool__(self) -> bool:
        """Return whether any item is left."""

    def put_back(self, item: WorkItem) -> None:
        """Add an item."""

    def next(self, ready: Collection[str]) -> WorkItem | None:
        """Take the next item of a policy in ``ready``; None where there is none."""


class HandOut:
    """A `Queue` whose longest expected item comes first."""

    def __init__(self, items: Iterable[WorkItem], expected: Callable[[Group], float]) -> None:
        self._expected = expected
        self._queues: dict[Group, deque[WorkItem]] = {}
        for item in items:
            self.put_back(item)

    def __len__(self) -> int:
        """Return how many items are left."""
        return sum(len(queue) for queue in self._queues.values())

    def __bool__(self) -> bool:
        """Return whether any item is left."""
        return bool(self._queues)

    def put_back(self, item: WorkItem) -> None:
        """Add an item; within its group it comes last."""
        group = group_of(item.policy, item.episode.suite, item.episode.task)
        self._queues.setdefault(group, deque()).append(item)

    def next(self, ready: Collection[str]) -> WorkItem | None:
        """Take the longest expected item of a policy in ``ready``; None where there is none.

        Expectations change whenever an episode ends, so they are compared afresh: there are only as many as
        tasks. Among equals the one planned first wins.
        """
        groups = [group for group in self._queues if group[0] in ready]
        if not groups:
            return None
        group = max(groups, key=self._expected)
        item = self._queues[group].popleft()
        if not self._queues[group]:
            del self._queues[group]
        return item


class BlockedHandOut:
    """A `Queue` that follows blocks: the first block's items first, the longest expected of them before the others.

    Args:
        items: What is to be handed out.
        expected: Expected seconds of a group.
        blocks: Item id -> its block; blocks are taken in ascending order.
    """

    def __init__(
        self, items: Iterable[WorkItem], expected: Callable[[Group], float], blocks: Mapping[str, int]
    ) -> None:
        self._expected = expected
        self._numbers = blocks
        self._blocks: dict[int, HandOut] = {}
        for item in items:
            self.put_back(item)

    def __len__(self) -> int:
        """Return how many items are left."""
        return sum(len(block) for block in self._blocks.values())

    def __bool__(self) -> bool:
        """Return whether any item is left."""
        return bool(self._blocks)

    def put_back(self, item: WorkItem) -> None:
        """Add an item to its block."""
        number = self._numbers[item.item_id]
        if number not in self._blocks:
            self._blocks[number] = HandOut((), self._expected)
            self._blocks = dict(sorted(self._blocks.items()))
        self._blocks[number].put_back(item)

    def next(self, ready: Collection[str]) -> WorkItem | None:
        """Take the longest expected ready item of the first block that has one."""
        for number, block in self._blocks.items():
            item = block.next(ready)
            if item is not None:
                if not block:
                    del self._blocks[number]
                return item
        return None
