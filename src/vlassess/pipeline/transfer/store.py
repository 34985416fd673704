"""A locked study on disk: ``study.json``, its amendments and events, the key to the blind codes, and its trials."""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from vlassess import provenance
from vlassess.pipeline.transfer.planning import StudyError, StudyPlan
from vlassess.records import Directory, RecordLog, RunDirectoryError
from vlassess.records.lines import read_lines, strict_line, write_atomically
from vlassess.schema.study import StudyConfig
from vlassess.transfer import (
    STUDY_SCHEMA,
    Amendment,
    CheckFacts,
    Design,
    Event,
    HandRecord,
    HandTrial,
    Key,
    PartFacts,
    StudyManifest,
    broken_link,
    design_of,
    make_key,
    plan_by_hand,
    plan_digest,
    sealed,
)
from vlassess.transfer.locked import EventKind
from vlassess_link.digest import content_hash
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.specs import BenchmarkSpec

M = TypeVar("M", bound=BaseModel)
AMENDMENTS, EVENTS, KEY, RUNS = "amendments.jsonl", "events.jsonl", "key.json", "runs"
TRIAL_SCHEMA = 1
"""Version of the lines of ``plan.jsonl``, ``plan-N.jsonl`` and ``trials.jsonl``."""


class StudyDirectory(Directory[StudyManifest, HandTrial, HandRecord]):
    """One locked study on disk; its plan and its records are those of the trials by hand."""

    MANIFEST = StudyManifest
    ITEM = HandTrial
    RECORD = HandRecord
    FILE = "study.json"
    LOG = "trials.jsonl"
    VERSIONS = (STUDY_SCHEMA, TRIAL_SCHEMA, TRIAL_SCHEMA)
    WHAT = ("study", "vlassess transfer lock")
    RESUME = "vlassess transfer import {path} FILE"


@dataclass(frozen=True)
class Done:
    """How many of the planned trials have a result."""

    done: int
    planned: int

    @property
    def complete(self) -> bool:
        """Whether all have."""
        return self.done == self.planned


@dataclass(frozen=True)
class Study:
    """A locked study as it stands: the plan with its amendments.

    Attributes:
        directory: Where it is.
        amendments: Every change, in order.
        events: What else happened.
        key: Codes of the policies.
        design: Cells and runs, of the last amendment.
        spec: What the benchmark declares; None for a study by hand.
        by_hand: Trials by hand as they are planned now, in the order in which they are to be done.
    """

    directory: StudyDirectory
    amendments: tuple[Amendment, ...]
    events: tuple[Event, ...]
    key: Key
    design: Design
    spec: BenchmarkSpec | None
    by_hand: tuple[HandTrial, ...]

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.directory.path

    @property
    def config(self) -> StudyConfig:
        """What was asked for last."""
        return self.design.config

    @property
    def parts(self) -> tuple[PartFacts, ...]:
        """Its runs, as they were planned last."""
        return self.amendments[-1].parts if self.amendments else self.directory.manifest.parts

    @property
    def checks(self) -> tuple[CheckFacts, ...]:
        """How the protocol's rules are kept by what was planned last."""
        return self.amendments[-1].checks if self.amendments else self.directory.manifest.checks

    @property
    def lock(self) -> str:
        """Digest of the plan and all its amendments."""
        return self.amendments[-1].lock if self.amendments else self.directory.manifest.lock

    @property
    def opened(self) -> str | None:
        """When the codes were opened; None: they are still blind."""
        return next((event.time for event in self.events if event.kind == "unblind"), None)

    @property
    def whole_trials_locked(self) -> bool:
        """Whether the lock holds code, cell and start of every trial by hand, not its number alone."""
        locked = [self.directory.manifest.plan_digest, *(amendment.plan_digest for amendment in self.amendments)]
        return None not in locked

    def done_by_hand(self) -> Done:
        """Return how many of the trials by hand that are planned now have a result."""
        entered = {record.item_id for record in self.directory.read()[0]}
        return Done(sum(trial.item_id in entered for trial in self.by_hand), len(self.by_hand))


