"""A folder that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vlassess.datasets.errors import DatasetError


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside ``folder``, in whose place it comes when all went well; else it is removed.

    A kill leaves it behind, hidden; the next one with the same name removes it.
    """
    folder = folder.absolute()
    partial, old = (folder.with_name(f".{folder.name}.{word}") for word in ("partial", "old"))
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            os.replace(folder, old)
        os.replace(partial, folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def refuse_filled(folder: Path) -> None:
    """Refuse to write over what is there.

    Raises:
        DatasetError: the folder holds something, or is none.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DatasetError(f"{folder} exists; name a new folder with --output, or remove it")


def try_place(folder: Path) -> None:
    """Find out whether a folder could be made there, before work is done for it; leaves nothing.

    Raises:
        OSError: it could not.
    """
    parent = next(place for place in folder.absolute().parents if place.exists())
    with tempfile.TemporaryDirectory(prefix=".vlassess-", dir=parent):
        pass
