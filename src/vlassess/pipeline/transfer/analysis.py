"""From a locked study's files to its numbers and to what has to be known beside them; every number from files alone."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlassess.pipeline.transfer.audits import VIOLATED, audits_of
from vlassess.pipeline.transfer.by_hand import deviations_of
from vlassess.pipeline.transfer.planning import priced
from vlassess.pipeline.transfer.states import PartState, Progress, progress_of, states_of
from vlassess.pipeline.transfer.store import Done, Study
from vlassess.pipeline.transfer.trials import simulated_trials, trials_by_hand
from vlassess.records.lines import write_atomically
from vlassess.report.text import duration
from vlassess.report.transfer_page import write_transfer
from vlassess.schema.study import StudyConfig
from vlassess.schema.study_account import (
    CellFacts,
    Departure,
    RunFacts,
    StudyAccount,
    StudyChange,
    StudyCheck,
)
from vlassess.schema.transfer import AuditLine, Rules, StudyFacts, TransferAnalysis, Trial
from vlassess.transfer import control_of
from vlassess.transfer.analysis import analyse_study
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import to_json

ANALYSIS, REPORT = "analysis.json", "report.html"
ANALYSIS_SCHEMA = 2
DELTA = 0.10
"""Difference that a ranking is to tell apart where the study makes no claim: ten points."""


@dataclass(frozen=True)
class Analysed:
    """A study's numbers.

    Attributes:
        facts: What was planned, changed, run and audited.
        analysis: What the trials say.
        progress: How far it is.
    """

    facts: StudyAccount
    analysis: TransferAnalysis
    progress: Progress

    @property
    def complete(self) -> bool:
        """Whether every planned trial, simulated or by hand, has a result."""
        return self.progress.complete

    def to_json(self) -> dict[str, object]:
        """Return everything as JSON types."""
        return {
            "schema": ANALYSIS_SCHEMA,
            "facts": to_json(self.facts),
            "analysis": to_json(self.analysis),
        }


def analyse(study: Study) -> Analysed:
    """Return a study's numbers, and keep them as ``analysis.json`` in its folder.

    Cells whose audit is violated are in no finding; they are named in the facts.

    Raises:
        ContractError: nothing has been run yet.
    """
    states = states_of(study)
    audits = audits_of(study, states)
    simulated = _valid(simulated_trials(study, states), audits)
    real = trials_by_hand(study)
    if not any(trial.success is not None for trial in (*simulated, *real)):
        raise ContractError(
            f"{study.path} has no result yet; `vlassess transfer status {study.path}` says what is next"
        )
    progress = progress_of(study, states)
    facts = _facts(study, states, audits, progress.by_hand)
    found = Analysed(facts, _analysed(simulated, real, rules_of(study.config)), progress)
    text = json.dumps(found.to_json(), indent=1, allow_nan=False)
    write_atomically(study.path / ANALYSIS, text.encode() + b"\n")
    return found


def checks_told(study: Study) -> tuple[StudyCheck, ...]:
    """Return how the protocol's rules are kept, and what the lock of a study of schema 1 leaves open."""
    found = tuple(StudyCheck(one.rule, one.verdict, one.sentence) for one in study.checks)
    if study.whole_trials_locked or not study.by_hand:
        return found
    sentence = (
        "the study was locked by an earlier version of vlassess, whose lock holds the numbers of the trials by hand "
        "alone: another policy, cell or start under a number would not be found out"
    )
    return (*found, StudyCheck("trials by hand as they were locked", "cannot be audited", sentence))


def rules_of(config: StudyConfig) -> Rules:
    """Return how a study is judged, as its plan fixed it."""
    claim, wanted = config.claim, config.retention
    return Rules(
        alpha=config.alpha,
        test=config.test,
        margin=Rules.margin if wanted is None else wanted.margin,
        delta=DELTA if claim is None else claim.delta,
        power=Rules.power if claim is None else claim.power,
        seed=config.seed,
    )


def _analysed(simulated: Sequence[Trial], real: Sequence[Trial], rules: Rules) -> TransferAnalysis:
    done = any(trial.success is not None for trial in real)
    if simulated:
        return analyse_study(simulated, rules, real if done else ())
    return analyse_study(real, rules, source="robot")


def _valid(trials: Sequence[Trial], audits: Sequence[AuditLine]) -> list[Trial]:
    """Return the trials without those of cells in which something else than the factor, or nothing, was delivered."""
    invalid = {(line.policy, line.cell) for line in audits if line.verdict == VIOLATED}
    return [
        trial
        for trial in trials
        if trial.role not in ("cell", "few-shot") or (_run_label(trial), trial.cell) not in invalid
    ]


