"""Runs what a locked study still lacks: an ordinary run for each part, begun or resumed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.execution import StopSwitch
from vlassess.exit_codes import COMPLETE, INCOMPLETE, INTERRUPTED, INVALID
from vlassess.pipeline.planning import planned
from vlassess.pipeline.runs import RunResult, resume, start
from vlassess.pipeline.sameness import changes, conduct
from vlassess.pipeline.transfer_planning import absent_checkpoints
from vlassess.pipeline.transfer_store import RUNS, Study
from vlassess.plan import plan_hash
from vlassess.records import RunDirectory, RunDirectoryError, StorageFullError
from vlassess.schema.attempts import entries
from vlassess.schema.config import BenchmarkSource, PolicySource, RunConfig
from vlassess.schema.events import Listener
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest, RunSource
from vlassess.transfer import Part
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import VlassessError


@dataclass(frozen=True)
class PartState:
    """How far one run of a study is.

    Attributes:
        part: Which.
        config: What it runs, its output in the study's folder.
        items: Its plan.
        run: Its directory; None: it has not begun.
        finished: Episodes with a result.
        errors: Episodes whose last attempt ended in an error that is not the policy's.
        absent: Checkpoints that it needs and that are not there.
    """

    part: Part
    config: RunConfig
    items: tuple[WorkItem, ...]
    run: RunDirectory | None
    finished: int
    errors: int
    absent: tuple[Path, ...]

    @property
    def complete(self) -> bool:
        """Whether every episode has a result."""
        return self.finished == len(self.items)


@dataclass(frozen=True)
class Ran:
    """What running a study came to.

    Attributes:
        results: Part's name -> its run, of those that were run now.
        problems: Why parts could not be run, one sentence each.
        interrupted: It was asked to stop.
        exit_code: 0 complete, 3 something is left, 5 a cell is invalid, 130 interrupted.
    """

    results: Mapping[str, RunResult]
    problems: tuple[str, ...]
    interrupted: bool
    exit_code: int


def states_of(study: Study) -> tuple[PartState, ...]:
    """Return how far each run of a study is, from its files alone."""
    known = list(_runs(study.path / RUNS))
    return tuple(_state(study, part, known) for part in study.design.parts)


def run_study(
    study: Study,
    catalog: Catalog,
    listener: Listener,
    stop: StopSwitch | None = None,
    only: tuple[str, ...] = (),
    workers: int | None = None,
) -> Ran:
    """Run every part that is not complete; a part that cannot be run does not keep the others from it.

    Args:
        study: Which.
        catalog: What names stand for.
        listener: Told what happens, one run after the other.
        stop: How it is asked to stop.
        only: Names of parts; empty: all.
        workers: Worker processes; None: as the study says.

    Raises:
        StorageFullError: the disk is full; what was recorded before is safe.
    """
    results: dict[str, RunResult] = {}
    problems: list[str] = []
    interrupted = False
    with study.directory.lock() as left:
        if left is not None:
            listener.note(left)
        for state in _chosen(states_of(study), only):
            if state.complete or interrupted:
                continue
            if state.absent:
                problems.append(f"{state.part.name}: there is no file {state.absent[0]}; train it, then run again")
                continue
            listener.note(f"{state.part.name}: {len(state.items) - state.finished} episodes to run")
            if workers is not None:
                state = _with_workers(state, workers)
            try:
                result = _begun_or_resumed(study, state, catalog, listener, stop)
            except StorageFullError:
                raise
            except VlassessError as error:
                problems.append(f"{state.part.name}: {error}")
                continue
            results[state.part.name] = result
            problems += [f"{state.part.name}: {reason}" for reason in result.reasons]
            interrupted = result.interrupted
        complete = all(state.complete for state in states_of(study))
    invalid = any(result.exit_code == INVALID for result in results.values())
    code = INTERRUPTED if interrupted else INVALID if invalid else COMPLETE if complete else INCOMPLETE
    return Ran(results, tuple(problems), interrupted, code)


def _chosen(states: tuple[PartState, ...], only: tuple[str, ...]) -> tuple[PartState, ...]:
    strange = [name for name in only if name not in {state.part.name for state in states}]
    if strange:
        names = ", ".join(state.part.name for state in states)
        raise RunDirectoryError(f"the study has no run {strange[0]!r}; it has {names}")
    return tuple(state for state in states if not only or state.part.name in only)


def _with_workers(state: PartState, workers: int) -> PartState:
    execution = state.config.execution.model_copy(update={"workers": workers})
    return dataclasses.replace(state, config=state.config.model_copy(update={"execution": execution}))


def _begun_or_resumed(
    study: Study, state: PartState, catalog: Catalog, listener: Listener, stop: StopSwitch | None
) -> RunResult:
    if state.run is not None:
        return resume(state.run.path, state.config, catalog, listener, stop)
    carried = _carried(study, state)
    if carried is not None:
        listener.note(
            f"{state.part.name}: goes on from {carried.manifest.sources[0].run_id}, which the study ran before"
        )
        return resume(carried.path, state.config, catalog, listener, stop)
    return start(state.config, catalog, listener, stop)


def _state(study: Study, part: Part, known: list[RunDirectory]) -> PartState:
    assert study.spec is not None
    config = part.config.model_copy(update={"output": study.path.resolve() / RUNS})
    items = planned(config, study.spec)
    run = _run_of(part, plan_hash(items), config, known)
    few = study.config.few_shot
    absent = absent_checkpoints(part, None if few is None else few.folder)
    if run is None:
        return PartState(part, config, items, None, 0, 0, absent)
    counted = [entry.record for entry in entries(items, run.records().records) if entry.record is not None]
    finished = sum(record.final for record in counted)
    broken = sum(record.error is not None and not record.final for record in counted)
    return PartState(part, config, items, run, finished, broken, absent)


def _runs(folder: Path) -> Iterator[RunDirectory]:
    """Yield every run in a folder, oldest first; hidden folders, and those without a manifest, were never finished."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.name.startswith(".") and (path / RunDirectory.FILE).is_file():
            yield RunDirectory.open(path)


