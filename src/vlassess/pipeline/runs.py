"""A run from its config or its directory to its result."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from vlassess import provenance
from vlassess.artifacts import require
from vlassess.catalog import Catalog
from vlassess.execution import (
    ArtifactSink,
    Coordinator,
    Ending,
    Fleet,
    FleetSettings,
    StopSwitch,
    Work,
    WorkerLaunch,
    attempts_by_item,
    cores,
    group_of,
    stop_on_signals,
)
from vlassess.exit_codes import INCOMPLETE, exit_code
from vlassess.pipeline.deciding import Deciding, deciding, refuse_other_rule
from vlassess.pipeline.decisions import read_decision
from vlassess.pipeline.disturbing import disturbance_of
from vlassess.pipeline.factors import summary_of
from vlassess.pipeline.forecasts import Prospect, forecasting
from vlassess.pipeline.parts import Asked, part_of, taken
from vlassess.pipeline.planning import planned
from vlassess.pipeline.probing import SaidOnDisk, ask_questions, unasked
from vlassess.pipeline.realtime import rules_of
from vlassess.pipeline.recording import kept, put_away_left, recording
from vlassess.pipeline.refusals import refuse_other_experiment, refuse_other_plan
from vlassess.pipeline.sides import Stage, benchmark_spec, resolve, staged
from vlassess.plan import added_controls, plan_hash, planned_cells
from vlassess.records import RunDirectory
from vlassess.report import write_report
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import PolicyFit, RunManifest, WorkerInterpreter
from vlassess.schema.summary import Summary
from vlassess.tracking import entry_of, track
from vlassess.tracking import require as require_trackers
from vlassess_link.conventions.findings import Fit
from vlassess_link.jsonable import to_json

WHOLE = Asked()
"""The whole plan."""


@dataclass(frozen=True)
class RunResult:
    """What a run came to.

    Attributes:
        run_dir: Where everything is.
        summary: Its numbers.
        interrupted: It was asked to stop before it was complete.
        complete: Every planned episode has a result.
        reasons: Why it is not as it should be, one sentence each.
        exit_code: 0, 3, 4 or 130; see the CLI reference.
        decision: What its stopping rule has come to; None where it has none.
    """

    run_dir: Path
    summary: Summary
    interrupted: bool
    complete: bool
    reasons: tuple[str, ...]
    exit_code: int
    decision: str | None = None


def start(
    config: RunConfig, catalog: Catalog, listener: Listener, stop: StopSwitch | None = None, asked: Asked = WHOLE
) -> RunResult:
    """Run a config, or a part of it, in a new run directory.

    Raises:
        VlassessError: nothing was run, and why: the config does not fit the benchmark, a side cannot be
            loaded or reached, the two do not fit each other, or there is no such part of the plan.
    """
    switch = stop or StopSwitch()
    require(config.artifacts)
    require_trackers(config.tracking)
    sides = resolve(config, catalog, listener.note)
    spec = benchmark_spec(sides, config)
    whole = planned(config, spec)
    part = part_of(whole, asked.limit, asked.shard)
    items = taken(whole, part)
    rule = deciding(config, items, part, spec.ref)
    with ExitStack() as stack:
        stage = stack.enter_context(staged(sides, config, tuple(config.policies)))
        # Not before: while the two sides start, Ctrl-C has no episode to wait for and ends everything at once.
        stack.enter_context(stop_on_signals(switch))
        manifest = make_manifest(config, stage, items).model_copy(update={"part": part, "command": asked.command})
        run = RunDirectory.create(free_path(config, manifest), manifest, items)
        stage.side.servers.move_logs(stage.logs.rename(run.path / "logs"))
        stack.enter_context(run.lock())
        listener.planned(run.path, len(items), 0)
        for sentence in added_controls(planned_cells(config, spec)):
            listener.note(sentence)
        if part is not None:
            listener.note(f"this run is a part of its plan: {part.text}")
        ending = execute(Job(run, config, items, stage.launch, rule), stage, listener, switch)
        return conclude(run, config, ending, rule)


def resume(
    run_dir: Path,
    config: RunConfig | None,
    catalog: Catalog,
    listener: Listener,
    stop: StopSwitch | None = None,
    go_on: bool = False,
) -> RunResult:
    """Run what a run directory still lacks: its plan minus its finished episodes.

    Args:
        run_dir: The run.
        config: How to run it; None: as it was begun.
        catalog: What names stand for.
        listener: Told what happens.
        stop: How it is asked to stop.
        go_on: Run the whole plan although the run's comparison is decided.

    Raises:
        ResumeRefusedError: the config plans something else, a policy is no longer the same, or the run is decided.
        VlassessError: as `start`.
    """
    switch = stop or StopSwitch()
    run = RunDirectory.open(run_dir)
    wanted = config or run.manifest.config
    require(wanted.artifacts)
    require_trackers(wanted.tracking)
    with ExitStack() as stack:
        left = stack.enter_context(run.lock())
        if left is not None:
            listener.note(left)
        records, torn = run.records()
        if torn:
            listener.note(f"the last line of episodes.jsonl was torn ({torn} bytes) and is dropped; it runs again")
        finished = {record.item_id for record in records if record.final}
        items = run.items()
        sides = resolve(wanted, catalog, listener.note)
        spec = benchmark_spec(sides, wanted)
        promised = taken(planned(wanted, spec), run.manifest.part)
        refuse_other_plan(run.manifest, items, promised, wanted)
        rule = deciding(run.manifest.config, items, run.manifest.part, spec.ref)
        missing = tuple(item for item in items if item.item_id not in finished)
        listener.planned(run.path, len(items), len(items) - len(missing))
        silent = unasked(run, items) if rule is None else []
        if not missing:
            put_away_left(run, kept(wanted), listener, switch)
            if not silent:
                return conclude(run, wanted, Ending(interrupted=False))
        if rule is not None:
            refuse_other_rule(run.manifest.config, wanted)
            rule.recall(run.path, records, go_on)
        labels = tuple(dict.fromkeys((*(item.policy for item in missing), *silent)))
        stage = stack.enter_context(staged(sides, wanted, labels, run.path / "logs"))
        stack.enter_context(stop_on_signals(switch))
        now = make_manifest(wanted, stage, items).model_copy(update={"part": run.manifest.part})
        refuse_other_experiment(run.manifest, now)
        ending = execute(Job(run, wanted, missing, stage.launch, rule), stage, listener, switch)
        return conclude(run, wanted, ending, rule)


def report(run_dir: Path) -> Path:
    """Write ``report.html`` from the records and return its path."""
    run = RunDirectory.open(run_dir)
    path = run.path / "report.html"
    write_report(path, run.manifest, summarise_run(run), run.records().records, run.items())
    return path


def summarise_run(run: RunDirectory) -> Summary:
    """Compute the summary of a run from its files alone."""
    return summary_of(run.items(), run.records().records, run.manifest, run.path)


def make_manifest(config: RunConfig, stage: Stage, items: Sequence[WorkItem]) -> RunManifest:
    """Return everything that is known of a run before its first episode."""
    now = datetime.datetime.now(datetime.timezone.utc)
    digest = plan_hash(items)
    return RunManifest(
        run_id=f"{config.name}-{now:%Y%m%d-%H%M%S}-{digest[:6]}",
        created=now.isoformat(timespec="seconds"),
        config=config,
        plan_hash=digest,
        items=len(items),
        benchmark_spec=to_json(stage.spec),
        policy_specs={label: to_json(spec) for label, spec in stage.policy_specs.items()},
        policy_identities={label: spec.identity.digest for label, spec in stage.policy_specs.items()},
        policy_fits={label: fit_of(fit) for label, fit in stage.fits.items()},
        worker=worker_interpreter(stage),
        versions=provenance.versions(),
        git=provenance.git_state(Path.cwd()),
        hardware=provenance.hardware(),
    )


def fit_of(fit: Fit) -> PolicyFit:
    """Return what the manifest says of a fit."""
    return PolicyFit(conversions=fit.conversions, unchecked=fit.unchecked)


def worker_interpreter(stage: Stage) -> WorkerInterpreter | None:
    """Return what the manifest says of the workers' interpreter; None where it is the harness's."""
    found = stage.environment
    if found is None:
        return None
    return WorkerInterpreter(
        path=str(found.python), digest=found.digest, python=found.version, packages=dict(found.packages)
    )


def free_path(config: RunConfig, manifest: RunManifest) -> Path:
    """Return a run directory that does not exist yet; two runs of one second differ by a number."""
    path = config.output / manifest.run_id
    number = 2
    while path.exists():
        path = config.output / f"{manifest.run_id}-{number}"
        number += 1
    return path


@dataclass(frozen=True)
class Job:
    """What is executed: some of a run's items."""

    run: RunDirectory
    config: RunConfig
    items: Sequence[WorkItem]
    launch: WorkerLaunch
    rule: Deciding | None = None


