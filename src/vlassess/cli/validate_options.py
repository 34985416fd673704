"""What ``vlassess validate`` takes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from vlassess.cli.options import Json, Policy, Set


def _none() -> list[str]:
    return []


@dataclasses.dataclass(frozen=True)
class ValidateOptions:
    """Options of ``vlassess validate``."""

    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG | quickstart | verify CERT",
            help="A YAML file or the name of a bundled campaign; or `verify`. Not needed with --resume.",
            show_default=False,
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Argument(
            metavar="CERT", help="With `verify`: a file in certificates/ of a campaign's folder.", show_default=False
        ),
    ] = None
    policy: Policy = dataclasses.field(default_factory=_none)
    set: Set = dataclasses.field(default_factory=_none)
    all_radii: Annotated[
        bool, typer.Option("--all-radii", help="Decide every radius by itself instead of bisecting.")
    ] = False
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Finish the campaign in this folder: its plan minus what is decided.",
            show_default=False,
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Make the campaign's folder in here instead of in validations/.", show_default=False
        ),
    ] = None
    json: Json = False
