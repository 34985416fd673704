"""``run.json``: everything about a run that is known before its first episode."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from vlassess.schema.config import RunConfig

MANIFEST_SCHEMA = 1
"""Version of ``run.json``; readers accept every earlier one."""


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
    versions: dict[str, str] = Field(default_factory=dict)
    """Package or tool -> version."""
    git: dict[str, str] = Field(default_factory=dict)
    """"commit" and "dirty" of the working directory, where it is a checkout."""
    hardware: dict[str, str] = Field(default_factory=dict)
    """CPU, cores, memory, host, operating system."""