def execute(job: Job, stage: Stage, listener: Listener, stop: StopSwitch) -> Ending:
    """Run the items, then ask what is asked without a robot; every record is on disk when it returns."""
    ending = _episodes(job, stage, listener, stop) if job.items else Ending(interrupted=False)
    if not ending.interrupted:
        ask_questions(SaidOnDisk(job.run.path), job.run.items(), stage, job.config, listener, job.run.path / "logs")
    return ending


def _episodes(job: Job, stage: Stage, listener: Listener, stop: StopSwitch) -> Ending:
    before = attempts_by_item(job.run.records().records)
    with recording(job.run, kept(job.config), listener, stop) as artifacts, closing(job.run.log()) as log:
        work = work_of(job.config, job.items, stage, before, artifacts)
        work = work if job.rule is None else job.rule.applied(work)
        fleet = Fleet(job.launch, work.settings, job.run.path / "logs")
        identities = {label: spec.identity.digest for label, spec in stage.policy_specs.items()}
        told = forecasting(Prospect(job.run, job.config, work, identities), listener)
        coordinator = Coordinator(work, fleet, stage.side, log, told, stop)
        if job.rule is None:
            ending = coordinator.run()
        else:
            job.rule.keep(job.run)
            ending = coordinator.run()
            job.rule.keep(job.run)
    return ending


