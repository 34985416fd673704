"""``vlassess export``."""

from __future__ import annotations

import sys

import typer

from vlassess.cli.options import ExportOptions, TableFormat
from vlassess.records import RunDirectory
from vlassess.records.lines import write_atomically
from vlassess.report import FORMATS, attempt_rows


def export(options: ExportOptions) -> int:
    """Write the attempts of a run, to a file or to stdout."""
    chosen = _format(options)
    run = RunDirectory.open(options.run_dir)
    rows = attempt_rows(run.items(), run.records().records)
    data = FORMATS[chosen.value](rows)
    if options.output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return 0
    write_atomically(options.output, data)
    sys.stderr.write(f"{options.output}: {len(rows)} rows\n")
    return 0


def _format(options: ExportOptions) -> TableFormat:
    """Return the format that is asked for, in words or by the file's name.

    Raises:
        typer.BadParameter: it cannot be told, or it would be Parquet on stdout.
    """
    chosen = options.format
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
