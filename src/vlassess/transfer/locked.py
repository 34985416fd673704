"""What a locked study's files say: the plan as it was fixed, its digest, and each later change, why and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from vlassess.schema.strict import Frozen
from vlassess.schema.study import StudyConfig
from vlassess_link.digest import content_hash

STUDY_SCHEMA = 1
"""Version of ``study.json`` and of the files beside it; readers accept every earlier one."""

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
    """Digest of the trials by hand."""
    by_hand: int
    """How many these are."""
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
        """What `lock` has to be."""
        return content_hash(self.model_dump(mode="json", exclude={"lock"}))


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
    """Digest of its trials by hand."""
    by_hand: int
    """How many these are."""
    checks: tuple[CheckFacts, ...]
    """What the plan keeps of the protocol's rules."""
    before: str
    """The lock that it follows."""
    lock: str = ""
    """Digest of all of the above: the study's lock from then on."""

    @property
    def digest(self) -> str:
        """What `lock` has to be."""
        return content_hash(self.model_dump(mode="json", exclude={"lock"}))


class Event(Frozen):
    """Something that happened to a locked study and changes none of its plan."""

    kind: EventKind
    """What."""
    time: str
    """UTC, ISO 8601."""
    text: str
    """More about it."""


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
