"""What ``vlassess states show`` takes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from vlassess.cli.options import Json, Set, complete_config


def _none() -> list[str]:
    return []


@dataclasses.dataclass(frozen=True)
class StatesOptions:
    """Options of ``vlassess states show``."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG | RUN",
            help="A YAML file, the name of a bundled config, or the folder of a run.",
            show_default=False,
            autocompletion=complete_config,
        ),
    ]
    episodes: Annotated[int, typer.Option(min=1, metavar="N", help="Show the first N starts of each task.")] = 3
    camera: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="Look through this camera only. Repeatable.", show_default=False),
    ] = dataclasses.field(default_factory=_none)
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the pictures go; else states-NAME here.", show_default=False),
    ] = None
    set: Set = dataclasses.field(default_factory=_none)
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes instead of one per core.")] = None
    json: Json = False
