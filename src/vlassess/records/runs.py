"""The run directory: episodes for policies, and what became of them."""

from __future__ import annotations

from typing import NamedTuple

from vlassess.records.store import Directory
from vlassess.schema.items import PLAN_SCHEMA, WorkItem
from vlassess.schema.manifest import MANIFEST_SCHEMA, RunManifest
from vlassess_link.data import RECORD_SCHEMA, EpisodeRecord


class RecordsRead(NamedTuple):
    """Every recorded attempt, and the size in bytes of a torn last line that was dropped."""

    records: list[EpisodeRecord]
    torn_bytes: int


class RunDirectory(Directory[RunManifest, WorkItem, EpisodeRecord]):
    """One run on disk: ``run.json``, ``plan.jsonl``, ``episodes.jsonl``."""

    MANIFEST = RunManifest
    ITEM = WorkItem
    RECORD = EpisodeRecord
    FILE = "run.json"
    LOG = "episodes.jsonl"
    VERSIONS = (MANIFEST_SCHEMA, PLAN_SCHEMA, RECORD_SCHEMA)
    WHAT = ("run", "vlassess run")
    RESUME = "vlassess run --resume {path}"

    def records(self) -> RecordsRead:
        """Return every recorded attempt, in the order they ended.

        Raises:
            RunDirectoryError: a record is of a newer schema, or a line is no record; names the line.
        """
        return RecordsRead(*self.read())