def work_of(
    config: RunConfig, items: Sequence[WorkItem], stage: Stage, before: Mapping[str, int], artifacts: ArtifactSink
) -> Work:
    """Return what the coordinator has to do for items that earlier ones attempted as ``before`` says."""
    settings = FleetSettings(
        workers=config.execution.workers or cores(),
        attempts=config.execution.retries + 1,
        deadlines=config.execution.deadlines.model_dump(),
    )
    expected = {
        group_of(label, task.suite, task.name): task.expected_steps or float(config.step_limit or task.step_limit)
        for task in stage.spec.tasks
        for label in stage.policy_specs
    }
    work = Work(items, settings, before, expected, artifacts)
    return dataclasses.replace(work, realtime=rules_of(config), disturbance=disturbance_of(config))


def conclude(run: RunDirectory, config: RunConfig, ending: Ending, rule: Deciding | None = None) -> RunResult:
    """Write the report and say what the run came to."""
    records = run.records().records
    summary = summary_of(run.items(), records, run.manifest, run.path)
    code, reasons = exit_code(summary, config.gates, ending.interrupted, ending.reason, ending.decided is not None)
    held = rule.waiting() if rule is not None else None
    reasons = reasons if held is None else (*reasons, held)
    first = next((record.error for record in records if record.error is not None), None)
    if code == INCOMPLETE and first is not None:
        reasons = (
            *reasons,
            f"the first error was the {first.origin}'s, in {first.phase}: {first.message}; see {run.path}/logs",
        )
    try:
        write_report(run.path / "report.html", run.manifest, summary, records, run.items())
    except OSError as error:
        reasons = (*reasons, f"report.html was not written: {error}; free space and run `vlassess report {run.path}`")
    if not ending.interrupted:
        reasons = (*reasons, *track(entry_of(summary, config, run.path), config.tracking))
    complete = summary.counts.complete
    decision = read_decision(run.path)
    sentence = None if decision is None else decision.sentence
    return RunResult(run.path, summary, ending.interrupted and not complete, complete, reasons, code, sentence)
