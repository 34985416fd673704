"""What a campaign tells while it goes on; whoever wants to show it implements `Watcher`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from vlassess.campaign.items import RegionRecord


class Watcher(Protocol):
    """Receives the events of one campaign, in order, from one thread. Must return quickly and never raise."""

    def planned(self, folder: Path, total: int, finished_before: int) -> None:
        """Say that the campaign begins: its folder, its regions, and how many of them have a verdict already."""

    def note(self, text: str) -> None:
        """Tell people one thing that they should know."""

    def record(self, record: RegionRecord, first: bool) -> None:
        """Say that a region's record is on disk; ``first``: it had none before."""

    def asked(self, queries: int) -> None:
        """Say how many answers have come since the last time."""


class SilentWatcher:
    """A `Watcher` that shows nothing."""

    def planned(self, folder: Path, total: int, finished_before: int) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""

    def record(self, record: RegionRecord, first: bool) -> None:
        """Ignore it."""

    def asked(self, queries: int) -> None:
        """Ignore it."""
