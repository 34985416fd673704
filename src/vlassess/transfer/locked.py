"""What a locked study's files say: the plan as it was fixed, its digest, and each later change, why and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from pydantic import Field

from vlassess.schema.strict import Frozen
from vlassess.schema.study import StudyConfig
from vlassess.transfer.by_hand import HandTrial
from vlassess_link.digest import content_hash
from vlassess_link.jsonable import to_json

STUDY_SCHEMA = 2
"""Version of ``study.json`` and of ``amendments.jsonl``; readers accept every earlier one.

1: the lock holds the numbers of the trials by hand alone, and an amendment's trials are in no file. 2: it holds the
whole trials, and those of amendment N are in ``plan-N.jsonl``.
"""

L = TypeVar("L", "StudyManifest", "Amendment")

EventKind = Literal["import", "unblind", "sheet"]


class PartFacts(Frozen):
    """One run of the study, as it is planned."""

    name: str
    """Of the run."""
    role: str
    """"cells", "few-shot" or "retention"."""
    plan_hash: str
    """Digest of its plan."""
    items: int
    """Its episodes, over all policies."""


class CheckFacts(Frozen):
    """One rule of the protocol, and how the plan keeps it."""

    rule: str
    """Which."""
    verdict: str
    """"ok", "refused", "cannot be audited" or "note"."""
    sentence: str
    """For people."""


class StudyManifest(Frozen):
    """Content of ``study.json``: everything that is fixed before the first trial."""

    schema_version: int = STUDY_SCHEMA
    """`STUDY_SCHEMA` of the writer."""
    study_id: str
    """Name of the study's folder."""
    created: str
    """When it was locked: UTC, ISO 8601."""
    config: StudyConfig
    """The study as it was written."""
    starts: int
    """Matched initial states of a cell."""
    parts: tuple[PartFacts, ...]
    """Its runs."""
    plan_hash: str
    """Digest of the numbers of the trials by hand."""
    by_hand: int
    """How many these are."""
    plan_digest: str | None = None
    """Digest of the whole trials by hand, number, code, cell, start and block; None in a study of schema 1."""
    key_digest: str
    """Of the key to the blind codes, so that it cannot be changed."""
    benchmark_spec: dict[str, Any] | None
    """`BenchmarkSpec` as JSON; None for a study by hand."""
    checks: tuple[CheckFacts, ...]
    """What the plan kept of the protocol's rules."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Package or tool -> version."""
    git: dict[str, str] = Field(default_factory=dict)
    """"commit" and "dirty" of the working directory, where it is a checkout."""
    lock: str = ""
    """Digest of all of the above."""

    @property
    def digest(self) -> str:
        """What `lock` has to be; fields that the file does not have, as it is of an earlier schema, are in none."""
        return content_hash(self.model_dump(mode="json", exclude={"lock"}, exclude_unset=True))


class Amendment(Frozen):
    """One change of a locked study."""

    schema_version: int = STUDY_SCHEMA
    """`STUDY_SCHEMA` of the writer."""
    number: int
    """From 1."""
    time: str
    """UTC, ISO 8601."""
    reason: str
    """Why, in the words of who did it."""
    changes: tuple[str, ...]
    """What was changed, ``PATH=VALUE`` each."""
    finished: int
    """Trials that had a result by then: an amendment after the fact is another thing than one before."""
    config: StudyConfig
    """The study from then on."""
    starts: int
    """Its matched initial states of a cell."""
    parts: tuple[PartFacts, ...]
    """Its runs."""
    plan_hash: str
    """Digest of the numbers of its trials by hand."""
    by_hand: int
    """How many these are."""
    plan_digest: str | None = None
    """Digest of the whole trials by hand, which are in ``plan-N.jsonl``; None in an amendment of schema 1."""
    checks: tuple[CheckFacts, ...]
    """What the plan keeps of the protocol's rules."""
    before: str
    """The lock that it follows."""
    lock: str = ""
    """Digest of all of the above: the study's lock from then on."""

    @property
    def digest(self) -> str:
        """What `lock` has to be; fields that the file does not have, as it is of an earlier schema, are in none."""
        return content_hash(self.model_dump(mode="json", exclude={"lock"}, exclude_unset=True))


class Event(Frozen):
    """Something that happened to a locked study and changes none of its plan."""

    kind: EventKind
    """What."""
    time: str
    """UTC, ISO 8601."""
    text: str
    """More about it."""


def sealed(made: L) -> L:
    """Return a manifest or an amendment with its lock, every field written down."""
    whole = type(made).model_validate(made.model_dump(mode="json"))
    return whole.model_copy(update={"lock": whole.digest})


def plan_digest(trials: Sequence[HandTrial]) -> str:
    """Return the digest of whole trials by hand in their order: number, code, cell, start and block."""
    return content_hash([to_json(trial) for trial in trials])


def broken_link(manifest: StudyManifest, amendments: Sequence[Amendment]) -> str | None:
    """Return why the files are not what was locked; None where they are.

    Each amendment holds the digest before it, so that none can be changed or left out.
    """
    if manifest.lock != manifest.digest:
        return "study.json is not what was locked"
    last = manifest.lock
    for number, amendment in enumerate(amendments, 1):
        if amendment.number != number or amendment.before != last or amendment.lock != amendment.digest:
            return f"amendment {number} is not what was written"
        last = amendment.lock
    return None
