"""What the commands of ``vlassess transfer`` take."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from vlassess.cli.options import Json, Set


def _none() -> list[str]:
    return []


Study = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="A YAML file, the name of a bundled study, or a locked study's folder.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that `vlassess transfer lock` made.", show_default=False)
]


@dataclasses.dataclass(frozen=True)
class PlanStudyOptions:
    """Options of ``vlassess transfer plan``."""

    study: Study
    set: Set = dataclasses.field(default_factory=_none)
    json: Json = False


@dataclasses.dataclass(frozen=True)
class LockOptions:
    """Options of ``vlassess transfer lock``."""

    study: Annotated[
        str,
        typer.Argument(metavar="STUDY", help="A YAML file, or the name of a bundled study.", show_default=False),
    ]
    set: Set = dataclasses.field(default_factory=_none)
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Make the study's folder in here instead of in studies/.", show_default=False),
    ] = None
    json: Json = False


@dataclasses.dataclass(frozen=True)
class StudyOptions:
    """Options of commands that take a locked study alone."""

    study: Folder
    json: Json = False


@dataclasses.dataclass(frozen=True)
class RunStudyOptions:
    """Options of ``vlassess transfer run``."""

    study: Folder
    part: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="Run only this part of the study. Repeatable.", show_default=False),
    ] = dataclasses.field(default_factory=_none)
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes instead of one per core.")] = None
    json: Json = False


@dataclasses.dataclass(frozen=True)
class AmendOptions:
    """Options of ``vlassess transfer amend``."""

    study: Folder
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept and reported.", show_default=False)]
    set: Set = dataclasses.field(default_factory=_none)
    json: Json = False


@dataclasses.dataclass(frozen=True)
class SheetOptions:
    """Options of ``vlassess transfer sheet``."""

    study: Folder
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where the sheet goes; else sheet/ in the study's folder.", show_default=False
        ),
    ] = None
    json: Json = False


@dataclasses.dataclass(frozen=True)
class ImportOptions:
    """Options of ``vlassess transfer import``."""

    study: Folder
    file: Annotated[Path, typer.Argument(metavar="TRIALS.csv", help="The filled-in sheet.", show_default=False)]
    json: Json = False
