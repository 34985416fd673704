"""Making, opening and appending to a run directory.

``run.json`` is written last when a run is made: a folder without it holds no run. ``episodes.jsonl`` only
grows; a record is on disk before its worker gets the next episode.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from vlassess.records import lock
from vlassess.records.lines import read_lines, strict_line, sync_folder, write_atomically
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import MANIFEST_SCHEMA, RunManifest
from vlassess_link.data import RECORD_SCHEMA, EpisodeRecord
from vlassess_link.digest import content_hash
from vlassess_link.errors import ContractError, VlassessError
from vlassess_link.jsonable import from_json, to_json

T = TypeVar("T")

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
            found = "holds no run.json" if path.is_dir() else "is no folder" if path.exists() else "does not exist"
            raise RunDirectoryError(f"{path} {found}; give a folder that `vlassess run` made")
        return cls(path, _manifest_in(file))

    @contextmanager
    def lock(self) -> Iterator[str | None]:
        """Hold the run; yields a sentence about a holder that died, or None."""
        with lock.hold(self.path / "lock") as left:
            yield left

    def items(self) -> tuple[WorkItem, ...]:
        """Return the plan.

        Raises:
            RunDirectoryError: a line is no work item, or lines are missing: what is not planned would not be missed.
        """
        path = self.path / "plan.jsonl"
        items = tuple(_values(WorkItem, path, read_lines(path).values))
        if content_hash([item.item_id for item in items]) != self.manifest.plan_hash:
            raise RunDirectoryError(f"{path} is not the plan that run.json names; restore the file")
        return items

    def records(self) -> RecordsRead:
        """Return every recorded attempt, in the order they ended.

        Raises:
            RunDirectoryError: a record is of a newer schema, or a line is no record; names the line.
        """
        path = self.path / "episodes.jsonl"
        read = read_lines(path)
        for value in read.values:
            _refuse_newer(path, value, "schema", RECORD_SCHEMA)
        return RecordsRead(_values(EpisodeRecord, path, read.values), read.torn_bytes)

    def log(self) -> RecordLog:
        """Open ``episodes.jsonl`` for appending; a torn last line is cut off first."""
        return RecordLog(self.path / "episodes.jsonl")


def _manifest_in(file: Path) -> RunManifest:
    text = file.read_bytes()
    try:
        # Asked first: what a newer schema has added would only be called an unknown field.
        _refuse_newer(file, json.loads(text), "schema_version", MANIFEST_SCHEMA)
        return RunManifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RunDirectoryError(f"{file} is not a run's manifest: {place}: {first['msg']}") from error
    except ValueError as error:
        raise RunDirectoryError(f"{file} is not JSON ({error}); restore the file") from error


def _refuse_newer(file: Path, value: Any, key: str, newest: int) -> None:
    version = value.get(key) if isinstance(value, dict) else None
    if isinstance(version, int) and version > newest:
        raise RunDirectoryError(f"{file} has schema {version}; this vlassess reads up to {newest}: upgrade it")


def _values(cls: type[T], file: Path, values: Sequence[Any]) -> list[T]:
    built = []
    for number, value in enumerate(values, 1):
        try:
            built.append(from_json(cls, value))
        except ContractError as error:
            raise RunDirectoryError(f"{file}, line {number}: {error}; restore the file or remove that line") from error
    return built
