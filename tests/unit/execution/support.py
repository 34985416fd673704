"""Hand-written stand-ins for what the coordinator talks to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.unit.runs import BENCHMARK, POLICY
from vlassess.execution import (
    Coordinator,
    Ending,
    Fleet,
    FleetSettings,
    PolicyServers,
    PolicySide,
    StopSwitch,
    Work,
    worker_launch,
)
from vlassess.schema.events import SilentListener
from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord

LOCAL = {"main": {"local": POLICY, "params": {"chunk": 2}}}
DEADLINES = {"load": 60.0, "connect": 30.0, "reset": 30.0, "step": 30.0, "render": 30.0, "inference": 30.0}


class MemorySink:
    """Keeps records in memory."""

    def __init__(self) -> None:
        self.records: list[EpisodeRecord] = []

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        """Keep them."""
        self.records.extend(records)


class Watcher(SilentListener):
    """Keeps what it is told, and calls a function after each record."""

    def __init__(self, after_record: Callable[[int], None] | None = None) -> None:
        self.notes: list[str] = []
        self.records: list[EpisodeRecord] = []
        self._after_record = after_record

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def record(self, record: EpisodeRecord) -> None:
        """Keep it, then call."""
        self.records.append(record)
        if self._after_record is not None:
            self._after_record(len(self.records))


class Bench:
    """A coordinator with real workers in one folder."""

    def __init__(self, folder: Path, benchmark: Mapping[str, Any] | None = None, target: str = BENCHMARK) -> None:
        self.folder = folder
        self.sink = MemorySink()
        self.stop = StopSwitch()
        self.watcher = Watcher()
        self.launch = worker_launch(target, benchmark or {}, {})
        self.sources: Mapping[str, Mapping[str, Any]] = LOCAL
        self.servers = PolicyServers({}, folder, 10.0)
        self.before: Mapping[str, int] = {}
        self.fleet: Fleet | None = None
        self.pids: set[int] = set()

    def run(self, items: Sequence[WorkItem], workers: int = 2, **settings: Any) -> Ending:
        """Run them to the end."""
        whole = FleetSettings(workers, **{"deadlines": DEADLINES, **settings})
        self.fleet = Fleet(self.launch, whole, self.folder)
        work = Work(items, whole, self.before)
        side = PolicySide(self.sources, {}, self.servers)
        return Coordinator(work, self.fleet, side, self.sink, self.watcher, self.stop).run()

    @property
    def attempts(self) -> Counter[str]:
        """Item -> how many records it has."""
        return Counter(record.item_id for record in self.sink.records)

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Origin and kind of every error, in order."""
        return [(r.error.origin, r.error.kind) for r in self.sink.records if r.error is not None]

    def last_of(self, item: WorkItem) -> EpisodeRecord:
        """Return the item's last record."""
        return [record for record in self.sink.records if record.item_id == item.item_id][-1]
