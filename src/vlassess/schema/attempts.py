"""Which of an item's attempts counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord


@dataclass(frozen=True)
class Entry:
    """One planned item with all its attempts.

    Attributes:
        item: What was planned.
        attempts: Its records in the order of the file; empty where it is missing.
        record: The one that counts; None where it is missing.
    """

    item: WorkItem
    attempts: tuple[EpisodeRecord, ...]
    record: EpisodeRecord | None


def entries(items: Sequence[WorkItem], records: Iterable[EpisodeRecord]) -> tuple[Entry, ...]:
    """Return every planned item with its attempts, in plan order; records of other items are left out."""
    attempts = by_item(records)
    found = [tuple(attempts.get(item.item_id, ())) for item in items]
    return tuple(Entry(item, tries, counting(tries)) for item, tries in zip(items, found, strict=True))


def by_item(records: Iterable[EpisodeRecord]) -> dict[str, list[EpisodeRecord]]:
    """Return the records of each item id, in their order."""
    found: dict[str, list[EpisodeRecord]] = defaultdict(list)
    for record in records:
        found[record.item_id].append(record)
    return dict(found)


def counting(attempts: Sequence[EpisodeRecord]) -> EpisodeRecord | None:
    """Return the attempt that counts: the last final one, else the last; None for no attempt."""
    return max(enumerate(attempts), key=_weight)[1] if attempts else None


def _weight(numbered: tuple[int, EpisodeRecord]) -> tuple[bool, int, int]:
    position, record = numbered
    return record.final, record.attempt, position
