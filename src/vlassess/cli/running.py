"""``vlassess run``."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from vlassess import pipeline
from vlassess.catalog import Catalog
from vlassess.cli.configs import run_config
from vlassess.cli.options import RunOptions
from vlassess.cli.output import console, print_json
from vlassess.cli.progress import BarListener, LineListener, QuietListener
from vlassess.pipeline import RunResult
from vlassess.report import render_table


def run(options: RunOptions) -> int:
    """Run or resume, show the result, and return the exit code."""
    config = run_config(options)
    catalog = Catalog.discover()
    out = console()
    with _listener(options, out) as listener:
        if options.resume is not None:
            result = pipeline.resume(options.resume, config, catalog, listener)
        elif config is not None:
            result = pipeline.start(config, catalog, listener)
    if options.json:
        print_json(result_json(result))
    else:
        show_result(result, out)
    return result.exit_code


def result_json(result: RunResult) -> dict[str, object]:
    """Return a run's result as JSON types."""
    return {
        "run_dir": str(result.run_dir),
        "report": str(result.run_dir / "report.html"),
        "exit_code": result.exit_code,
        "complete": result.complete,
        "interrupted": result.interrupted,
        "reasons": list(result.reasons),
        "summary": result.summary.model_dump(mode="json"),
    }


def show_result(result: RunResult, out: Console) -> None:
    """Print the tables and where everything is; on stderr, what is not as it should be and how to go on."""
    out.print(render_table(result.summary))
    out.print(Text(f"report: {result.run_dir / 'report.html'}"), soft_wrap=True)
    for reason in result.reasons:
        sys.stderr.write(f"warning: {reason}\n")
    if not result.complete:
        sys.stderr.write(f"to finish it: vlassess run --resume {result.run_dir}\n")


def _listener(options: RunOptions, out: Console) -> BarListener | LineListener | QuietListener:
    if options.json:
        return QuietListener()
    return BarListener(out) if out.is_terminal else LineListener(out)
