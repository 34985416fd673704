"""Blocks of a sequential comparison: their order, and what the test knows after the finished ones.

A block is one start of every task, with all its cells, for every arm that runs. Its order is fixed by the plan's hash,
never by who finishes first. The test advances over the longest prefix of blocks in which every episode is final.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vlassess.schema.arms import Cell
from vlassess.schema.items import WorkItem
from vlassess.stats.sequential import Block, DifferenceState, advance


@dataclass(frozen=True)
class Place:
    """Which start of which task in which cell: what the arms have in common in a block."""

    suite: str
    task: str
    index: int
    cell: Cell = ()


def place_of(item: WorkItem) -> Place:
    """Return the place of a planned episode."""
    episode = item.episode
    return Place(episode.suite, episode.task, episode.index, tuple(sorted(episode.perturbation.items())))


def block_order(items: Sequence[WorkItem], plan: str) -> dict[Place, int]:
    """Return the block, from 0, of every place of a plan.

    Each task's starts are put into an order of their own, by the hash of (plan, suite, task, index).

    Args:
        items: The whole plan.
        plan: Its digest.
    """
    starts: dict[tuple[str, str], set[int]] = defaultdict(set)
    places = list(dict.fromkeys(place_of(item) for item in items))
    for place in places:
        starts[place.suite, place.task].add(place.index)
    positions = {
        (*task, index): position
        for task, indices in starts.items()
        for position, index in enumerate(sorted(indices, key=lambda index: _draw(plan, *task, index)))
    }
    return {place: positions[place.suite, place.task, place.index] for place in places}


class Look(NamedTuple):
    """What the test knew after a block.

    Attributes:
        block: How many blocks were finished.
        state: What it knew.
    """

    block: int
    state: DifferenceState


class Race:
    """Two arms, block by block.

    Args:
        blocks: Place -> block.
        running: Arm ("a", "b") -> the places that its episodes, told by `tell`, have.
        read: Outcomes of the other arm where it is read: place -> success. A place that it lacks is in no pair.
        alpha: Chance of a false alarm.
    """

    def __init__(
        self,
        blocks: Mapping[Place, int],
        running: Mapping[str, set[Place]],
        read: Mapping[Place, bool],
        alpha: float,
    ) -> None:
        self._members: dict[int, list[Place]] = defaultdict(list)
        for place, block in blocks.items():
            self._members[block].append(place)
        self._blocks = blocks
        self._running = running
        self._known: dict[str, dict[Place, bool]] = {"a": {}, "b": dict(read)}
        self.planned = len(self._members)
        self.finished = 0
        self.state = DifferenceState(alpha=alpha)
        self.history: list[Look] = []

    @property
    def decided_at(self) -> int | None:
        """After how many blocks "no difference" was rejected; None for not yet."""
        return next((look.block for look in self.history if look.state.decided), None)

    @property
    def waiting(self) -> list[Place]:
        """The places of the first unfinished block that have no final result yet."""
        members = self._members.get(self.finished, [])
        return [place for place in members if not self._done(place)]

    def tell(self, arm: str, place: Place, success: bool) -> None:
        """Take in a final result, in whatever order results come; the test advances when a block is whole."""
        self._known[arm][place] = success
        while self.finished < self.planned and all(map(self._done, self._members[self.finished])):
            block, mixed = self._pairs(self._members[self.finished])
            self.finished += 1
            if sum(block) or mixed:
                self.state = advance(self.state, block, mixed)
                self.history.append(Look(self.finished, self.state))

    def _done(self, place: Place) -> bool:
        return all(place in self._known[arm] for arm, places in self._running.items() if place in places)

    def _pairs(self, members: Sequence[Place]) -> tuple[Block, tuple[float, ...]]:
        """Return the pairs of a block; cells of one start are one unit, since what they share is the start."""
        a, b = self._known["a"], self._known["b"]
        gaps: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place in members:
            if place in a and place in b:
                gaps[place.suite, place.task].append(int(a[place]) - int(b[place]))
        single = [found[0] for found in gaps.values() if len(found) == 1]
        mixed = tuple(sum(found) / len(found) for found in gaps.values() if len(found) > 1)
        return Block(single.count(1), single.count(-1), single.count(0)), mixed


def _draw(plan: str, suite: str, task: str, index: int) -> str:
    return hashlib.sha256(f"{plan}|{suite}|{task}|{index}".encode("utf-8", "surrogatepass")).hexdigest()
