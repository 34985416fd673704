"""``vlassess transfer sheet | import | unblind``."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from vlassess.catalog import Catalog
from vlassess.cli.output import console, print_json, say
from vlassess.cli.showing import table
from vlassess.cli.states import StartsListener
from vlassess.cli.transfer_options import ImportOptions, SheetOptions, StudyOptions
from vlassess.exit_codes import COMPLETE, INCOMPLETE
from vlassess.pipeline.transfer import import_trials, open_study, unblind, write_hand_sheet

HARMLESS = ("flagged",)
"""Deviations that are results of the protocol, not departures from it."""


def sheet(options: SheetOptions) -> int:
    """Write the operator's sheet and print where it is."""
    study = open_study(options.study)
    with StartsListener(Console(stderr=True), quiet=options.json) as listener:
        files = write_hand_sheet(study, options.output or study.path / "sheet", Catalog.discover(), listener)
    if options.json:
        print_json({"files": [str(file) for file in files]})
        return COMPLETE
    for file in files:
        console().print(Text(str(file)), soft_wrap=True)
    return COMPLETE


def import_file(options: ImportOptions) -> int:
    """Enter a file of trials, print every deviation from the plan, and return 3 where there is one."""
    study = open_study(options.study)
    found = import_trials(study, options.file)
    departed = [one for one in found.deviations if one.kind not in HARMLESS]
    if options.json:
        print_json(
            {
                "new": found.new,
                "known": found.known,
                "planned": found.planned,
                "done": found.done,
                "deviations": [
                    {"kind": one.kind, "trials": list(one.trials), "sentence": one.sentence} for one in found.deviations
                ],
            }
        )
        return INCOMPLETE if departed else COMPLETE
    out = console()
    known = f", {found.known} were known" if found.known else ""
    out.print(Text(f"{found.new} results entered{known}; {found.done} of {found.planned} trials are done"))
    if found.deviations:
        out.print(table(("deviation", ""), [(one.kind, one.sentence) for one in found.deviations]))
    return INCOMPLETE if departed else COMPLETE


def open_codes(options: StudyOptions) -> int:
    """Print which code stands for which policy; when that was first done is kept."""
    study = unblind(open_study(options.study))
    if options.json:
        print_json({"opened": study.opened, "codes": dict(study.key.codes)})
        return COMPLETE
    console().print(table(("code", "policy"), [(code, label) for label, code in study.key.codes.items()]))
    say(f"opened {study.opened}; trials that are entered from now on are marked")
    return COMPLETE
