"""What a reader of a study has to know beside its numbers: what was planned, changed, run, audited, departed from.

Beside `StudyConfig`, which says what was asked, and `TransferAnalysis`, which says what came of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from vlassess.schema.transfer import AuditLine


@dataclass(frozen=True)
class StudyCheck:
    """One rule of the protocol: "ok", "refused", "cannot be audited" or "note", and why."""

    rule: str
    verdict: str
    sentence: str


@dataclass(frozen=True)
class StudyChange:
    """One amendment: what was changed (``PATH=VALUE``), why, when (UTC), after how many trials with a result."""

    number: int
    time: str
    reason: str
    changes: tuple[str, ...]
    finished: int


@dataclass(frozen=True)
class Departure:
    """One way in which the trials by hand are not what was locked: kind, numbers of the trials, sentence."""

    kind: str
    trials: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class RunFacts:
    """One run of the study: name, what for, planned episodes, those with a result, its folder (empty: not begun)."""

    name: str
    role: str
    planned: int
    finished: int
    folder: str


@dataclass(frozen=True)
class CellFacts:
    """One cell: its name, the axis that it varies, the level, and the name of its control."""

    name: str
    axis: str
    level: str
    control: str


@dataclass(frozen=True)
class StudyAccount:
    """Everything about a study but its numbers.

    Attributes:
        name: As the study calls itself.
        study_id: Name of its folder.
        locked: When it was locked: UTC, ISO 8601.
        lock: Digest of plan and amendments.
        benchmark: ``id@version``; None for a study by hand.
        tasks: Tasks that the starts are spread over, ``suite/task``.
        starts: Matched initial states of a cell.
        seed: Base seed of the starts.
        policies: Label -> name and revision of what was run, empty where it was never reached.
        cells: Every cell.
        checks: How the protocol's rules are kept.
        claims: What could be claimed at this budget, said before the first trial.
        changes: Amendments.
        runs: The simulated runs.
        audits: What the audits said.
        departures: How the trials by hand depart from the plan.
        by_hand: Trials by hand that are planned.
        by_hand_done: Those with a result.
        opened: When the blind codes were opened; None: they are still blind, or there are none.
        seconds: Wall time of the simulated trials, one after the other.
    """

    name: str
    study_id: str
    locked: str
    lock: str
    benchmark: str | None
    tasks: tuple[str, ...]
    starts: int
    seed: int
    policies: tuple[tuple[str, str], ...]
    cells: tuple[CellFacts, ...]
    checks: tuple[StudyCheck, ...]
    claims: tuple[str, ...]
    changes: tuple[StudyChange, ...]
    runs: tuple[RunFacts, ...]
    audits: tuple[AuditLine, ...]
    departures: tuple[Departure, ...]
    by_hand: int
    by_hand_done: int
    opened: str | None
    seconds: float
