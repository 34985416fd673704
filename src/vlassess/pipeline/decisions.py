"""Reading and writing ``decision.json``."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from vlassess.records import RunDirectoryError
from vlassess.records.lines import write_atomically
from vlassess.schema.decision import Decision

NAME = "decision.json"


def read_decision(run_dir: Path) -> Decision | None:
    """Return what a run's stopping rule has come to; None where it has none.

    Raises:
        RunDirectoryError: the file is not what this version reads.
    """
    file = run_dir / NAME
    if not file.is_file():
        return None
    try:
        return Decision.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RunDirectoryError(f"{file}: {place}: {first['msg']}; restore the file or remove it") from error


def write_decision(run_dir: Path, decision: Decision) -> None:
    """Replace the run's decision, whole or not at all."""
    write_atomically(run_dir / NAME, decision.model_dump_json(indent=2).encode("utf-8") + b"\n")
