"""Joining the records of several runs of one plan: what is said twice is kept once, contradictions are refused.

Pure functions of records. Nothing of a record is changed: what the joined run holds, one of its sources has written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vlassess_link.data import COMPARED, EpisodeRecord
from vlassess_link.errors import VlassessError

SHOWN = 5
"""How many contradictions a message shows before it counts the rest."""


class ConflictError(VlassessError):
    """Two runs have different results for one item."""


class Kept(NamedTuple):
    """One record of the joined run, and the number of the source that it is from."""

    record: EpisodeRecord
    source: int


class Joined(NamedTuple):
    """What several runs come to.

    Attributes:
        kept: The records of the joined run: source by source, each in its own order.
        duplicates: For each source, how many of its records an earlier one (or itself) had already.
    """

    kept: tuple[Kept, ...]
    duplicates: tuple[int, ...]


def join_records(sources: Sequence[Sequence[EpisodeRecord]], names: Sequence[str]) -> Joined:
    """Return the records of all sources, each attempt once.

    An item's final record is kept once; another one must agree with it in every field of
    `vlassess_link.data.COMPARED` and is dropped. Attempts that ended in a benchmark or infrastructure error are all
    kept, but for those that are equal in every field (the same run given twice).

    Args:
        sources: The records of each run.
        names: What messages call each run.

    Raises:
        ConflictError: final records of an item do not agree; names items, fields, values and runs.
    """
    final: dict[str, Kept] = {}
    failed: dict[str, list[EpisodeRecord]] = {}
    kept: list[Kept] = []
    duplicates = [0] * len(sources)
    conflicts: list[str] = []
    for number, records in enumerate(sources):
        for record in records:
            before = final.get(record.item_id)
            if record.final and before is not None:
                duplicates[number] += 1
                conflicts += _conflict(before, Kept(record, number), names)
                continue
            if not record.final and record in failed.setdefault(record.item_id, []):
                duplicates[number] += 1
                continue
            kept.append(Kept(record, number))
            if record.final:
                final[record.item_id] = kept[-1]
            else:
                failed[record.item_id].append(record)
    if conflicts:
        raise ConflictError(_told(conflicts))
    return Joined(tuple(kept), tuple(duplicates))


def _conflict(one: Kept, other: Kept, names: Sequence[str]) -> list[str]:
    """Return a sentence about two final records of an item, or none where they agree."""
    a, b = one.record, other.record
    differ = [name for name in COMPARED if getattr(a, name) != getattr(b, name)]
    if not differ:
        return []
    where = f"item {a.item_id} ({a.suite}/{a.task} #{a.index}, repeat {a.repeat}, policy {a.policy})"
    values = "; ".join(f"{name}: {_value(getattr(a, name))} and {_value(getattr(b, name))}" for name in differ)
    return [f"{where} in {names[one.source]} and {names[other.source]}: {values}"]


def _value(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _told(conflicts: Sequence[str]) -> str:
    rest = [f"and {len(conflicts) - SHOWN} more"] if len(conflicts) > SHOWN else []
    items = "1 item has" if len(conflicts) == 1 else f"{len(conflicts)} items have"
    return "\n".join(
        [
            f"{items} different results in two runs; leave one of the runs out, or find out what is not deterministic:",
            *(f"  - {conflict}" for conflict in [*conflicts[:SHOWN], *rest]),
        ]
    )
