"""``vlassess states show``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from vlassess.catalog import Catalog
from vlassess.cli.output import console, print_json
from vlassess.cli.states_options import StatesOptions
from vlassess.config import load_config
from vlassess.exit_codes import COMPLETE, INCOMPLETE, INTERRUPTED
from vlassess.pipeline.states import Asked, starts_of_config, starts_of_run
from vlassess.report.start_sheet import write_sheet
from vlassess.schema.events import SilentListener
from vlassess.schema.starts import Start, StartSheet
from vlassess_link.data import EpisodeRecord

EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal."""


def show(options: StatesOptions) -> int:
    """Make the sheet, and return 3 where a start has no picture, 130 where it was interrupted."""
    asked = Asked(options.episodes, tuple(options.camera) or None)
    with StartsListener(Console(stderr=True), quiet=options.json) as listener:
        if Path(options.source, "run.json").is_file():
            if options.set:
                raise typer.BadParameter("a run's starts are shown as they were run; leave it out", param_hint="--set")
            sheet = starts_of_run(Path(options.source), asked, Catalog.discover(), listener)
        else:
            workers = [] if options.workers is None else [f"execution.workers={options.workers}"]
            config = load_config(options.source, [*options.set, *workers])
            sheet = starts_of_config(config, asked, Catalog.discover(), listener)
    folder = options.output or Path(f"states-{sheet.name}")
    files = write_sheet(folder, sheet)
    without = [start for start in sheet.starts if start.error is not None]
    if options.json:
        print_json({"files": [str(file) for file in files], "starts": [_told(start) for start in sheet.starts]})
    else:
        _say(sheet, files, console())
    for start in without[:5]:
        sys.stderr.write(f"warning: start {start.number} ({start.place}, {start.cell}) has no picture: {start.error}\n")
    if sheet.interrupted:
        return INTERRUPTED
    return INCOMPLETE if without else COMPLETE


def _say(sheet: StartSheet, files: list[Path], out: Console) -> None:
    shown = sum(start.error is None for start in sheet.starts)
    through = ", ".join(sheet.cameras)
    out.print(Text(f"{shown} starts of {sheet.benchmark} through {through}"), soft_wrap=True)
    for file in files:
        out.print(Text(str(file)), soft_wrap=True)


def _told(start: Start) -> dict[str, object]:
    return {
        "number": start.number,
        "episode_id": start.episode.episode_id,
        "suite": start.episode.suite,
        "task": start.episode.task,
        "index": start.episode.index,
        "cell": dict(start.episode.perturbation),
        "instruction": start.instruction,
        "state_digest": start.state_digest,
        "error": start.error,
    }


class StartsListener(SilentListener):
    """Shows how many starts have been made: a bar in a terminal, now and then a line elsewhere.

    Args:
        console: Where to.
        quiet: Show nothing.
        clock: Seconds, from any origin.
    """

    def __init__(self, console: Console, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._quiet = quiet
        self._clock = clock
        self._said = clock()
        self._made = self._total = 0
        columns = (TextColumn("starts"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
        self._task = self._bar.add_task("starts", total=None)

    def __enter__(self) -> StartsListener:
        self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.stop()

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Say how many there will be."""
        self._total = total
        self._bar.update(self._task, total=total)
        self._line(f"{total} starts to show")

    def note(self, text: str) -> None:
        """Tell it."""
        if not self._quiet:
            self._console.print(Text(text), soft_wrap=True)

    def record(self, record: EpisodeRecord) -> None:
        """Count one."""
        self._made += 1
        self._bar.update(self._task, completed=min(self._made, self._total))
        if self._clock() - self._said >= EVERY:
            self._line(f"{min(self._made, self._total)}/{self._total} starts")

    def _line(self, text: str) -> None:
        self._said = self._clock()
        if not self._quiet and not self._console.is_terminal:
            self._console.print(text, highlight=False)
