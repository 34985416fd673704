"""``vlassess rerun``."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.text import Text

from vlassess import pipeline
from vlassess.catalog import Catalog
from vlassess.cli.options import RerunOptions
from vlassess.cli.output import console, print_json
from vlassess.cli.progress import LineListener, QuietListener
from vlassess.config.shorthand import absolute
from vlassess.exit_codes import COMPLETE, GATE_FAILED, INCOMPLETE
from vlassess.pipeline import Rerun
from vlassess_link.data import COMPARED


def rerun(options: RerunOptions) -> int:
    """Run one episode again, say whether it came out the same, and return the exit code."""
    out = console()
    with ExitStack() as stack:
        output = absolute(str(options.output), Path.cwd()) if options.output is not None else _temporary(stack, options)
        shown: QuietListener | LineListener = QuietListener() if options.json else LineListener(out)
        stack.enter_context(shown)
        config = pipeline.rerun_config(options.run_dir, output, options.video)
        found = pipeline.rerun(options.run_dir, options.episode, config, Catalog.discover(), shown)
    kept = found.run_dir if found.run_dir.exists() else None
    if options.json:
        print_json(_json(found, kept))
    else:
        for line in sentences(found, kept):
            out.print(Text(line), soft_wrap=True)
    if found.equal:
        return COMPLETE
    return GATE_FAILED if found.different else INCOMPLETE


def sentences(found: Rerun, kept: Path | None) -> list[str]:
    """Return what people read of a rerun."""
    episode = found.item.episode
    lines = [f"{found.item.item_id}: policy {found.item.policy}, {episode.suite}/{episode.task}, start {episode.index}"]
    if found.after is None:
        lines.append("it was interrupted before it had a record")
    elif found.before is None:
        lines.append(f"it ended as {found.after.counts_as}; the run has no record of it to compare with")
    elif found.equal:
        lines.append(f"equal to its record in all {len(COMPARED)} compared fields; it ended as {found.after.counts_as}")
    else:
        lines.append(f"it differs from its record in {len(found.different)} of {len(COMPARED)} compared fields:")
        lines += [f"  {name}: {before!r} -> {after!r}" for name, (before, after) in found.different.items()]
    if kept is not None:
        video = kept / "artifacts" / found.item.item_id / "video.mp4"
        lines.append(f"video: {video}" if video.exists() else f"run: {kept}")
    return lines


def _temporary(stack: ExitStack, options: RerunOptions) -> Path:
    """Return a folder that is removed at the end, unless there is something in it to look at."""
    folder = Path(tempfile.mkdtemp(prefix="vlassess-rerun-"))
    if not options.video:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _json(found: Rerun, kept: Path | None) -> dict[str, Any]:
    return {
        "item_id": found.item.item_id,
        "equal": found.equal,
        "different": {name: {"before": pair[0], "after": pair[1]} for name, pair in found.different.items()},
        "ended_as": None if found.after is None else found.after.counts_as,
        "run_dir": None if kept is None else str(kept),
    }
