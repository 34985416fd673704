"""Runs what a locked study still lacks: an ordinary run for each part, begun or resumed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from vlassess.catalog import Catalog
from vlassess.execution import StopSwitch
from vlassess.exit_codes import COMPLETE, INCOMPLETE, INTERRUPTED, INVALID
from vlassess.pipeline.runs import RunResult, resume, start
from vlassess.pipeline.transfer.audits import VIOLATED, audits_of
from vlassess.pipeline.transfer.states import PartState, alike, runs_in, states_of
from vlassess.pipeline.transfer.store import RUNS, Study, open_study
from vlassess.plan import plan_hash
from vlassess.records import RunDirectory, RunDirectoryError, StorageFullError
from vlassess.schema.events import Listener
from vlassess.schema.manifest import RunManifest, RunSource
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import VlassessError


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
        study = open_study(study.path)  # it may have been amended until now
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
        states = states_of(study)
    unsound = _invalid_before(study, _chosen(states, only), results)
    problems += unsound
    invalid = bool(unsound) or any(result.exit_code == INVALID for result in results.values())
    complete = all(state.complete for state in states)
    code = INTERRUPTED if interrupted else INVALID if invalid else COMPLETE if complete else INCOMPLETE
    return Ran(results, tuple(problems), interrupted, code)


def _invalid_before(study: Study, states: Iterable[PartState], now: Mapping[str, RunResult]) -> list[str]:
    """Return a sentence about each invalid cell of the runs that were not run now: they said it when they were."""
    return [
        f"{state.part.name}: {line.cell} with {line.policy} is invalid: {line.sentence}"
        for state in states
        if state.part.name not in now
        for line in audits_of(study, (state,))
        if line.verdict == VIOLATED
    ]


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


def _carried(study: Study, state: PartState) -> RunDirectory | None:
    """Return a run that begins with what an earlier plan of this part has finished; None where there is nothing.

    An amendment that adds starts or cells changes the plan, not the episodes that are in both: their results are
    copied, and where they are from is in the new run's manifest.
    """
    wanted = {item.item_id for item in state.items}
    for old in reversed(list(runs_in(study.path / RUNS))):
        if old.manifest.config.name != state.part.name or not alike(old.manifest.config, state.config):
            continue
        records = [record for record in old.records().records if record.item_id in wanted]
        if any(record.final for record in records):
            return _copied(old, records, state)
    return None


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
