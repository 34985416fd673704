"""Making, opening and appending to a directory of work items and their records, whatever kind these are.

The manifest is written last when a directory is made: a folder without it holds nothing. The file of records only
grows; a record is on disk before more work is given out. What a directory is of - its manifest, its items, its
records - is said by a subclass; the plan's check, the lock, appending, torn lines and full disks are here, once.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from vlassess.records import lock
from vlassess.records.lines import read_lines, strict_line, sync_folder, write_atomically
from vlassess_link.digest import content_hash
from vlassess_link.errors import ContractError, VlassessError
from vlassess_link.jsonable import from_json, to_json

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class RunDirectoryError(VlassessError):
    """A folder is not a run directory, or was written by something newer."""


class StorageFullError(VlassessError):
    """The disk is full; what was recorded before is safe."""


class Planned(Protocol):
    """What every work item has."""

    @property
    def item_id(self) -> str:
        """Hash of its kind, policy and content."""


class Recorded(Protocol):
    """What every record has."""

    @property
    def item_id(self) -> str:
        """The work item that it is of."""


class Manifest(Protocol):
    """What every manifest has."""

    @property
    def plan_hash(self) -> str:
        """Digest of the plan's item ids."""


T = TypeVar("T")
M = TypeVar("M", bound="Manifest")
P = TypeVar("P", bound=Planned)
R = TypeVar("R", bound=Recorded)
D = TypeVar("D", bound="Directory[Any, Any, Any]")


class RecordLog(Generic[R]):
    """Appends records durably.

    Args:
        path: The file; a torn last line is cut off.
        resume: The command that goes on, for the message of a full disk.
    """

    def __init__(self, path: Path, resume: str) -> None:
        self._path = path
        self._resume = resume
        good = read_lines(path).good_bytes
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._fd, good)
        os.lseek(self._fd, good, os.SEEK_SET)
        sync_folder(path.parent)
        self._size = good

    def append(self, records: Sequence[R]) -> None:
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
            raise StorageFullError(f"no space left for {self._path}: free some, then run `{self._resume}`") from error
        self._size += len(data)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class Directory(Generic[M, P, R]):
    """A plan and its records on disk.

    A subclass says of what kind they are.

    Attributes:
        path: Its folder.
        manifest: What is known before the first record.
        MANIFEST, ITEM, RECORD: Types of the manifest, of a line of ``plan.jsonl`` and of a record.
        FILE: Name of the manifest's file.
        LOG: Name of the records' file.
        VERSIONS: Newest readable schemas of manifest, item and record.
        WHAT: The kind, and the command that makes one, for messages.
        RESUME: The command that goes on; ``{path}`` stands for the folder.
    """

    MANIFEST: ClassVar[type[BaseModel]]
    ITEM: ClassVar[type[Any]]
    RECORD: ClassVar[type[Any]]
    FILE: ClassVar[str]
    LOG: ClassVar[str]
    VERSIONS: ClassVar[tuple[int, int, int]]
    WHAT: ClassVar[tuple[str, str]]
    RESUME: ClassVar[str]

    def __init__(self, path: Path, manifest: M) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(cls: type[D], path: Path, manifest: BaseModel, items: Sequence[Planned]) -> D:
        """Make a new one; never touches one that exists.

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
            write_atomically(path / cls.FILE, manifest.model_dump_json(indent=2).encode("utf-8") + b"\n")
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            raise StorageFullError(f"no space left for {path}: free some or choose another --output") from error
        return cls(path, manifest)

    @classmethod
    def open(cls: type[D], path: Path) -> D:
        """Open an existing one.

        Raises:
            RunDirectoryError: the folder holds none, or one of a newer schema.
        """
        file = path / cls.FILE
        if not file.is_file():
            found = f"holds no {cls.FILE}" if path.is_dir() else "is no folder" if path.exists() else "does not exist"
            raise RunDirectoryError(f"{path} {found}; give a folder that `{cls.WHAT[1]}` made")
        return cls(path, cls._manifest_in(file))

    @contextmanager
    def lock(self) -> Iterator[str | None]:
        """Hold the directory; yields a sentence about a holder that died, or None."""
        with lock.hold(self.path / "lock") as left:
            yield left

    def items(self) -> tuple[P, ...]:
        """Return the plan.

        Raises:
            RunDirectoryError: a line is no work item, or lines are missing: what is not planned would not be missed.
        """
        path = self.path / "plan.jsonl"
        items: tuple[P, ...] = tuple(_values(self.ITEM, path, read_lines(path).values, self.VERSIONS[1]))
        if content_hash([item.item_id for item in items]) != self.manifest.plan_hash:
            raise RunDirectoryError(f"{path} is not the plan that {self.FILE} names; restore the file")
        return items

    def read(self) -> tuple[list[R], int]:
        """Return every record, in the order they were made, and the size in bytes of a torn last line.

        Raises:
            RunDirectoryError: a record is of a newer schema, or a line is no record; names the line.
        """
        path = self.path / self.LOG
        read = read_lines(path)
        return _values(self.RECORD, path, read.values, self.VERSIONS[2]), read.torn_bytes

    def log(self) -> RecordLog[R]:
        """Open the file of records for appending; a torn last line is cut off first."""
        return RecordLog(self.path / self.LOG, self.RESUME.format(path=self.path))

    @classmethod
    def _manifest_in(cls, file: Path) -> BaseModel:
        text = file.read_bytes()
        try:
            # Asked first: what a newer schema has added would only be called an unknown field.
            _refuse_newer(file, json.loads(text), "schema_version", cls.VERSIONS[0])
            return cls.MANIFEST.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise RunDirectoryError(f"{file} is not a {cls.WHAT[0]}'s manifest: {place}: {first['msg']}") from error
        except ValueError as error:
            raise RunDirectoryError(f"{file} is not JSON ({error}); restore the file") from error


def _refuse_newer(file: Path, value: Any, key: str, newest: int) -> None:
    version = value.get(key) if isinstance(value, dict) else None
    if isinstance(version, int) and version > newest:
        raise RunDirectoryError(f"{file} has schema {version}; this vlassess reads up to {newest}: upgrade it")


def _values(cls: type[T], file: Path, values: Sequence[Any], newest: int) -> list[T]:
    built = []
    for number, value in enumerate(values, 1):
        _refuse_newer(file, value, "schema", newest)
        try:
            built.append(from_json(cls, value))
        except ContractError as error:
            raise RunDirectoryError(f"{file}, line {number}: {error}; restore the file or remove that line") from error
    return built
