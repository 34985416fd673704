"""The commands and their help; what they do is imported when they run."""

from __future__ import annotations

from typing import Annotated

import typer

from vlassess.cli.check_options import CheckOptions, TraceOptions
from vlassess.cli.compare_options import CompareOptions
from vlassess.cli.dataset_options import CollectOptions, ExportOptions
from vlassess.cli.helping import EXIT_CODES, examples
from vlassess.cli.options import (
    BudgetOptions,
    DoctorOptions,
    ListOptions,
    MergeOptions,
    PlanOptions,
    ReportOptions,
    RerunOptions,
    RunOptions,
    ServeOptions,
    TuneOptions,
    takes,
)
from vlassess.cli.states_options import StatesOptions
from vlassess.cli.transfer_app import transfer
from vlassess.cli.validate_options import ValidateOptions

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from vlassess import __version__

        typer.echo(f"vlassess {__version__}")
        raise typer.Exit


@app.callback(
    epilog=examples(
        "vlassess run tabletop-quick", "vlassess run tabletop-quick --policy ws://localhost:8000", "vlassess list"
    )
)
def vlassess(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Measure Vision-Language-Action robot policies: closed-loop episodes, honest statistics, one command."""


@app.command(
    epilog=examples(
        "vlassess run tabletop-quick",
        "vlassess run my.yaml --policy ws://localhost:8000 --set episodes=20",
        "vlassess run my.yaml --policy my_model.py:MyModel --set suites=[pick] --min-success 0.8",
        "vlassess run my.yaml --mode realtime",
        "vlassess run my.yaml --shard 2/7",
        "vlassess run my.yaml --compare-with runs/old-20260101-030405-abcdef --stop-when-decided alpha=0.05",
        "vlassess run --resume runs/my-20260102-030405-abcdef",
        note=EXIT_CODES,
    )
)
@takes(RunOptions)
def run(options: RunOptions) -> int:
    """Run every episode of a config and report on it; Ctrl-C once finishes what runs, twice stops now."""
    from vlassess.cli.running import run

    return run(options)


@app.command(
    epilog=examples(
        "vlassess plan tabletop-quick",
        "vlassess plan my.yaml --set seed=7 --json",
    )
)
@takes(PlanOptions)
def plan(options: PlanOptions) -> int:
    """Print every episode that a config would run, and run none."""
    from vlassess.cli.showing import plan

    return plan(options)


@app.command(
    epilog=examples(
        "vlassess check my.yaml --policy ws://localhost:8000",
        "vlassess check policy my_model.py:MyModel",
        "vlassess check benchmark tabletop-v1",
        note="Exit codes: 0 everything fits; 2 a side cannot be loaded; 3 it cannot be started or reached; 4 it fails.",
    )
)
@takes(CheckOptions)
def check(options: CheckOptions) -> int:
    """Check what both sides of a config declare of their conventions, or try out one side with its conformance kit."""
    from vlassess.cli.checking import check

    return check(options)


@app.command(
    epilog=examples(
        "vlassess trace my.yaml --steps 5",
        "vlassess trace diff mine.npz reference.npz",
        note="Exit codes: 0 recorded, or no difference; 4 the traces differ.",
    )
)
@takes(TraceOptions)
def trace(options: TraceOptions) -> int:
    """Record what crosses the wire in the first steps of an episode; or find where two recordings part, and why."""
    from vlassess.cli.tracing import trace

    return trace(options)


@app.command(
    epilog=examples(
        "vlassess validate quickstart",
        "vlassess validate my.yaml --policy ws://localhost:8000",
        "vlassess validate --resume validations/my-20260102-030405-abcdef",
        "vlassess validate verify validations/my-20260102-030405-abcdef/certificates/013cf356ea89.json",
        note="Exit codes: 0 every region has a verdict, or the certificate holds; 2 usage or config; 3 incomplete; "
        "4 the certificate does not hold; 130 interrupted.",
    )
)
@takes(ValidateOptions)
def validate(options: ValidateOptions) -> int:
    """Decide whether a policy's answer holds everywhere in regions of image perturbations, or show where it fails."""
    from vlassess.cli.validating import validate

    return validate(options)


states = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help="Look at the initial states of a plan.")
app.add_typer(states, name="states")
app.add_typer(transfer, name="transfer")


@states.command(
    epilog=examples(
        "vlassess states show tabletop-quick",
        "vlassess states show my.yaml --episodes 1 --set cells=[camera_pose=*] --camera agent",
        "vlassess states show runs/my-20260102-030405-abcdef --output fixtures",
        note="Exit codes: 0 all shown; 2 usage or config; 3 a start has no picture; 130 interrupted.",
    )
)
@takes(StatesOptions)
def show(options: StatesOptions) -> int:
    """Let the benchmark make the starts of a plan and show them, numbered: a picture each, a sheet, and a page."""
    from vlassess.cli.states import show

    return show(options)


@app.command(
    epilog=examples(
        "vlassess serve my_model.py:MyModel",
        "vlassess serve my_model.py:MyModel --set checkpoint=weights.npz --port 9000",
        "vlassess serve random --host 0.0.0.0",
    )
)
@takes(ServeOptions)
def serve(options: ServeOptions) -> int:
    """Serve a policy until Ctrl-C, for this machine's runs or for others'."""
    from vlassess.cli.serving import serve

    return serve(options)


