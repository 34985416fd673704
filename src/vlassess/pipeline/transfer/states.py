"""How far each run of a locked study is, and the whole of it, from its files alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlassess.pipeline.planning import planned
from vlassess.pipeline.sameness import changes, conduct
from vlassess.pipeline.transfer.planning import absent_checkpoints
from vlassess.pipeline.transfer.store import RUNS, Done, Study
from vlassess.plan import plan_hash
from vlassess.records import RunDirectory
from vlassess.schema.attempts import entries
from vlassess.schema.config import BenchmarkSource, PolicySource, RunConfig
from vlassess.schema.items import WorkItem
from vlassess.transfer import Part


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
class Progress:
    """How far a study is: what `done` means wherever it is counted.

    Attributes:
        simulated: Episodes with a final result, over the runs of the study as it is planned now.
        by_hand: Trials by hand that are planned now and have a result; a repetition counts once, a number that
            nobody planned not at all.
    """

    simulated: Done
    by_hand: Done

    @property
    def finished(self) -> int:
        """Trials of both kinds that have a result."""
        return self.simulated.done + self.by_hand.done

    @property
    def complete(self) -> bool:
        """Whether every planned trial has a result."""
        return self.simulated.complete and self.by_hand.complete


def states_of(study: Study) -> tuple[PartState, ...]:
    """Return how far each run of a study is, from its files alone."""
    known = list(runs_in(study.path / RUNS))
    return tuple(_state(study, part, known) for part in study.design.parts)


def progress_of(study: Study, states: Sequence[PartState]) -> Progress:
    """Return how far a study is.

    Args:
        study: Which.
        states: Its runs, see `states_of`.
    """
    simulated = Done(sum(state.finished for state in states), sum(len(state.items) for state in states))
    return Progress(simulated, study.done_by_hand())


def runs_in(folder: Path) -> Iterator[RunDirectory]:
    """Yield every run in a folder, oldest first; hidden folders, and those without a manifest, were never finished."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.name.startswith(".") and (path / RunDirectory.FILE).is_file():
            yield RunDirectory.open(path)


def alike(old: RunConfig, new: RunConfig) -> bool:
    """Return whether what both run is run alike: the same benchmark, and the same policy under each label of both.

    A policy that answers at a url may have moved; whether it is the same is asked of it before it goes on.
    """
    if any(changes(conduct(old), conduct(new))) or _source(old.benchmark) != _source(new.benchmark):
        return False
    shared = [(old.policies[label], new.policies[label]) for label in new.policies if label in old.policies]
    return all(one.url or other.url or _source(one) == _source(other) for one, other in shared)


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


def _run_of(part: Part, digest: str, config: RunConfig, known: list[RunDirectory]) -> RunDirectory | None:
    same = [
        run
        for run in known
        if run.manifest.config.name == part.name
        and run.manifest.plan_hash == digest
        and alike(run.manifest.config, config)
    ]
    return same[-1] if same else None


def _source(side: BenchmarkSource | PolicySource) -> tuple[str | None, ...]:
    return tuple(getattr(side, name, None) for name in ("name", "target", "interpreter", "serve", "local"))
