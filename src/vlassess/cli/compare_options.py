"""What ``vlassess compare`` takes."""

from __future__ import annotations

import dataclasses
import enum
from pathlib import Path
from typing import Annotated

import typer

from vlassess.cli.options import Json


class Test(str, enum.Enum):
    """What ``vlassess compare`` can decide by."""

    exact = "exact"
    stratified = "stratified"
    progress = "progress"
    sequential = "sequential"


class Sides(str, enum.Enum):
    """Which way a test looks."""

    two_sided = "two-sided"
    greater = "greater"
    less = "less"


@dataclasses.dataclass(frozen=True)
class CompareOptions:
    """Options of ``vlassess compare``."""

    sources: Annotated[
        list[str],
        typer.Argument(
            help="Runs' folders, FOLDER:LABEL for one policy, or files of other tools (vla-eval's recording or export, "
            "lerobot-eval's eval_info.json, a CSV). The first is the one under test.",
            show_default=False,
        ),
    ]
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page that needs no network.", show_default=False)
    ] = None
    require_better: Annotated[
        bool,
        typer.Option("--require-better", help="Exit with 4 unless the first is shown to be better than the others."),
    ] = False
    require_not_worse: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="MARGIN",
            help="Exit with 4 unless the first is shown to be worse by less than this; 0.03 is three points.",
            show_default=False,
        ),
    ] = None
    published: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="RATE", help="Exit with 4 if the first does not reproduce this rate."),
    ] = None
    published_n: Annotated[int | None, typer.Option(min=1, metavar="N", help="Episodes behind the published rate.")] = (
        None
    )
    test: Annotated[Test | None, typer.Option(help="Decide by this instead of what was fixed before the run.")] = None
    alpha: Annotated[float | None, typer.Option(help="Chance of a false alarm, instead of the fixed one.")] = None
    sides: Annotated[Sides | None, typer.Option(help="Which way to look, instead of the fixed one.")] = None
    margin: Annotated[float | None, typer.Option(help="What counts as alike, instead of the fixed one.")] = None
    json: Json = False