def _run_label(trial: Trial) -> str:
    return trial.policy if trial.method is None else f"{trial.method}-{trial.k}"


def _facts(study: Study, states: Sequence[PartState], audits: tuple[AuditLine, ...], by_hand: Done) -> StudyAccount:
    manifest, config = study.directory.manifest, study.config
    records = study.directory.read()[0]
    items = {state.part.name: state.items for state in states}
    told = deviations_of(study, records) if records else ()
    return StudyAccount(
        name=config.name,
        study_id=manifest.study_id,
        locked=manifest.created,
        lock=study.lock,
        benchmark=None if study.spec is None else study.spec.ref,
        tasks=_tasks(states),
        starts=study.design.starts,
        seed=config.seed,
        policies=tuple((label, _identity(label, states)) for label in config.policies),
        cells=tuple(CellFacts(cell.name, cell.axis, cell.level, control_of(cell)) for cell in study.design.cells),
        checks=checks_told(study),
        claims=priced(study.design, items).sentences,
        changes=tuple(
            StudyChange(one.number, one.time, one.reason, one.changes, one.finished) for one in study.amendments
        ),
        runs=tuple(
            RunFacts(
                state.part.name,
                state.part.role,
                len(state.items),
                state.finished,
                "" if state.run is None else state.run.path.name,
            )
            for state in states
        ),
        audits=audits,
        departures=tuple(Departure(one.kind, one.trials, one.sentence) for one in told),
        by_hand=by_hand.planned,
        by_hand_done=by_hand.done,
        opened=study.opened,
        seconds=sum(map(_seconds, states)),
    )


def _tasks(states: Sequence[PartState]) -> tuple[str, ...]:
    episodes = (item.episode for state in states if state.part.role == "cells" for item in state.items)
    return tuple(dict.fromkeys(f"{episode.suite}/{episode.task}" for episode in episodes))


def _identity(label: str, states: Sequence[PartState]) -> str:
    """Return name and revision of a policy as it was reached; empty where it never was."""
    for state in states:
        told = {} if state.run is None else state.run.manifest.policy_specs.get(label, {})
        identity = told.get("identity")
        if isinstance(identity, dict):
            return f"{identity.get('name', '')} {identity.get('revision', '')}".strip()
    return ""


def _seconds(state: PartState) -> float:
    records = () if state.run is None else state.run.records().records
    return sum(record.seconds.get("total", 0.0) for record in records)


def write_study_report(study: Study) -> Path:
    """Compute a study's numbers, write its report, and return the report's path."""
    found = analyse(study)
    path = study.path / REPORT
    told = dataclasses.replace(found.analysis, notes=(*found.analysis.notes, *_beside(found.facts)))
    write_transfer(path, told, page_facts(found.facts))
    return path


def page_facts(account: StudyAccount) -> StudyFacts:
    """Return what the report's page says of a study beside its figures."""
    return StudyFacts(
        name=account.name,
        benchmark=account.benchmark,
        starts=account.starts,
        lock=account.lock,
        locked_at=account.locked,
        amendments=tuple(
            f"{change.time}, after {change.finished} trials: {', '.join(change.changes)}. Reason: {change.reason}"
            for change in account.changes
        ),
        blind=account.by_hand_done > 0 and account.opened is None,
        facts=tuple(_told(account)),
        audits=account.audits,
    )


def _told(account: StudyAccount) -> Iterator[tuple[str, str]]:
    yield "policies", "; ".join(f"{label}: {told}" if told else label for label, told in account.policies)
    if account.tasks:
        yield "tasks", f"{', '.join(account.tasks)}; base seed {account.seed}"
    planned = sum(run.planned for run in account.runs)
    if planned:
        done = sum(run.finished for run in account.runs)
        spent = duration(account.seconds)
        yield "simulated episodes", f"{done} of {planned} have a result, controls for the audit included ({spent})"
    if account.by_hand:
        yield "trials by hand", f"{account.by_hand_done} of {account.by_hand} have a result"
    kept = [check.rule for check in account.checks if check.verdict == "ok"]
    if kept:
        yield "checked before the first trial", ", ".join(dict.fromkeys(kept))


def _beside(account: StudyAccount) -> Iterator[str]:
    """Yield what a reader of the page has to know beside the numbers, a sentence each."""
    yield from (f"Said before the first trial: {claim}" for claim in account.claims)
    for check in account.checks:
        if check.verdict != "ok":
            yield f"{check.rule}: {check.verdict}: {check.sentence}."
    for departure in account.departures:
        yield f"The trials by hand depart from the plan: {departure.sentence}."
