"""One coordinator per run directory.

The lock is the kernel's (``flock``), so it ends with its holder however that dies. The file's text names
the holder for people; a text that was left behind says that the last coordinator did not end by itself.
"""

from __future__ import annotations

import datetime
import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vlassess_link.errors import VlassessError


class RunLockedError(VlassessError):
    """Another coordinator holds the run directory."""


@contextmanager
def hold(path: Path) -> Iterator[str | None]:
    """Hold the lock file at ``path``; yields a sentence about a holder that died, or None.

    Raises:
        RunLockedError: somebody holds it; names who.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunLockedError(
                f"{path.parent} is being run by {_owner(fd)}: wait for it to end, or end that process and resume"
            ) from None
        left = _owner(fd) if os.fstat(fd).st_size else None
        os.ftruncate(fd, 0)
        started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        with suppress(OSError):  # on a full disk the lock still holds; only its holder's name is missing
            os.pwrite(fd, json.dumps({"pid": os.getpid(), "host": platform.node(), "since": started}).encode(), 0)
        try:
            yield (
                f"the last coordinator ({left}) ended without releasing its lock; its unfinished episodes run again"
                if left
                else None
            )
        finally:
            os.ftruncate(fd, 0)
    finally:
        os.close(fd)


def _owner(fd: int) -> str:
    try:
        owner = json.loads(os.pread(fd, 4096, 0))
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
