"""``vlassess transfer analyse | report``."""

from __future__ import annotations

from rich.text import Text

from vlassess.cli.output import console, print_json
from vlassess.cli.transfer_options import StudyOptions
from vlassess.exit_codes import COMPLETE, INCOMPLETE
from vlassess.pipeline.transfer import ANALYSIS, open_study, write_study_report
from vlassess.pipeline.transfer import analyse as analyse_study
from vlassess.report.transfer_tables import render_transfer


def analyse(options: StudyOptions) -> int:
    """Print a study's numbers, and return 3 while something of it has no result."""
    study = open_study(options.study)
    found = analyse_study(study)
    if options.json:
        print_json(found.to_json())
    else:
        out = console()
        out.print(render_transfer(found.facts, found.analysis))
        out.print(Text(f"analysis: {study.path / ANALYSIS}"), soft_wrap=True)
    return COMPLETE if found.complete else INCOMPLETE


def report(options: StudyOptions) -> int:
    """Write the page and print where it is."""
    path = write_study_report(open_study(options.study))
    if options.json:
        print_json({"report": str(path)})
        return COMPLETE
    console().print(Text(f"report: {path}"), soft_wrap=True)
    return COMPLETE
