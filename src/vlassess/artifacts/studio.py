"""Hands out what is to be recorded and puts away what came back, beside the run and never before it.

An attempt's record is on disk before its recording is touched. Whatever goes wrong with a recording is a note.
The disk is never filled: recordings pause while too many wait to be encoded or too little is free.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from vlassess.artifacts.selection import filmed
from vlassess.artifacts.writing import Kept, Shelf, put_away
from vlassess.schema.config import ArtifactsConfig
from vlassess.schema.items import WorkItem
from vlassess_link.benchmarks.recording import PHASE, ArtifactRequest
from vlassess_link.data import EpisodeRecord

SPOOLS = ".spool"
GIB = 2**30
EPISODE_LIMIT = GIB
"""Bytes of raw frames that one episode may spool."""
WAITING_LIMIT = 4 * GIB
"""Bytes of raw frames that may wait to be encoded before recordings pause."""
FREE_FLOOR = 2 * GIB
"""Free bytes on the disk below which recordings pause."""
SAME_NOTES = 3
"""How many recordings with a problem are told one by one."""

Free = Callable[[Path], int]


def left_unwritten(run: Path) -> bool:
    """Return whether recordings of a run wait to be written by nobody, since its coordinator has ended."""
    return (run / "artifacts" / SPOOLS).is_dir()


class Studio:
    """The recordings of one run.

    Args:
        run: The run directory.
        config: What is recorded.
        items: The whole plan, finished items included.
        rate: The benchmark's control steps per second.
        free: Free bytes at a path.
    """

    def __init__(
        self, run: Path, config: ArtifactsConfig, items: Sequence[WorkItem], rate: float, free: Free | None = None
    ) -> None:
        self._folder = run / "artifacts"
        self._spools = self._folder / SPOOLS
        self._config = config
        self._filmed = filmed(items, config)
        self._fps = config.fps or rate
        self._free = free or (lambda path: shutil.disk_usage(path).free)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="artifacts")
        self._open: dict[str, Path] = {}
        self._given_up: set[str] = set()
        self._waiting: dict[Future[str | None], tuple[str, int]] = {}
        self._notes: list[str] = []
        self._problems = 0
        self._skipped = 0
        self._spools.mkdir(parents=True, exist_ok=True)

    def announcement(self) -> str:
        """Return the sentence that says what is recorded and what the disk must hold."""
        count = len(self._filmed)
        kinds = {
            "on": f"videos of all {count} episodes" if count > 1 else "a video",
            "failures": f"videos of the episodes without success ({count} are filmed)",
            "sample": f"videos of {count} episodes",
        }
        parts = [kinds[self._config.video]] if self._config.video != "off" else []
        parts += ["every camera's pictures"] if self._config.cameras else []
        parts += ["every step"] if self._config.steps else []
        parts += [f"first observations ({self._config.inputs} of each episode)"] if self._config.inputs else []
        return (
            f"recording {', '.join(parts)}; up to {WAITING_LIMIT // GIB} GiB of raw frames wait to be encoded, and "
            f"recordings pause below {FREE_FLOOR // GIB} GiB of free disk"
        )

    def request(self, item: WorkItem, attempt: int) -> ArtifactRequest | None:
        """Return what an attempt has to record, None for nothing."""
        frames = item.item_id in self._filmed or self._config.cameras
        if not (frames or self._config.steps or self._config.inputs) or item.item_id in self._given_up:
            return None
        reason = self._pause()
        if reason is not None:
            self._skipped += 1
            if self._skipped == 1:
                self._notes.append(f"recordings pause: {reason}; episodes go on without them")
            return None
        spool = self._spools / f"{item.item_id}-{attempt}"
        shutil.rmtree(spool, ignore_errors=True)
        spool.mkdir()
        self._open[item.item_id] = spool
        where, config = str(spool.resolve()), self._config
        return ArtifactRequest(where, frames, config.steps, config.inputs, EPISODE_LIMIT, size=config.camera_size)

    def finished(self, item: WorkItem, record: EpisodeRecord) -> None:
        """Put the recording of an attempt away, whose record is on disk; returns at once."""
        spool = self._open.pop(item.item_id, None)
        if record.error is not None and record.error.phase == PHASE:
            self._given_up.add(item.item_id)  # what cannot be recorded must not be tried in every attempt
        if spool is not None:
            self._put_away(spool, item, record)

    def recover(self, items: Iterable[WorkItem], records: Iterable[EpisodeRecord]) -> None:
        """Put away what an earlier coordinator left: recordings whose records are on disk; the rest is removed."""
        planned = {item.item_id: item for item in items}
        known = {f"{record.item_id}-{record.attempt}": record for record in records}
        for spool in self._spools.iterdir():
            record = known.get(spool.name)
            if record is not None and record.item_id in planned:
                self._put_away(spool, planned[record.item_id], record)
            else:
                shutil.rmtree(spool, ignore_errors=True)

    def notes(self) -> list[str]:
        """Return what people should know since it was last asked."""
        for future in [future for future in self._waiting if future.done()]:
            what, _ = self._waiting.pop(future)
            self._take_in(what, future)
        told, self._notes = self._notes, []
        return told

    def close(self, hurry: Callable[[], bool] = lambda: False) -> list[str]:
        """Wait for what is being written, unless ``hurry`` says to leave it; return the last notes."""
        while any(not future.done() for future in self._waiting) and not hurry():
            time.sleep(0.05)
        self._pool.shutdown(wait=True, cancel_futures=True)
        left = sum(future.cancelled() for future in self._waiting)
        if left:
            self._notes.append(f"{left} recordings were left unwritten; the next --resume writes them")
        else:
            shutil.rmtree(self._spools, ignore_errors=True)
        told = self.notes()
        if self._skipped:
            told.append(f"{self._skipped} attempts were not recorded, since recordings paused")
        if self._problems > SAME_NOTES:
            told.append(f"{self._problems} recordings have problems; {SAME_NOTES} of them were told")
        return told

    def _put_away(self, spool: Path, item: WorkItem, record: EpisodeRecord) -> None:
        keep = item.item_id in self._filmed and (self._config.video != "failures" or record.counts_as != "success")
        kept = Kept(keep, self._config.cameras, self._fps)
        shelf = Shelf(spool, self._folder / item.item_id, item, record, kept)
        size = sum(file.stat().st_size for file in spool.iterdir())
        self._waiting[self._pool.submit(put_away, shelf)] = (item.item_id, size)

    def _take_in(self, item_id: str, future: Future[str | None]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        problem = f"{type(error).__name__}: {error}" if error is not None else future.result()
        if problem is None:
            return
        self._problems += 1
        if self._problems <= SAME_NOTES:
            self._notes.append(f"the recording of {item_id} is not whole: {problem}; its record is")

    def _pause(self) -> str | None:
        waiting = sum(size for future, (_, size) in self._waiting.items() if not future.done())
        if waiting > WAITING_LIMIT:
            return f"{waiting / GIB:.1f} GiB of raw frames wait to be encoded"
        free = self._free(self._spools)
        return f"only {free / GIB:.1f} GiB of the disk are free" if free < FREE_FLOOR else None