def _run_of(part: Part, digest: str, config: RunConfig, known: list[RunDirectory]) -> RunDirectory | None:
    same = [
        run
        for run in known
        if run.manifest.config.name == part.name
        and run.manifest.plan_hash == digest
        and _alike(run.manifest.config, config)
    ]
    return same[-1] if same else None


def _carried(study: Study, state: PartState) -> RunDirectory | None:
    """Return a run that begins with what an earlier plan of this part has finished; None where there is nothing.

    An amendment that adds starts or cells changes the plan, not the episodes that are in both: their results are
    copied, and where they are from is in the new run's manifest.
    """
    wanted = {item.item_id for item in state.items}
    for old in reversed(list(_runs(study.path / RUNS))):
        if old.manifest.config.name != state.part.name or not _alike(old.manifest.config, state.config):
            continue
        records = [record for record in old.records().records if record.item_id in wanted]
        if any(record.final for record in records):
            return _copied(old, records, state)
    return None


def _alike(old: RunConfig, new: RunConfig) -> bool:
    """Return whether what both run is run alike: the same benchmark, and the same policy under each label of both.

    A policy that answers at a url may have moved; whether it is the same is asked of it before it goes on.
    """
    if any(changes(conduct(old), conduct(new))) or _source(old.benchmark) != _source(new.benchmark):
        return False
    shared = [(old.policies[label], new.policies[label]) for label in new.policies if label in old.policies]
    return all(one.url or other.url or _source(one) == _source(other) for one, other in shared)


def _source(side: BenchmarkSource | PolicySource) -> tuple[str | None, ...]:
    return tuple(getattr(side, name, None) for name in ("name", "target", "interpreter", "serve", "local"))


def _copied(old: RunDirectory, records: list[EpisodeRecord], state: PartState) -> RunDirectory:
    digest = plan_hash(state.items)
    source = RunSource(
        run_id=old.manifest.run_id, path=str(old.path), created=old.manifest.created, records=len(records)
    )
    manifest: RunManifest = old.manifest.model_copy(
        update={
            "run_id": f"{old.path.name}-{digest[:6]}",
            "config": state.config,
            "plan_hash": digest,
            "items": len(state.items),
            "sources": (source,),
        }
    )
    final = state.config.output / manifest.run_id
    unfinished = state.config.output / f".carrying-{manifest.run_id}"
    with suppress(FileNotFoundError):
        for file in sorted(unfinished.iterdir()):
            file.unlink()
        unfinished.rmdir()
    run = RunDirectory.create(unfinished, manifest, state.items)
    log = run.log()
    try:
        log.append(records)
    finally:
        log.close()
    return RunDirectory.open(run.path.rename(final))
