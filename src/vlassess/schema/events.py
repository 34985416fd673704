"""What the engine tells while a run goes on; whoever wants to show it implements `Listener`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from vlassess_link.data import EpisodeRecord


class Listener(Protocol):
    """Receives the events of one run, in order, from one thread. Must return quickly and never raise."""

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Say that the run begins.

        Args:
            run_dir: The run directory.
            total: Work items of the whole plan.
            finished_before: How many of them earlier coordinators have finished.
        """

    def note(self, text: str) -> None:
        """Tell people one thing that they should know (a retry, a replaced worker)."""

    def record(self, record: EpisodeRecord) -> None:
        """Say that an attempt is on disk. Not every attempt is final: see `EpisodeRecord.final`."""

    def workers(self, alive: int) -> None:
        """Say how many workers are alive now."""


class SilentListener:
    """A `Listener` that shows nothing."""

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""

    def record(self, record: EpisodeRecord) -> None:
        """Ignore it."""

    def workers(self, alive: int) -> None:
        """Ignore it."""
