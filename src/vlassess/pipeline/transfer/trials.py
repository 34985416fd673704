"""From a study's runs and the files of its trials by hand to the trials that the analysis reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from vlassess.pipeline.transfer.starts import refuted_starts
from vlassess.pipeline.transfer.states import PartState
from vlassess.pipeline.transfer.store import Study
from vlassess.schema.attempts import Entry, entries
from vlassess.schema.cells import key_of
from vlassess.schema.study import StudyCell
from vlassess.schema.transfer import Trial
from vlassess.transfer import HandRecord, HandTrial, as_planned, control_of, first_of_each, shared_suites
from vlassess_link.specs import BenchmarkSpec


def simulated_trials(study: Study, states: Iterable[PartState]) -> list[Trial]:
    """Return every simulated trial of a study, those that were not run included.

    An episode that serves two ends - a cell that is the control of another, a frozen checkpoint that is K = 0 of the
    curve, a control that is a seen task - is a trial for each. One whose measured initial state refutes its key has
    a start of its own, and says so.
    """
    if study.spec is None:
        return []
    found = [(state, entry) for state in states for entry in _entries(state)]
    refuted = refuted_starts((entry for _, entry in found), study.spec)
    roles = _Roles(study, study.spec)
    return [trial for state, entry in found for trial in roles.of(entry, _trial(entry, refuted), state)]


def trials_by_hand(study: Study) -> list[Trial]:
    """Return every trial by hand, planned or entered; policies go by their codes until these are opened.

    The first result of a trial counts. One that is not of the policy, cell and start that were planned is in no rate.
    """
    plan = study.by_hand
    done = {record.item_id: record for record in first_of_each(study.directory.read()[0])}
    return [found for trial in plan for found in _by_hand(study, trial, done.get(trial.item_id))]


def _entries(state: PartState) -> tuple[Entry, ...]:
    return entries(state.items, [] if state.run is None else state.run.records().records)


class _Roles:
    """What an episode is for.

    Args:
        study: Whose.
        spec: What its benchmark declares.
    """

    def __init__(self, study: Study, spec: BenchmarkSpec) -> None:
        config = study.config
        self._cells = study.design.cells
        self._paired = {axis.name: axis.control == "paired" for axis in spec.axes}
        self._few = config.few_shot
        self._shared = shared_suites(config, study.design.starts, spec)
        self._controls = {control_of(cell): cell for cell in self._cells}

    def of(self, entry: Entry, base: Trial, state: PartState) -> Iterator[Trial]:
        """Yield an episode of a run: once for each end that it serves."""
        if state.part.role == "cells":
            yield from self.frozen(entry, base)
        elif state.part.role == "few-shot":
            yield from self.adapted(entry, base, state)
        else:
            yield from self.seen(entry, base, state)

    def frozen(self, entry: Entry, base: Trial) -> Iterator[Trial]:
        """Yield an episode of the cells: of each cell that it is of, and of each control."""
        episode = entry.item.episode
        key, suite = key_of(episode.perturbation), episode.suite
        for name, cell in self._controls.items():
            if (suite == cell.control and not key) if cell.suite is not None else key == key_of(cell.within):
                yield replace(base, role="control", cell=name)
        for cell in self._cells:
            if not _is_of(cell, key, suite):
                continue
            yield replace(
                base,
                role="cell",
                cell=cell.name,
                axis=cell.axis,
                level=cell.level,
                control=control_of(cell),
                matched=cell.suite is None and self._paired.get(cell.axis, False),
            )
            if self._few is not None and cell.name == self._few.cell and base.policy == self._few.policy:
                yield replace(base, role="few-shot", cell=cell.name)
        if self._is_seen(base.policy, key, suite):
            yield replace(base, role="seen-before", suite=suite)

    def adapted(self, entry: Entry, base: Trial, state: PartState) -> Iterator[Trial]:
        """Yield an episode of an adapted checkpoint: of its target, or of a seen task."""
        assert self._few is not None
        assert state.part.checkpoint is not None
        episode, checkpoint = entry.item.episode, state.part.checkpoint
        told = replace(base, policy=self._few.policy, k=checkpoint.k, method=checkpoint.method)
        target = next(cell for cell in self._cells if cell.name == self._few.cell)
        if _is_of(target, key_of(episode.perturbation), episode.suite):
            yield replace(told, role="few-shot", cell=target.name)
        elif episode.suite in self._shared:
            yield replace(told, role="seen-after", suite=episode.suite)

    def seen(self, entry: Entry, base: Trial, state: PartState) -> Iterator[Trial]:
        """Yield an episode on a seen task, before or after adaptation."""
        assert self._few is not None
        told, suite = replace(base, policy=self._few.policy, suite=entry.item.episode.suite), state.part.checkpoint
        if suite is None:
            yield replace(told, role="seen-before")
        else:
            yield replace(told, role="seen-after", k=suite.k, method=suite.method)

    def _is_seen(self, policy: str, key: tuple[tuple[str, str], ...], suite: str) -> bool:
        return self._few is not None and policy == self._few.policy and not key and suite in self._shared


def _is_of(cell: StudyCell, key: tuple[tuple[str, str], ...], suite: str) -> bool:
    if cell.suite is not None:
        return suite == cell.suite and not key
    return key == key_of({cell.axis: cell.level, **cell.within})


def _trial(entry: Entry, refuted: Mapping[str, str]) -> Trial:
    record, episode = entry.record, entry.item.episode
    ended = "missing" if record is None else record.counts_as
    outcome = None if record is None else record.outcome
    return Trial(
        policy=entry.item.policy,
        role="control",
        start_key=refuted.get(entry.item.item_id, episode.pair_key),
        task=f"{episode.suite}/{episode.task}",
        success=ended == "success" if ended in ("success", "failure") else None,
        progress=None if outcome is None else outcome.progress,
        repeat=episode.repeat,
        seconds=None if record is None else record.seconds.get("total"),
        session="" if record is None else record.host,
        refuted_key=episode.pair_key if entry.item.item_id in refuted else "",
    )


def _by_hand(study: Study, trial: HandTrial, record: HandRecord | None) -> Iterator[Trial]:
    """Yield a trial by hand: of its cell, of a control, or of both where one is the other's scene."""
    label = study.key.label(trial.policy) if study.opened is not None else None
    valid = record if record is not None and as_planned(record, trial) else None
    base = Trial(
        policy=label or trial.policy,
        role="control",
        start_key=trial.start,
        success=None if valid is None else valid.success,
        cell=trial.cell,
        progress=None if valid is None else valid.progress,
        flagged=valid is not None and valid.unfair,
        interventions=None if valid is None else valid.interventions,
        seconds=None if valid is None else valid.seconds,
    )
    cell = study.design.cell(trial.cell)
    if trial.cell in map(control_of, study.design.cells):
        yield base
    if cell is not None:
        control = control_of(cell)
        yield replace(base, role="cell", axis=cell.axis, level=cell.level, control=control, matched=cell.suite is None)
