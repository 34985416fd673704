"""Making, opening and appending to a run directory.

``run.json`` is written last when a run is made: a folder without it holds no run. ``episodes.jsonl`` only
grows; a record is on disk before its worker gets the next episode.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from vlassess.records import lock
from vlassess.records.lines import read_lines, strict_line, sync_folder, write_atomically
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import MANIFEST_SCHEMA, RunManifest
from vlassess_link.data import RECORD_SCHEMA, EpisodeRecord
from vlassess_link.errors import VlassessError
from vlassess_link.jsonable import from_json, to_json

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class RunDirectoryError(VlassessError):
    """A folder is not a run directory, or was written by something newer."""


class StorageFullError(VlassessError):
    """The disk is full; what was recorded before is safe."""


class RecordsRead(NamedTuple):
    """Every recorded attempt, and the size in bytes of a torn last line that was dropped."""

    records: list[EpisodeRecord]
    torn_bytes: int


class RecordLog:
    """Appends records durably."""

    def __init__(self, path: Path) -> None:
        self._path = path
        good = read_lines(path).good_bytes
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._fd, good)
        os.lseek(self._fd, good, os.SEEK_SET)
        sync_folder(path.parent)
        self._size = good

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        """Append records; when it returns they are on disk.

        Raises:
            StorageFullError: the disk is full; the file ends with its last whole line.
        """
        data = b"".join(strict_line(to_json(record)) for record in records)
        try:
            self._write(data)
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            if error.errno not in NO_SPACE:
                raise
            raise StorageFullError(
                f"no space left for {self._path}: free some, then run `vlassess run --resume {self._path.parent}`"
            ) from error
        self._size += len(data)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class RunDirectory:
    """One run on disk.

    Attributes:
        path: Its folder.
        manifest: Content of ``run.json``.
    """

    def __init__(self, path: Path, manifest: RunManifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(cls, path: Path, manifest: RunManifest, items: Sequence[WorkItem]) -> RunDirectory:
        """Make a new run; never touches one that exists.

        Raises:
            RunDirectoryError: the folder exists.
            StorageFullError: the disk is full.
        """
        try:
            path.mkdir(parents=True, exist_ok=False)
        except FileExistsError:
            raise RunDirectoryError(f"{path} exists; choose another output or resume it with --resume {path}") from None
        try:
            write_atomically(path / "plan.jsonl", b"".join(strict_line(to_json(item)) for item in items))
            write_atomically(path / "run.json", manifest.model_dump_json(indent=2).encode("utf-8") + b"\n")
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            raise StorageFullError(f"no space left for {path}: free some or choose another --output") from error
        return cls(path, manifest)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open an existing run.

        Raises:
            RunDirectoryError: the folder holds no run, or one of a newer schema.
        """
        file = path / "run.json"
        if not file.is_file():
            found = "holds no run.json" if path.is_dir() else "does not exist"
            raise RunDirectoryError(f"{path} {found}; give a folder that `vlassess run` made")
        try:
            manifest = RunManifest.model_validate_json(file.read_bytes())
        except ValidationError as error:
            raise RunDirectoryError(f"{file} is not a run's manifest: {error.errors()[0]['msg']}") from error
        if manifest.schema_version > MANIFEST_SCHEMA:
            raise RunDirectoryError(
                f"{file} has schema {manifest.schema_version}; this vlassess reads up to {MANIFEST_SCHEMA}: upgrade it"
            )
        return cls(path, manifest)

    @contextmanager
    def lock(self) -> Iterator[str | None]:
        """Hold the run; yields a sentence about a holder that died, or None."""
        with lock.hold(self.path / "lock") as left:
            yield left

    def items(self) -> tuple[WorkItem, ...]:
        """Return the plan."""
        return tuple(from_json(WorkItem, value) for value in read_lines(self.path / "plan.jsonl").values)

    def records(self) -> RecordsRead:
        """Return every recorded attempt, in the order they ended.

        Raises:
            RunDirectoryError: a record is of a newer schema.
        """
        read = read_lines(self.path / "episodes.jsonl")
        for value in read.values:
            if value.get("schema", 0) > RECORD_SCHEMA:
                raise RunDirectoryError(
                    f"{self.path} has records of schema {value['schema']}, this vlassess reads up to {RECORD_SCHEMA}: "
                    "upgrade it"
                )
        return RecordsRead([from_json(EpisodeRecord, value) for value in read.values], read.torn_bytes)

    def log(self) -> RecordLog:
        """Open ``episodes.jsonl`` for appending; a torn last line is cut off first."""
        return RecordLog(self.path / "episodes.jsonl")