@app.command(
    epilog=examples(
        "vlassess tune my.yaml",
        "vlassess tune my.yaml --policy my_model.py:MyModel --max-workers 16 --seconds 20",
    )
)
@takes(TuneOptions)
def tune(options: TuneOptions) -> int:
    """Measure how many workers and which batch size suit a config on this machine, and write a config with them."""
    from vlassess.cli.tuning import tune_config

    return tune_config(options)


@app.command(
    epilog=examples(
        "vlassess report runs/my-20260102-030405-abcdef",
        "vlassess report runs/my-20260102-030405-abcdef --csv > my.csv",
    )
)
@takes(ReportOptions)
def report(options: ReportOptions) -> int:
    """Compute every number of a run from its records, print them and write report.html."""
    from vlassess.cli.showing import report

    return report(options)


@app.command(
    epilog=examples(
        "vlassess rerun runs/my-20260102-030405-abcdef 013cf356ea89",
        "vlassess rerun runs/my-20260102-030405-abcdef 013cf356ea89 --video",
        note="Exit codes: 0 the record is equal; 3 there is no record to compare; 4 it differs.",
    )
)
@takes(RerunOptions)
def rerun(options: RerunOptions) -> int:
    """Run one episode of a run again, compare it with its record, and keep a video if asked."""
    from vlassess.cli.rerunning import rerun

    return rerun(options)


@app.command(
    epilog=examples(
        "vlassess merge runs/my-* --output runs/my-whole",
        note="Exit codes: 0 complete; 2 the runs do not belong together; 3 something is missing; 4 a gate failed.",
    )
)
@takes(MergeOptions)
def merge(options: MergeOptions) -> int:
    """Join shards, or other runs of one plan, into one run; say what is missing and which command runs it."""
    from vlassess.cli.merging import merge

    return merge(options)


@app.command(
    epilog=examples(
        "vlassess compare runs/new-20260102-030405-abcdef runs/old-20260101-030405-abcdef",
        "vlassess compare runs/new-20260102-030405-abcdef runs/old-20260101-030405-abcdef --require-not-worse 0.03",
        "vlassess compare runs/new-20260102-030405-abcdef recording.sqlite --html comparison.html",
        "vlassess compare runs/new-20260102-030405-abcdef --published 0.842 --published-n 500",
        note="Exit codes: 0 compared; 2 cannot be compared; 4 a gate failed.",
    )
)
@takes(CompareOptions)
def compare(options: CompareOptions) -> int:
    """Compare policies on what they share: paired where the records prove it, with intervals and one verdict."""
    from vlassess.cli.comparing import compare

    return compare(options)


@app.command(
    epilog=examples(
        "vlassess collect tabletop --episodes 300 --output demonstrations",
        "vlassess collect tabletop --episodes 300 --noise 0.1 --recovery 0.02 --images lossless --size 128x128",
        "vlassess collect my.yaml --episodes 50 --set suites=[pick] --images off",
        "vlassess collect --resume runs/tabletop-demonstrations-20260102-030405-abcdef",
        note=EXIT_CODES,
    )
)
@takes(CollectOptions)
def collect(options: CollectOptions) -> int:
    """Record an expert's episodes and write them as a data set (LeRobotDataset v3)."""
    from vlassess.cli.collecting import collect

    return collect(options)


@app.command(
    epilog=examples(
        "vlassess export runs/my-20260102-030405-abcdef > my.csv",
        "vlassess export runs/my-20260102-030405-abcdef --output my.parquet",
        "vlassess export runs/my-20260102-030405-abcdef --to lerobot --output my-dataset",
        "vlassess export runs/my-20260102-030405-abcdef --to rrd --keep all --output my-recordings",
    )
)
@takes(ExportOptions)
def export(options: ExportOptions) -> int:
    """Write a run for other programs: a table of its attempts, or its recordings as a data set."""
    from vlassess.cli.exporting import export

    return export(options)


@app.command(
    epilog=examples(
        "vlassess doctor",
        "vlassess doctor --json",
        note="Exit codes: 0 nothing that a run needs is missing; 3 something is.",
    )
)
@takes(DoctorOptions)
def doctor(options: DoctorOptions) -> int:
    """Try out what a run needs of this machine, rendering included, and say how to mend what fails."""
    from vlassess.cli.examining import doctor

    return doctor(options)


@app.command(
    name="list",
    epilog=examples(
        "vlassess list",
        "vlassess list configs",
        "vlassess list benchmarks --json",
    ),
)
@takes(ListOptions)
def list_(options: ListOptions) -> int:
    """Print what a config can name: bundled and installed benchmarks and policies, bundled configs."""
    from vlassess.cli.showing import list_all

    return list_all(options)


@app.command(
    epilog=examples(
        "vlassess budget --delta 0.10 --power 0.8",
        "vlassess budget --delta 0.10 --paired --correlation 0.5",
        "vlassess budget --delta 0.10 --cells 5 --policies 2 --seconds-per-trial 90",
        "vlassess budget --n 20",
    )
)
@takes(BudgetOptions)
def budget(options: BudgetOptions) -> int:
    """Print how many episodes a claim needs, and which difference a number of episodes can show."""
    from vlassess.cli.budgeting import budget

    return budget(options)
