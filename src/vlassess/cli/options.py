"""What each command takes: one frozen dataclass a command, whose fields are its arguments and options.

typer reads a function's parameters; `takes` gives it a dataclass's fields instead, so that a command with
many options still is a function of one value, which tests and other code can make too.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import glob
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

T = TypeVar("T")

YAML = (".yaml", ".yml")


def complete_config(incomplete: str) -> list[str]:
    """Return what a shell offers for the beginning of a config: bundled names, then YAML files."""
    from vlassess.config import bundled_configs

    names = sorted(name for name in bundled_configs() if name.startswith(incomplete))
    return names + sorted(path for path in glob.glob(f"{glob.escape(incomplete)}*") if path.endswith(YAML))


Config = Annotated[
    str,
    typer.Argument(
        help="A YAML file, or the name of a bundled config.", show_default=False, autocompletion=complete_config
    ),
]
Set = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Override one place of the config; the value is YAML. Repeatable."
    ),
]
Policy = Annotated[
    list[str],
    typer.Option(
        help="Measure this instead of the config's policies: a bundled name, ws://HOST:PORT, FILE.py:CLASS or "
        "MODULE:CLASS. Repeatable.",
        show_default=False,
    ),
]
Video = Annotated[
    str | None,
    typer.Option(
        metavar="on|failures|off|N", help="Keep videos of all episodes, of failures, or of N episodes of each policy."
    ),
]
ShardOf = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Take only shard I of N, from 1: disjoint, balanced over tasks, cells and policies. See `vlassess merge`.",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Take only N items of the plan, spread over its tasks and cells; with --shard, before it is split.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]


class Mode(str, enum.Enum):
    """Whether the simulator waits for the policy."""

    sync = "sync"
    realtime = "realtime"


class Audit(str, enum.Enum):
    """How cells are audited."""

    digests = "digests"
    arrays = "arrays"


def _none() -> list[str]:
    return []


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Options of ``vlassess run``."""

    config: Annotated[
        str | None,
        typer.Argument(
            help="A YAML file, or the name of a bundled config. Not needed with --resume.",
            show_default=False,
            autocompletion=complete_config,
        ),
    ] = None
    policy: Policy = dataclasses.field(default_factory=_none)
    set: Set = dataclasses.field(default_factory=_none)
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Finish the run in this folder: its plan minus what is finished.", show_default=False
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Make the run's folder in here instead of in runs/.", show_default=False),
    ] = None
    episodes: Annotated[
        int | None,
        typer.Option(
            "--episodes-per-task", "--episodes", min=1, metavar="N", help="Starts of each task.", show_default=False
        ),
    ] = None
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes instead of one per core.")] = None
    min_success: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 4 if a policy's success rate is below this.")
    ] = None
    mode: Annotated[
        Mode | None,
        typer.Option(
            help="realtime: the simulator goes on whether or not an action came, as the config's `realtime` says.",
            show_default=False,
        ),
    ] = None
    video: Video = None
    audit: Annotated[
        Audit | None,
        typer.Option(
            help="How it is checked what of each cell reached the policy; arrays: keep first observations, to show by "
            "how much a cell that fails differs.",
            show_default=False,
        ),
    ] = None
    shard: ShardOf = None
    limit: Limit = None
    compare_with: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="The other arm of a comparison: a run's folder, or FOLDER:LABEL. It is read, not run.",
            show_default=False,
        ),
    ] = None
    stop_when_decided: Annotated[
        str | None,
        typer.Option(
            metavar="alpha=0.05",
            help="Run in blocks and stop as soon as the sequential test has decided; false alarms stay below alpha.",
            show_default=False,
        ),
    ] = None
    go_on: Annotated[
        bool, typer.Option("--continue", help="With --resume: run the rest of a run that its comparison has decided.")
    ] = False
    json: Json = False


@dataclasses.dataclass(frozen=True)
class PlanOptions:
    """Options of ``vlassess plan``."""

    config: Config
    policy: Policy = dataclasses.field(default_factory=_none)
    set: Set = dataclasses.field(default_factory=_none)
    shard: ShardOf = None
    limit: Limit = None
    json: Json = False


@dataclasses.dataclass(frozen=True)
class ServeOptions:
    """Options of ``vlassess serve``."""

    policy: Annotated[
        str,
        typer.Argument(help="A bundled name, FILE.py, FILE.py:CLASS or MODULE:CLASS.", show_default=False),
    ]
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for every network.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 for any that is free.")] = 8000
    set: Annotated[
        list[str],
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the policy; the value is YAML. Repeatable."),
    ] = dataclasses.field(default_factory=_none)
    max_batch: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Answer at most N observations at once.", show_default=False)
    ] = None
    dialect: Annotated[
        str | None, typer.Option(help="What clients speak: vlassess (vla-eval's too) or openpi.", show_default=False)
    ] = None
    mapping: Annotated[
        str | None,
        typer.Option(help="Keys of the dialect's observations: libero, droid, aloha, or JSON.", show_default=False),
    ] = None
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Refuse whoever does not show the token in this file.", show_default=False),
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Certificate chain (PEM) for TLS: wss://.", show_default=False),
    ] = None
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate's key (PEM).", show_default=False)
    ] = None
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds that running episodes may take to end after the first Ctrl-C.")
    ] = 30.0


