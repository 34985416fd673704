"""JSON lines that survive a kill at any byte.

A line counts once its newline is on disk. What follows the last newline was being written when the writer
died: it is dropped and reported, and the file is cut back before the next line is appended.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from vlassess_link.errors import VlassessError


class CorruptLineError(VlassessError):
    """A line that was finished is not JSON."""


class LinesRead(NamedTuple):
    """What a file of JSON lines holds.

    Attributes:
        values: One value per whole line.
        good_bytes: Size of the whole lines together.
        torn_bytes: Size of what follows them.
    """

    values: list[Any]
    good_bytes: int
    torn_bytes: int


def strict_line(value: Any) -> bytes:
    """Return ``value`` as one line of strict JSON.

    Raises:
        ValueError: it holds NaN or an infinity.
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def read_lines(path: Path) -> LinesRead:
    """Read the whole lines of ``path``; a file that does not exist has none.

    Raises:
        CorruptLineError: a whole line is not JSON; names its number.
    """
    data = path.read_bytes() if path.exists() else b""
    good = data.rfind(b"\n") + 1
    values = []
    for number, line in enumerate(data[:good].splitlines(), 1):
        try:
            values.append(json.loads(line))
        except ValueError:
            raise CorruptLineError(f"{path}, line {number} is not JSON; restore the file or remove that line") from None
    return LinesRead(values, good, len(data) - good)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace ``path`` so that a reader sees the old content or the new, never a mixture.

    Raises:
        OSError: it cannot be written; names ``path``, not the file beside it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the folder's entries durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
