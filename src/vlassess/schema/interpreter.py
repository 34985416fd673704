"""In which Python a benchmark's workers run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

WORKER_NEEDS = ("numpy", "msgpack", "websockets")
"""What a worker's interpreter must have of its own; `vlassess_link` itself comes from the harness."""


@dataclass(frozen=True)
class Interpreter:
    """What a benchmark's manifest or a run's config says of it: exactly one of `python` and `requirements`.

    Attributes:
        python: An existing interpreter that has everything.
        requirements: A file of pinned requirements, from which one is built.
        requires_python: Which Pythons the requirements can be installed in, as a version specifier.
        disk_mb: What it takes on disk, in megabytes, None where nobody measured it.
        licence: What its parts are licensed under, for the notice before it is built.
    """

    python: Path | None = None
    requirements: Path | None = None
    requires_python: str = ">=3.8"
    disk_mb: int | None = None
    licence: str = ""
