"""``run.json``: everything about a run that is known before its first episode."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from vlassess.schema.config import RunConfig

MANIFEST_SCHEMA = 1
"""Version of ``run.json``; readers accept every earlier one."""


class PlanPart(BaseModel):
    """Which part of a whole plan a run holds. Runs of one whole plan can be merged."""

    model_config = ConfigDict(frozen=True)

    plan_hash: str
    """Digest of the whole plan."""
    items: int
    """How many work items the whole plan has."""
    limit: int | None = None
    """Only so many items, which stand for all, were taken of the whole plan; None: all."""
    shard: int | None = None
    """Which shard of these was taken, from 1; None: all of them."""
    shards: int | None = None
    """How many shards there are."""

    @property
    def text(self) -> str:
        """As a sentence has it: ``shard 3/7 of 70 items that stand for the plan's 270``."""
        limited = f"{self.limit} items that stand for the plan's {self.items}" if self.limit is not None else ""
        if self.shard is None:
            return limited
        return f"shard {self.shard}/{self.shards} of " + (limited or f"the plan's {self.items} items")


class RunSource(BaseModel):
    """One of the runs that a merged run was made from."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    """Its name."""
    path: str
    """Where it was."""
    part: PlanPart | None = None
    """Which part of the plan it held; None: the whole."""
    created: str
    """When it was begun: UTC, ISO 8601."""
    records: int
    """How many attempts it had recorded."""
    duplicates: int = 0
    """How many of these an earlier source had already; they were left out."""


class WorkerInterpreter(BaseModel):
    """A benchmark's own interpreter."""

    model_config = ConfigDict(frozen=True)

    path: str
    """Where it lay."""
    digest: str
    """Of Python's version and every package's; resume refuses another."""
    python: str
    """Version of Python."""
    packages: dict[str, str]
    """Distribution -> version."""


class PolicyFit(BaseModel):
    """What was done so that a policy and the benchmark mean the same numbers."""

    model_config = ConfigDict(frozen=True)

    conversions: tuple[str, ...] = ()
    """What is converted between the two, one sentence each."""
    unchecked: tuple[str, ...] = ()
    """What a side does not declare, so that nobody could check it, one sentence each."""


class RunManifest(BaseModel):
    """Content of ``run.json``."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = MANIFEST_SCHEMA
    """`MANIFEST_SCHEMA` of the writer."""
    run_id: str
    """Name of the run directory."""
    created: str
    """UTC, ISO 8601."""
    config: RunConfig
    """The resolved config."""
    plan_hash: str
    """Digest of the plan; resume refuses another."""
    items: int
    """How many work items the plan has."""
    benchmark_spec: dict[str, Any]
    """`BenchmarkSpec` as JSON."""
    policy_specs: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Label -> `PolicySpec` as JSON, of those reached before the first episode."""
    policy_identities: dict[str, str] = Field(default_factory=dict)
    """Label -> digest of the policy's identity; resume refuses a change."""
    policy_fits: dict[str, PolicyFit] = Field(default_factory=dict)
    """Label -> how the policy's conventions and the benchmark's were brought together; resume refuses other
    conversions."""
    worker: WorkerInterpreter | None = None
    """The interpreter of the workers, None where it is the harness's, of which `versions` tells."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Package or tool -> version."""
    git: dict[str, str] = Field(default_factory=dict)
    """"commit" and "dirty" of the working directory, where it is a checkout."""
    hardware: dict[str, str] = Field(default_factory=dict)
    """CPU, cores, memory, host, operating system."""
    part: PlanPart | None = None
    """Which part of a whole plan this run is; None: all of it."""
    command: tuple[str, ...] = ()
    """The command line that began the run, without ``--shard``; empty where it was begun from Python."""
    sources: tuple[RunSource, ...] = ()
    """The runs that it was merged from; empty for a run that was run."""
