"""What ``vlassess collect`` and ``vlassess export`` take."""

from __future__ import annotations

import dataclasses
import enum
from pathlib import Path
from typing import Annotated

import typer

from vlassess.cli.options import Json, Set, complete_config


class TableFormat(str, enum.Enum):
    """What kinds of tables ``vlassess export`` can write."""

    csv = "csv"
    parquet = "parquet"
    json = "json"


class Target(str, enum.Enum):
    """What ``vlassess export`` can make of a run."""

    lerobot = "lerobot"
    csv = "csv"
    rrd = "rrd"


class Rows(str, enum.Enum):
    """What a row of a table is."""

    attempts = "attempts"
    steps = "steps"


class Images(str, enum.Enum):
    """How a data set keeps pictures."""

    off = "off"
    video = "video"
    lossless = "lossless"


class Keep(str, enum.Enum):
    """Which episodes a data set has."""

    successes = "successes"
    all = "all"


def _none() -> list[str]:
    return []


ImagesOption = Annotated[
    Images,
    typer.Option(help="Cameras: compact videos, lossless (PNG in the table, equal bit for bit), or none."),
]
KeepOption = Annotated[
    Keep, typer.Option(help="Successes alone, or failures too. What is left out is counted and told.")
]


@dataclasses.dataclass(frozen=True)
class CollectOptions:
    """Options of ``vlassess collect``."""

    config: Annotated[
        str | None,
        typer.Argument(
            help="A YAML file, or the name of a bundled config: which benchmark, suites and tasks. Not needed with "
            "--resume.",
            show_default=False,
            autocompletion=complete_config,
        ),
    ] = None
    episodes: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="How many in all, spread evenly over tasks and cells.", show_default=False
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the data set; without it, in the run's own.", show_default=False),
    ] = None
    images: ImagesOption = Images.video
    size: Annotated[
        str | None,
        typer.Option(
            metavar="HxW", help="Height and width of the pictures; without it, each camera's first.", show_default=False
        ),
    ] = None
    keep: KeepOption = Keep.successes
    noise: Annotated[
        float,
        typer.Option(
            min=0,
            help="Add noise to what is executed, with this standard deviation as a share of half the action's range "
            "(0.1); the label stays what the expert said.",
        ),
    ] = 0.0
    recovery: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Push the robot off its way now and then, with this chance in each step (0.02), so that "
            "demonstrations show how to come back.",
        ),
    ] = 0.0
    policy: Annotated[
        str | None,
        typer.Option(help="Who demonstrates; without it, the benchmark's own expert.", show_default=False),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Base seed of the starts. Without it, one that no evaluation takes by itself: starts stay unseen.",
            show_default=False,
        ),
    ] = None
    set: Set = dataclasses.field(default_factory=_none)
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes instead of one per core.")] = None
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Finish the collection in this run's folder: what is finished is not run again.",
            show_default=False,
        ),
    ] = None
    json: Json = False


@dataclasses.dataclass(frozen=True)
class ExportOptions:
    """Options of ``vlassess export``."""

    run_dir: Annotated[
        Path, typer.Argument(help="A folder that `vlassess run`, `collect` or `merge` made.", show_default=False)
    ]
    to: Annotated[
        Target | None,
        typer.Option(
            help="lerobot: a LeRobotDataset v3; rrd: recordings for Rerun's viewer; csv: a table. Without it, a table.",
            show_default=False,
        ),
    ] = None
    format: Annotated[
        TableFormat | None,
        typer.Option(help="Of a table; without it, as the name of --output ends, else csv.", show_default=False),
    ] = None
    rows: Annotated[
        Rows, typer.Option(help="Of a table: one row an attempt, or (csv) one a recorded control step.")
    ] = Rows.attempts
    images: ImagesOption = Images.video
    keep: KeepOption = Keep.successes
    policy: Annotated[
        list[str],
        typer.Option(
            metavar="LABEL", help="Only the recordings of this policy of the run. Repeatable.", show_default=False
        ),
    ] = dataclasses.field(default_factory=_none)
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Where to: a file for a table, else a new folder; without it, csv and json go to stdout.",
            show_default=False,
        ),
    ] = None
