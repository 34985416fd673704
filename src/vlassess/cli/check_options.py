"""What ``vlassess check`` and ``vlassess trace`` take."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from vlassess.cli.options import Json, Policy, Set, complete_config


def _none() -> list[str]:
    return []


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """Options of ``vlassess check``."""

    subject: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG | policy WHAT | benchmark WHAT",
            help="A YAML file or the name of a bundled config; or `policy`, or `benchmark`.",
            show_default=False,
            autocompletion=complete_config,
        ),
    ]
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="With `policy`: a bundled name, ws://HOST:PORT, FILE.py, FILE.py:CLASS or MODULE:CLASS. With "
            "`benchmark`: a name, FILE.py:CLASS or MODULE:CLASS.",
            show_default=False,
        ),
    ] = None
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK",
            help="With `policy`: show it this benchmark's observations, instead of such as its spec allows.",
            show_default=False,
        ),
    ] = None
    seconds: Annotated[
        float,
        typer.Option(min=1.0, help="With `policy` or `benchmark`: most that loading, and then each check, may take."),
    ] = 600.0
    policy: Policy = dataclasses.field(default_factory=_none)
    set: Set = dataclasses.field(default_factory=_none)
    json: Json = False


@dataclasses.dataclass(frozen=True)
class TraceOptions:
    """Options of ``vlassess trace``."""

    subject: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG | diff A B",
            help="A YAML file or the name of a bundled config; or `diff`.",
            show_default=False,
            autocompletion=complete_config,
        ),
    ]
    first: Annotated[Path | None, typer.Argument(metavar="A", help="With `diff`: a trace.", show_default=False)] = None
    second: Annotated[Path | None, typer.Argument(metavar="B", help="Another trace.", show_default=False)] = None
    steps: Annotated[int, typer.Option(min=1, help="Control steps to record.")] = 5
    policy: Policy = dataclasses.field(default_factory=_none)
    set: Set = dataclasses.field(default_factory=_none)
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npz", help="Where the trace goes; else NAME-POLICY.npz here.", show_default=False),
    ] = None
    json: Json = False
