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
from vlassess.pipeline.transfer_planning import StudyError, StudyPlan
from vlassess.records import Directory, RecordLog, RunDirectoryError
from vlassess.records.lines import read_lines, write_atomically
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
)
from vlassess.transfer.locked import EventKind
from vlassess_link.digest import content_hash
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.specs import BenchmarkSpec

M = TypeVar("M", bound=BaseModel)
AMENDMENTS, EVENTS, KEY, RUNS = "amendments.jsonl", "events.jsonl", "key.json", "runs"


class StudyDirectory(Directory[StudyManifest, HandTrial, HandRecord]):
    """One locked study on disk; its plan and its records are those of the trials by hand."""

    MANIFEST = StudyManifest
    ITEM = HandTrial
    RECORD = HandRecord
    FILE = "study.json"
    LOG = "trials.jsonl"
    VERSIONS = (STUDY_SCHEMA, STUDY_SCHEMA, STUDY_SCHEMA)
    WHAT = ("study", "vlassess transfer lock")
    RESUME = "vlassess transfer import {path} FILE"


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
    """

    directory: StudyDirectory
    amendments: tuple[Amendment, ...]
    events: tuple[Event, ...]
    key: Key
    design: Design
    spec: BenchmarkSpec | None

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

    def trials_by_hand(self) -> tuple[HandTrial, ...]:
        """Return the trials by hand as they are planned now, in the order in which they are to be done."""
        trials = self.directory.items()
        for amendment in self.amendments:
            trials = plan_by_hand(self._designed(amendment.config), self.key, trials)
            _check_hand(trials, amendment)
        return trials

    def _designed(self, config: StudyConfig) -> Design:
        return design_of(config, self.spec, [])


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
        RunDirectoryError: the folder holds none, or its files are not what was locked.
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
    return Study(directory, amendments, _read_lines(path / EVENTS, Event), key, design, spec)


def amend(study: Study, plan: StudyPlan, changes: Sequence[str], reason: str, finished: int) -> Study:
    """Add an amendment and return the study as it stands then.

    Args:
        study: What is changed.
        plan: Its new plan.
        changes: What was changed, for people.
        reason: Why.
        finished: Trials that have a result.

    Raises:
        StudyError: a rule of the protocol is broken.
    """
    if plan.refused:
        raise StudyError("the amendment breaks a rule", [f"{check.rule}: {check.sentence}" for check in plan.refused])
    key = make_key(plan.design.config.policies, study.key.secret, study.key)
    trials = plan_by_hand(plan.design, key, study.trials_by_hand())
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
        checks=facts_of(plan),
        before=study.lock,
    )
    _append(study.path / AMENDMENTS, made.model_copy(update={"lock": made.digest}))
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
        key_digest=key.digest,
        benchmark_spec=None if plan.spec is None else to_json(plan.spec),
        checks=facts_of(plan),
        versions=provenance.versions(),
        git=provenance.git_state(Path.cwd()),
    )
    return made.model_copy(update={"lock": made.digest})


def _free(output: Path, name: str) -> Path:
    """Return a folder that does not exist yet; two studies of one second differ by a number."""
    path, number = output / name, 2
    while path.exists():
        path, number = output / f"{name}-{number}", number + 1
    return path


def _hand_hash(trials: Sequence[HandTrial]) -> str:
    return content_hash([trial.item_id for trial in trials])


def _check_hand(trials: Sequence[HandTrial], amendment: Amendment) -> None:
    if _hand_hash(trials) != amendment.plan_hash:
        raise RunDirectoryError(f"the trials by hand of amendment {amendment.number} are not those that were planned")


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
