"""``vlassess trace``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.text import Text

from vlassess.catalog import Catalog
from vlassess.cli.check_options import TraceOptions
from vlassess.cli.output import console, print_json
from vlassess.cli.progress import QuietListener
from vlassess.config import load_config
from vlassess.exit_codes import COMPLETE, GATE_FAILED
from vlassess.pipeline.tracing import Traced
from vlassess.pipeline.tracing import trace as record
from vlassess_link.conventions.diff import Difference, diff
from vlassess_link.conventions.traces import load, save
from vlassess_link.errors import ContractError

UNEXPLAINED = "no known mistake makes B of A: another quantity, other weights or other code"


def trace(options: TraceOptions) -> int:
    """Record a trace, or compare two and return 4 where they differ."""
    if options.first is None and options.subject != "diff":
        return _record(options)
    if options.subject != "diff" or options.first is None or options.second is None:
        raise typer.BadParameter("give a config alone, or diff and two traces", param_hint="subject")
    if options.policy or options.set or options.output is not None:
        raise typer.BadParameter("they belong to a config; leave them out", param_hint="--policy, --set, --output")
    return _compare(options.first, options.second, options.json)


def _record(options: TraceOptions) -> int:
    overrides = [*([f"policies={json.dumps(list(options.policy))}"] if options.policy else []), *options.set]
    config = load_config(options.subject, overrides)
    if options.output is not None and (options.output.is_dir() or not options.output.absolute().parent.is_dir()):
        raise typer.BadParameter(f"{options.output} is no file in a folder that is there", param_hint="--output")
    found = record(config, options.steps, Catalog.discover(), QuietListener())
    path = options.output or Path(f"{config.name}-{found.label}.npz")
    save(str(path), found.trace)
    told = summary(found, path)
    if options.json:
        print_json(told)
    else:
        console().print(Text("\n".join(f"{name}: {value}" for name, value in told.items())), soft_wrap=True)
    return COMPLETE


def summary(found: Traced, path: Path) -> dict[str, object]:
    """Return what people read of a trace."""
    executed = 0 if found.trace.executed is None else len(found.trace.executed)
    error = found.record.error
    return {
        "trace": str(path),
        "policy": found.label,
        "episode": f"{found.record.suite}/{found.record.task}, start {found.record.index}",
        "observations": len(found.trace.moments),
        "executed": executed,
        "error": None if error is None else error.message,
    }


def _compare(first: Path, second: Path, as_json: bool) -> int:
    traces = [load(str(path)) for path in (first, second)]
    for path, one in zip((first, second), traces, strict=True):
        if not one.moments:
            raise ContractError(f"{path} holds no observation, so there is nothing to compare; record it again")
    found = diff(*traces)
    if as_json:
        print_json({"equal": not found, "differences": [dataclasses.asdict(one) for one in found]})
    else:
        console().print(Text("\n".join(sentences(found, first, second))), soft_wrap=True)
    return GATE_FAILED if found else COMPLETE


def sentences(found: Sequence[Difference], first: Path, second: Path) -> list[str]:
    """Return what people read of a comparison: where the two part, part by part, and why."""
    if not found:
        return [f"no difference: A is {first}, B is {second}"]
    lines = [f"A is {first}, B is {second}", f"they part at observation {found[0].moment} (step {found[0].step}):"]
    for one in found:
        lines += [f"  {one.part}: {one.size}", f"    {one.cause or UNEXPLAINED}"]
    return lines
