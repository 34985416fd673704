"""Which reader a file is for."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

from vlassess.imports import lerobot, table, vla_eval
from vlassess.imports.errors import ImportRefusedError
from vlassess.schema.arms import Arm

SQLITE = b"SQLite format 3\x00"
KINDS = "a vla-eval recording (.sqlite) or export (.json), an eval_info.json of lerobot-eval, or a CSV"


def is_importable(path: Path) -> bool:
    """Return whether ``path`` is a file, which a run directory is not."""
    return path.is_file()


MALFORMED = (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError, csv.Error, sqlite3.Error)
"""What somebody else's file makes a reader raise that trusts its form."""


def read_arms(path: Path) -> tuple[Arm, ...]:
    """Return the arms in a file; its kind is known by its content.

    Raises:
        ImportRefusedError: it is of no known kind, or breaks the form of its kind; says where.
    """
    try:
        return _read(path)
    except MALFORMED as error:
        what = f"{type(error).__name__}: {str(error)[:200]}"
        raise ImportRefusedError(f"{path} breaks the form of its kind ({what}); export it again, as UTF-8") from error


def _read(path: Path) -> tuple[Arm, ...]:
    with path.open("rb") as file:
        head = file.read(len(SQLITE))
    if head == SQLITE:
        return vla_eval.read_recording(path)
    if path.suffix.lower() == ".csv":
        return table.read_csv(path)
    value = _json(path)
    if vla_eval.is_export(value):
        return vla_eval.read_export(path, value)
    if lerobot.is_eval_info(value):
        return lerobot.read_eval_info(path, value)
    raise ImportRefusedError(f"{path} is of no known kind; give a run's folder, {KINDS}")


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise ImportRefusedError(f"{path} is neither SQLite, CSV nor JSON ({error}); give {KINDS}") from None


__all__ = ["ImportRefusedError", "is_importable", "read_arms"]
