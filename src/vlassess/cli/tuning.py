"""``vlassess tune``."""

from __future__ import annotations

import sys

from vlassess.catalog import Catalog
from vlassess.cli.configs import planned_config
from vlassess.cli.options import TuneOptions
from vlassess.cli.output import console, print_json
from vlassess.execution import cores
from vlassess.tune import TuneSettings, tune, write_findings
from vlassess.tune.writing import numbers_of, sentence_of


def tune_config(options: TuneOptions) -> int:
    """Measure both sides of a config, write what was found, and return the exit code."""
    config = planned_config(options)
    batches = tuple(batch for batch in (1, 2, 4, 8, 16, 32, 64) if batch <= options.max_batch)
    settings = TuneSettings(options.seconds, options.max_workers or 2 * cores(), batches)
    findings = tune(config, Catalog.discover(), settings, _note, options.label)
    path = write_findings(findings, options.output)
    if options.json:
        print_json({**numbers_of(findings), "config": str(path)})
    else:
        console().print(f"{sentence_of(findings)}\n{path.parent / 'tuning.html'}\nvlassess run {path}", markup=False)
    return 0


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")
