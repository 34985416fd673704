"""Which episodes are compared: a cell's and its control's of one start and one repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from vlassess.schema.cells import CellKey, PlannedCell, key_of
from vlassess_link.data import Episode, EpisodeRecord
from vlassess_link.delivered import Delivered


class Member(NamedTuple):
    """One episode of one policy, with what its record says was delivered.

    Attributes:
        item_id: The work item.
        episode: As planned.
        record: The attempt that counts.
        delivered: Its `EpisodeRecord.delivered`, which it has.
    """

    item_id: str
    episode: Episode
    record: EpisodeRecord
    delivered: Delivered

    @property
    def place(self) -> tuple[str, int]:
        """What a pair has in common."""
        return self.episode.pair_key, self.episode.repeat


class Pair(NamedTuple):
    """An episode of a cell and the one of its control that shares its start and its repeat."""

    cell: Member
    control: Member

    @property
    def one_host(self) -> bool:
        """Whether both ran on one machine: pictures of two may differ by their drivers alone."""
        return self.cell.record.host == self.control.record.host


def members_of(episodes: Iterable[tuple[str, Episode, EpisodeRecord | None]]) -> list[Member]:
    """Return the episodes whose policy was shown something; item id, plan and counting record of each are given."""
    return [
        Member(item_id, episode, record, record.delivered)
        for item_id, episode, record in episodes
        if record is not None and record.delivered is not None
    ]


def pairs_of(cell: PlannedCell, members: Mapping[CellKey, Sequence[Member]]) -> tuple[Pair, ...]:
    """Return the pairs of a cell among the episodes of one policy, by their cells; in the order of the cell's."""
    control = {member.place: member for member in members.get(cell.control_key, ())}
    own = members.get(cell.key, ())
    return tuple(Pair(member, control[member.place]) for member in own if member.place in control)


def by_cell(members: Iterable[Member]) -> dict[CellKey, list[Member]]:
    """Return episodes by their cells."""
    found: dict[CellKey, list[Member]] = {}
    for member in members:
        found.setdefault(key_of(member.episode.perturbation), []).append(member)
    return found
