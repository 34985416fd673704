"""``vlassess merge``."""

from __future__ import annotations

import dataclasses
import sys

from rich.text import Text

from vlassess import pipeline
from vlassess.cli.options import MergeOptions
from vlassess.cli.output import console, print_json
from vlassess.cli.running import result_json
from vlassess.pipeline import Merged
from vlassess.report import render_table


def merge(options: MergeOptions) -> int:
    """Merge, show what came of it, and return the exit code."""
    merged = pipeline.merge(options.runs, options.output)
    if options.json:
        print_json(merged_json(merged))
    else:
        show_merged(merged)
    return merged.result.exit_code


def merged_json(merged: Merged) -> dict[str, object]:
    """Return what a merge came to as JSON types."""
    return {
        **result_json(merged.result),
        "sources": [source.model_dump(mode="json") for source in merged.sources],
        "remaining": [dataclasses.asdict(each) for each in merged.remaining],
        "notes": list(merged.notes),
    }


def show_merged(merged: Merged) -> None:
    """Print the table and where everything is; on stderr, what is odd and what is missing, with its commands."""
    out = console()
    out.print(render_table(merged.result.summary))
    records = sum(source.records for source in merged.sources)
    duplicates = sum(source.duplicates for source in merged.sources)
    runs = "1 run" if len(merged.sources) == 1 else f"{len(merged.sources)} runs"
    out.print(f"{records} records of {runs}, {duplicates} of them duplicates, which were dropped")
    out.print(Text(f"merged: {merged.result.run_dir}"), soft_wrap=True)
    for note in (*merged.notes, *merged.result.reasons):
        sys.stderr.write(f"warning: {note}\n")
    for each in merged.remaining:
        of = f" of shard {each.shard}" if each.shard is not None else ""
        sys.stderr.write(f"{each.items} items{of} have no result; to run them: {each.command}\n")
    if any(each.shard is not None for each in merged.remaining):
        sys.stderr.write(f"or all of them here: vlassess run --resume {merged.result.run_dir}\n")
