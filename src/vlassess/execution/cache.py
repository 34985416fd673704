"""The folder of what is made once and used by every run: whole or not there, however its maker ended."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vlassess_link.errors import PluginError

VARIABLE = "VLASSESS_CACHE"


def cache_folder() -> Path:
    """Return the folder: ``$VLASSESS_CACHE``, else ``~/.cache/vlassess``.

    Raises:
        PluginError: it is in the home of a user that this machine does not know.
    """
    named = os.environ.get(VARIABLE)
    path = os.path.expanduser(named or os.path.join("~", ".cache", "vlassess"))
    if path.startswith("~"):
        raise PluginError(f"the cache {path} is in a home that is not known here; name a folder: {VARIABLE}=/path")
    return Path(path).absolute()


@contextmanager
def fresh_folder(final: Path) -> Iterator[Path]:
    """Give an empty folder that takes the place of ``final`` when the block ends well, and is removed otherwise.

    The move is atomic: nobody ever sees half of it. Somebody else's whole folder of that name is kept.

    Raises:
        PluginError: the cache cannot be written; says how to move it.
    """
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    except OSError as error:
        raise PluginError(
            f"the cache {final.parent} cannot be written: {error}; name a folder that can: {VARIABLE}=/path"
        ) from None
    folder.chmod(0o755)
    try:
        yield folder
        try:
            folder.rename(final)
        except OSError:
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file ``path``; calls ``waiting`` once if another process holds it. A dead holder holds nothing.

    Raises:
        PluginError: the cache cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise PluginError(
            f"the cache {path.parent} cannot be written: {error}; name a folder that can: {VARIABLE}=/path"
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove_leftovers(final: Path) -> None:
    """Remove what killed makers of ``final`` left; call it only while holding its lock."""
    for left in final.parent.glob(f".{final.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