def lock_study(plan: StudyPlan) -> Study:
    """Fix a plan in a new folder and return the study; nothing of it can be changed afterwards without a trace.

    Raises:
        StudyError: a rule of the protocol is broken.
    """
    if plan.refused:
        raise StudyError(
            f"study {plan.design.config.name!r} cannot be locked",
            [f"{check.rule}: {check.sentence}" for check in plan.refused],
        )
    config = plan.design.config
    key = make_key(config.policies, secrets.token_hex(16))
    trials = plan_by_hand(plan.design, key)
    manifest = _manifest_of(plan, key, trials)
    unfinished = config.output / f".locking-{manifest.study_id}-{key.digest[:6]}"
    StudyDirectory.create(unfinished, manifest, trials)
    told = {"secret": key.secret, "codes": dict(key.codes)}
    write_atomically(unfinished / KEY, json.dumps(told, indent=2).encode() + b"\n")
    (unfinished / KEY).chmod(0o600)
    return open_study(unfinished.rename(_free(config.output, manifest.study_id)))


def open_study(path: Path) -> Study:
    """Return a locked study.

    Raises:
        RunDirectoryError: the folder holds none, or its files are not what was locked; says what to restore.
    """
    directory = StudyDirectory.open(path)
    amendments = _read_lines(path / AMENDMENTS, Amendment)
    why = broken_link(directory.manifest, amendments)
    if why is not None:
        raise RunDirectoryError(
            f"{path}: {why}; restore it: what is to be changed is changed by `vlassess transfer amend`"
        )
    told = directory.manifest.benchmark_spec
    spec = None if told is None else from_json(BenchmarkSpec, told)
    config = amendments[-1].config if amendments else directory.manifest.config
    key = _read_key(path / KEY, directory.manifest, config)
    design = design_of(config, spec, [])
    trials = _locked_trials(directory, amendments, spec, key)
    return Study(directory, amendments, _read_lines(path / EVENTS, Event), key, design, spec, trials)


def append_amendment(study: Study, plan: StudyPlan, changes: Sequence[str], reason: str, finished: int) -> Study:
    """Write an amendment down and return the study as it stands then; the caller holds the study's lock.

    Args:
        study: What is changed.
        plan: Its new plan.
        changes: What was changed, for people.
        reason: Why.
        finished: Trials that have a result.
    """
    key = make_key(plan.design.config.policies, study.key.secret, study.key)
    trials = plan_by_hand(plan.design, key, study.by_hand)
    made = Amendment(
        number=len(study.amendments) + 1,
        time=now(),
        reason=reason,
        changes=tuple(changes),
        finished=finished,
        config=plan.design.config,
        starts=plan.design.starts,
        parts=plan.parts,
        plan_hash=_hand_hash(trials),
        by_hand=len(trials),
        plan_digest=plan_digest(trials),
        checks=facts_of(plan),
        before=study.lock,
    )
    # The trials first: an amendment whose trials are not there yet would be refused.
    write_atomically(_plan_file(study.path, made.number), b"".join(strict_line(to_json(trial)) for trial in trials))
    _append(study.path / AMENDMENTS, sealed(made))
    return open_study(study.path)


def tell(study: Study, kind: EventKind, text: str) -> Study:
    """Write down that something happened and return the study with it."""
    _append(study.path / EVENTS, Event(kind=kind, time=now(), text=text))
    return open_study(study.path)


def now() -> str:
    """Return the time: UTC, ISO 8601."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


def facts_of(plan: StudyPlan) -> tuple[CheckFacts, ...]:
    """Return a plan's checks, for files."""
    return tuple(CheckFacts(rule=one.rule, verdict=one.verdict, sentence=one.sentence) for one in plan.checks)


def _manifest_of(plan: StudyPlan, key: Key, trials: Sequence[HandTrial]) -> StudyManifest:
    config = plan.design.config
    created = datetime.datetime.now(datetime.timezone.utc)
    content = content_hash([config.model_dump(mode="json"), [part.plan_hash for part in plan.parts], key.digest])
    stem = f"{config.name}-{created:%Y%m%d-%H%M%S}-{content[:6]}"
    made = StudyManifest(
        study_id=stem,
        created=created.isoformat(timespec="seconds"),
        config=config,
        starts=plan.design.starts,
        parts=plan.parts,
        plan_hash=_hand_hash(trials),
        by_hand=len(trials),
        plan_digest=plan_digest(trials),
        key_digest=key.digest,
        benchmark_spec=None if plan.spec is None else to_json(plan.spec),
        checks=facts_of(plan),
        versions=provenance.versions(),
        git=provenance.git_state(Path.cwd()),
    )
    return sealed(made)


