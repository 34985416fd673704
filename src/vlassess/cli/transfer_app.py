"""The commands of ``vlassess transfer`` and their help; what they do is imported when they run."""

from __future__ import annotations

import typer

from vlassess.cli.helping import examples
from vlassess.cli.options import takes
from vlassess.cli.transfer_options import (
    AmendOptions,
    ImportOptions,
    LockOptions,
    PlanStudyOptions,
    RunStudyOptions,
    SheetOptions,
    StudyOptions,
)

FOLDER = "studies/my-20260102-030405-abcdef"

transfer = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Measure what breaks a policy, one factor at a time; how few demonstrations mend it, and what is forgotten.",
)


@transfer.command(
    epilog=examples(
        "vlassess transfer plan tabletop",
        "vlassess transfer plan my.yaml --set starts=100",
        note="Exit codes: 0 it can be locked; 2 it does not fit; 4 it breaks a rule of the protocol.",
    )
)
@takes(PlanStudyOptions)
def plan(options: PlanStudyOptions) -> int:
    """Check a study, and print its trials, hours and what can be claimed of them; nothing is written."""
    from vlassess.cli.transfer import plan

    return plan(options)


@transfer.command(epilog=examples("vlassess transfer lock tabletop", "vlassess transfer lock my.yaml --output studies"))
@takes(LockOptions)
def lock(options: LockOptions) -> int:
    """Fix a study before its first trial; what is changed later is an amendment."""
    from vlassess.cli.transfer import lock

    return lock(options)


@transfer.command(
    epilog=examples(
        f"vlassess transfer run {FOLDER}",
        f"vlassess transfer run {FOLDER} --part cells",
        note="Exit codes: 0 complete; 3 something is left; 5 a cell is invalid; 130 interrupted. The same command "
        "goes on.",
    )
)
@takes(RunStudyOptions)
def run(options: RunStudyOptions) -> int:
    """Run every simulated trial that has no result yet."""
    from vlassess.cli.transfer import run

    return run(options)


@transfer.command(epilog=examples(f"vlassess transfer status {FOLDER}"))
@takes(StudyOptions)
def status(options: StudyOptions) -> int:
    """Print what is done, what is left, what was amended, and which command is next."""
    from vlassess.cli.transfer import status

    return status(options)


@transfer.command(
    epilog=examples(
        f'vlassess transfer amend {FOLDER} --set starts=60 --reason "the pilot\'s interval was too wide"',
    )
)
@takes(AmendOptions)
def amend(options: AmendOptions) -> int:
    """Change a locked study, with a reason that is kept; what has been run and still is planned is not run again."""
    from vlassess.cli.transfer import amend

    return amend(options)


@transfer.command(epilog=examples(f"vlassess transfer sheet {FOLDER} --output sheet"))
@takes(SheetOptions)
def sheet(options: SheetOptions) -> int:
    """Write the operator's sheet: trials by hand in a random order, under blind codes, with a picture of each start."""
    from vlassess.cli.transfer_by_hand import sheet

    return sheet(options)


@transfer.command(
    name="import",
    epilog=examples(
        f"vlassess transfer import {FOLDER} trials.csv",
        note="Exit codes: 0 all planned trials are there as planned; 2 the file has mistakes; 3 something deviates "
        "from the plan, which is told and kept.",
    ),
)
@takes(ImportOptions)
def import_(options: ImportOptions) -> int:
    """Enter trials by hand and compare them with the locked plan; nothing is dropped."""
    from vlassess.cli.transfer_by_hand import import_file

    return import_file(options)


@transfer.command(epilog=examples(f"vlassess transfer unblind {FOLDER}"))
@takes(StudyOptions)
def unblind(options: StudyOptions) -> int:
    """Print which code stands for which policy, and write down that this was done."""
    from vlassess.cli.transfer_by_hand import open_codes

    return open_codes(options)


@transfer.command(
    epilog=examples(
        f"vlassess transfer analyse {FOLDER}",
        f"vlassess transfer analyse {FOLDER} --json > analysis.json",
        note="Exit codes: 0 everything planned is in it; 3 something is left to run.",
    )
)
@takes(StudyOptions)
def analyse(options: StudyOptions) -> int:
    """Compute every number of a study from its files and print them: gaps, rankings, curves, what was forgotten."""
    from vlassess.cli.transfer_results import analyse

    return analyse(options)


@transfer.command(epilog=examples(f"vlassess transfer report {FOLDER}"))
@takes(StudyOptions)
def report(options: StudyOptions) -> int:
    """Write a study's report, a page that stands alone."""
    from vlassess.cli.transfer_results import report

    return report(options)
