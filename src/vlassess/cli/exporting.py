"""``vlassess export``."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from vlassess.cli.dataset_options import ExportOptions, Images, Rows, TableFormat, Target
from vlassess.cli.output import say
from vlassess.records import RunDirectory
from vlassess.records.lines import write_atomically
from vlassess.report import FORMATS, attempt_rows

LINE_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""

Told = Callable[[int, int], None]


def export(options: ExportOptions) -> int:
    """Write a run as a data set into a folder, or as a table to a file or to stdout."""
    if options.to in (Target.lerobot, Target.rrd):
        return _export_dataset(options, options.to)
    if options.rows is Rows.steps:
        return _export_steps(options)
    chosen = _format(options)
    run = RunDirectory.open(options.run_dir)
    rows = attempt_rows(run.items(), run.records().records)
    _write(options.output, FORMATS[chosen.value](rows), f"{len(rows)} rows")
    return 0


@contextmanager
def telling(out: Console, quiet: bool = False) -> Iterator[Told]:
    """Yield what shows how far a data set is: a bar in a terminal, now and then a line elsewhere."""
    if quiet:
        yield lambda done, total: None
    elif out.is_terminal:
        with Progress(console=out, transient=True) as bar:
            task = bar.add_task("writing the data set", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield _Lines(out)


class _Lines:
    def __init__(self, out: Console) -> None:
        self._out = out
        self._printed = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Print it when it is time."""
        if done < total and time.monotonic() - self._printed >= LINE_EVERY:
            self._printed = time.monotonic()
            self._out.print(Text(f"writing the data set: {done}/{total} episodes"), soft_wrap=True)


def _export_dataset(options: ExportOptions, target: Target) -> int:
    from vlassess.pipeline.demonstrating import Choice
    from vlassess.pipeline.exporting import export_lerobot, export_rrd

    if options.output is None:
        raise typer.BadParameter(f"{target.value} is a folder; name a new one", param_hint="--output")
    if options.format is not None:
        raise typer.BadParameter("it is for tables; leave it out, or --to", param_hint="--format")
    run = RunDirectory.open(options.run_dir)
    choice = Choice(options.keep.value, tuple(options.policy), options.images is not Images.off)
    with telling(Console(stderr=True)) as told:
        if target is Target.rrd:
            exported = export_rrd(run, options.output, choice, told)
        else:
            lossless = options.images is Images.lossless
            exported = export_lerobot(run, options.output, choice, "lossless" if lossless else "video", told)
    say(exported.sentence)
    return 0


def _export_steps(options: ExportOptions) -> int:
    from vlassess.pipeline.demonstrating import Choice
    from vlassess.pipeline.exporting import export_rows

    if _format(options) is not TableFormat.csv:
        raise typer.BadParameter("steps are written as csv only", param_hint="--format")
    table = io.StringIO()
    sifted = export_rows(RunDirectory.open(options.run_dir), table, Choice(options.keep.value, tuple(options.policy)))
    left = "".join(f"; {count} {reason} left out" for reason, count in sifted.left_out.items())
    _write(options.output, table.getvalue().encode(), f"{len(sifted.entries) - sifted.left_out.total()} episodes{left}")
    if options.output is None and left:
        say(left.removeprefix("; "))
    return 0


def _write(output: Path | None, data: bytes, told: str) -> None:
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    write_atomically(output, data)
    sys.stderr.write(f"{output}: {told}\n")


def _format(options: ExportOptions) -> TableFormat:
    """Return the table's format that is asked for, in words or by the file's name.

    Raises:
        typer.BadParameter: it cannot be told, it would be Parquet on stdout, or two are asked for.
    """
    chosen = options.format
    if options.to is Target.csv:
        if chosen not in (None, TableFormat.csv):
            raise typer.BadParameter("--to csv is a csv; leave one of the two out", param_hint="--format")
        return TableFormat.csv
    if chosen is None and options.output is not None:
        ending = options.output.suffix.lstrip(".").lower()
        if ending not in FORMATS:
            raise typer.BadParameter(
                f"{options.output.name!r} does not end in .{', .'.join(FORMATS)}; say which with --format",
                param_hint="--output",
            )
        chosen = TableFormat(ending)
    if chosen is TableFormat.parquet and options.output is None:
        raise typer.BadParameter("parquet is no text; name a file with --output", param_hint="--format")
    return chosen or TableFormat.csv