def _free(output: Path, name: str) -> Path:
    """Return a folder that does not exist yet; two studies of one second differ by a number."""
    path, number = output / name, 2
    while path.exists():
        path, number = output / f"{name}-{number}", number + 1
    return path


def _hand_hash(trials: Sequence[HandTrial]) -> str:
    return content_hash([trial.item_id for trial in trials])


def _plan_file(path: Path, number: int) -> Path:
    return path / f"plan-{number}.jsonl"


def _locked_trials(
    directory: StudyDirectory, amendments: Sequence[Amendment], spec: BenchmarkSpec | None, key: Key
) -> tuple[HandTrial, ...]:
    """Return the trials by hand as they are planned now; those of every amendment are compared with its lock."""
    trials = directory.items()
    _check_trials(directory.path / "plan.jsonl", trials, directory.manifest)
    for amendment in amendments:
        if amendment.plan_digest is None:
            trials = _planned_again(amendment, directory.manifest, (spec, key), trials)
        else:
            file = _plan_file(directory.path, amendment.number)
            trials = _read_trials(file)
            _check_trials(file, trials, amendment)
    return trials


def _read_trials(file: Path) -> tuple[HandTrial, ...]:
    found = []
    for number, line in enumerate(read_lines(file).values, 1):
        try:
            found.append(from_json(HandTrial, line))
        except ContractError as error:
            raise RunDirectoryError(f"{file}, line {number}: {error}; restore the file") from error
    return tuple(found)


def _check_trials(file: Path, trials: Sequence[HandTrial], link: StudyManifest | Amendment) -> None:
    """Refuse trials by hand that are not those that were locked; of schema 1, whose lock has no digest, nothing is."""
    if link.plan_digest is not None and plan_digest(trials) != link.plan_digest:
        raise RunDirectoryError(
            f"{file} is not what was locked; restore it: what is to be changed is changed by `vlassess transfer amend`"
        )


def _planned_again(
    amendment: Amendment,
    manifest: StudyManifest,
    known: tuple[BenchmarkSpec | None, Key],
    before: Sequence[HandTrial],
) -> tuple[HandTrial, ...]:
    """Return the trials of an amendment of schema 1, which kept none: they are planned once more."""
    spec, key = known
    key = make_key(amendment.config.policies, key.secret, key)
    trials = plan_by_hand(design_of(amendment.config, spec, []), key, before)
    if _hand_hash(trials) != amendment.plan_hash:
        version = manifest.versions.get("vlassess", "that locked the study")
        raise RunDirectoryError(
            f"amendment {amendment.number} was written by an earlier version of vlassess, which kept no trials by "
            f"hand, and this one plans others; open the study with vlassess {version}"
        )
    return trials


def _read_key(file: Path, manifest: StudyManifest, config: StudyConfig) -> Key:
    """Return the key; policies that an amendment added follow from its secret."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        key = Key(str(told["secret"]), {str(label): str(code) for label, code in told["codes"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunDirectoryError(f"{file} does not hold the key to the blind codes ({error}); restore it") from error
    if key.digest != manifest.key_digest:
        raise RunDirectoryError(f"{file} is not the key that was locked; restore it")
    return make_key(config.policies, key.secret, key)


def _read_lines(file: Path, model: type[M]) -> tuple[M, ...]:
    found = []
    for number, line in enumerate(read_lines(file).values, 1):
        version = line.get("schema_version", 0) if isinstance(line, dict) else 0
        if isinstance(version, int) and version > STUDY_SCHEMA:
            raise RunDirectoryError(
                f"{file}, line {number} has schema {version}; this vlassess reads up to {STUDY_SCHEMA}: upgrade it"
            )
        try:
            found.append(model.model_validate(line))
        except ValidationError as error:
            place = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise RunDirectoryError(f"{file}, line {number}: {place} is not as written; restore the file") from error
    return tuple(found)


def _append(file: Path, line: BaseModel) -> None:
    log: RecordLog[Any] = RecordLog(file, "the same command")
    try:
        log.append([line.model_dump(mode="json")])
    finally:
        log.close()