@dataclasses.dataclass(frozen=True)
class ReportOptions:
    """Options of ``vlassess report``."""

    run_dir: Annotated[Path, typer.Argument(help="A folder that `vlassess run` made.", show_default=False)]
    json: Json = False
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV on stdout and nothing else there.")] = False


@dataclasses.dataclass(frozen=True)
class RerunOptions:
    """Options of ``vlassess rerun``."""

    run_dir: Annotated[Path, typer.Argument(help="A folder that `vlassess run` made.", show_default=False)]
    episode: Annotated[
        str, typer.Argument(help="An item or episode id of that run, or the beginning of one.", show_default=False)
    ]
    video: Annotated[bool, typer.Option("--video", help="Keep a video, every step and the first input.")] = False
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep the new run in here, instead of in a temporary folder.", show_default=False
        ),
    ] = None
    json: Json = False


@dataclasses.dataclass(frozen=True)
class MergeOptions:
    """Options of ``vlassess merge``."""

    runs: Annotated[list[Path], typer.Argument(help="Folders that `vlassess run` made.", show_default=False)]
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="The new run's folder; it must not exist yet.", show_default=False)
    ]
    json: Json = False


@dataclasses.dataclass(frozen=True)
class DoctorOptions:
    """Options of ``vlassess doctor``."""

    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder whose disk is looked at.")] = Path("runs")
    build: Annotated[
        list[str],
        typer.Option(
            metavar="BENCHMARK",
            help="Build this benchmark's own environment now, not at its first run. Repeatable.",
            show_default=False,
        ),
    ] = dataclasses.field(default_factory=_none)
    json: Json = False


@dataclasses.dataclass(frozen=True)
class ListOptions:
    """Options of ``vlassess list``."""

    kind: Annotated[
        str | None, typer.Argument(help="benchmarks, policies or configs; all without it.", show_default=False)
    ] = None
    json: Json = False


@dataclasses.dataclass(frozen=True)
class BudgetOptions:
    """Options of ``vlassess budget``."""

    delta: Annotated[float, typer.Option(help="The difference to show, as a share: 0.10 is ten points.")] = 0.1
    power: Annotated[float, typer.Option(help="Chance that a true difference of this size is found.")] = 0.8
    alpha: Annotated[float, typer.Option(help="Chance of a false alarm, two-sided.")] = 0.05
    rate: Annotated[float, typer.Option(help="Mean success rate of the two policies; 0.5 is the cautious choice.")] = (
        0.5
    )
    paired: Annotated[bool, typer.Option("--paired", help="Both policies run from the same starts.")] = False
    correlation: Annotated[
        float | None,
        typer.Option(
            help="Correlation of the two outcomes of one start; 0.3, 0.5 and 0.7 without it.", show_default=False
        ),
    ] = None
    n: Annotated[
        int | None, typer.Option(min=1, help="Show what this number of episodes a policy can see.", show_default=False)
    ] = None
    cells: Annotated[int, typer.Option(min=1, help="Cells of the grid, each with its own n episodes.")] = 1
    policies: Annotated[int, typer.Option(min=1, help="Policies that run, each with its own n episodes.")] = 1
    pilot: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Two runs from the same starts, from which the share of pairs that differ is taken.",
            show_default=False,
        ),
    ] = None
    seconds_per_trial: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds of one episode with its reset, for hours.", show_default=False),
    ] = None
    json: Json = False


@dataclasses.dataclass(frozen=True)
class TuneOptions(PlanOptions):
    """Options of ``vlassess tune``."""

    label: Annotated[
        str | None,
        typer.Option(help="Which policy, where several have a server.", show_default=False),
    ] = None
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the config, the numbers and the plots.")] = (
        Path("tuning")
    )
    seconds: Annotated[float, typer.Option(min=0.1, help="Length of each measurement.")] = 5.0
    max_workers: Annotated[
        int | None,
        typer.Option(min=1, help="Most workers tried; twice the cores without it.", show_default=False),
    ] = None
    max_batch: Annotated[int, typer.Option(min=1, help="Greatest batch size that is tried.")] = 16


def takes(options: type[T]) -> Callable[[Callable[[T], int]], Callable[..., None]]:
    """Make a function of one ``options`` value, which returns an exit code, a command with its fields as parameters."""

    def decorate(function: Callable[[T], int]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            raise typer.Exit(function(options(**given)))

        hints = get_type_hints(options, include_extras=True)
        parameters = [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name]
            )
            for field in dataclasses.fields(options)  # type: ignore[arg-type]
        ]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = hints
        del command.__dict__["__wrapped__"]
        return command

    return decorate


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
