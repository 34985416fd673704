"""``vlassess run``."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.text import Text

from vlassess import pipeline
from vlassess.catalog import Catalog
from vlassess.cli.configs import run_config
from vlassess.cli.options import RunOptions
from vlassess.cli.output import console, print_json
from vlassess.cli.progress import BarListener, LineListener, QuietListener
from vlassess.pipeline import Asked, RunResult
from vlassess.report import render_table
from vlassess.sharding import parse_shard


def run(options: RunOptions) -> int:
    """Run or resume, show the result, and return the exit code."""
    if options.go_on and options.resume is None:
        raise typer.BadParameter("it belongs to --resume DIR", param_hint="--continue")
    asked = asked_part(options)
    config = run_config(options)
    catalog = Catalog.discover()
    out = console()
    with listener_for(options.json, out) as listener:
        if options.resume is not None:
            result = pipeline.resume(options.resume, config, catalog, listener, go_on=options.go_on)
        elif config is not None:
            result = pipeline.start(config, catalog, listener, asked=asked)
    if options.json:
        print_json(result_json(result))
    else:
        show_result(result, out)
    return result.exit_code


def asked_part(options: RunOptions) -> Asked:
    """Return which part of the plan ``vlassess run`` is to take.

    Raises:
        ShardError: ``--shard`` is no shard.
        typer.BadParameter: a run is resumed, which has its part already.
    """
    if options.resume is not None and (options.shard is not None or options.limit is not None):
        raise typer.BadParameter("a run is resumed as the part that it is; leave --shard and --limit out")
    shard = None if options.shard is None else parse_shard(options.shard)
    return Asked(options.limit, shard, command_of(options))


def command_of(options: RunOptions) -> tuple[str, ...]:
    """Return the command line that begins such a run, without what concerns one shard or what is printed."""
    single = {
        "--output": options.output,
        "--episodes-per-task": options.episodes,
        "--workers": options.workers,
        "--min-success": options.min_success,
        "--mode": None if options.mode is None else options.mode.value,
        "--video": options.video,
        "--audit": None if options.audit is None else options.audit.value,
        "--limit": options.limit,
        "--compare-with": options.compare_with,
        "--stop-when-decided": options.stop_when_decided,
    }
    pairs = [("--policy", policy) for policy in options.policy] + [("--set", setting) for setting in options.set]
    pairs += [(name, str(value)) for name, value in single.items() if value is not None]
    config = [] if options.config is None else [options.config]
    return ("vlassess", "run", *config, *(word for pair in pairs for word in pair))


def result_json(result: RunResult) -> dict[str, object]:
    """Return a run's result as JSON types."""
    return {
        "run_dir": str(result.run_dir),
        "report": str(result.run_dir / "report.html"),
        "exit_code": result.exit_code,
        "complete": result.complete,
        "interrupted": result.interrupted,
        "reasons": list(result.reasons),
        "decision": result.decision,
        "summary": result.summary.model_dump(mode="json"),
    }


def show_result(result: RunResult, out: Console, command: str = "run") -> None:
    """Print the tables and where everything is; on stderr, what is not as it should be and which command goes on."""
    out.print(render_table(result.summary))
    out.print(Text(f"report: {result.run_dir / 'report.html'}"), soft_wrap=True)
    if result.decision is not None:
        out.print(Text(f"comparison: {result.decision}"), soft_wrap=True)
    for reason in result.reasons:
        sys.stderr.write(f"warning: {reason}\n")
    if not result.complete and result.exit_code == 0:
        sys.stderr.write(f"to run the rest of its plan anyway: vlassess run --resume {result.run_dir} --continue\n")
    elif not result.complete:
        sys.stderr.write(f"to finish it: vlassess {command} --resume {result.run_dir}\n")


def listener_for(quiet: bool, out: Console) -> BarListener | LineListener | QuietListener:
    """Return who shows how a run goes on."""
    if quiet:
        return QuietListener()
    return BarListener(out) if out.is_terminal else LineListener(out)
