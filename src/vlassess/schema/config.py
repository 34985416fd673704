"""What a run is asked to do: frozen, strict models; an unknown key is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Strict(BaseModel):
    """Base of every config model: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BenchmarkSource(Strict):
    """Which benchmark, and with which parameters."""

    name: str | None = None
    """A bundled or installed benchmark ("tabletop-v1")."""
    target: str | None = None
    """Somebody's own: "package.module:Class" or "path/to/file.py:Class"."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Keyword arguments of its constructor."""

    @model_validator(mode="after")
    def _one_source(self) -> BenchmarkSource:
        if (self.name is None) == (self.target is None):
            raise ValueError("give exactly one of name and target")
        return self


class PolicySource(Strict):
    """Where a policy runs. Exactly one of name, url, serve and local."""

    name: str | None = None
    """A bundled policy ("random")."""
    url: str | None = None
    """A policy server that somebody else runs: "ws://host:port"."""
    serve: str | None = None
    """Started, awaited and stopped by the run: "file.py:Class" or "module:Class"."""
    local: str | None = None
    """Loaded by each worker in its own interpreter: "file.py:Class" or "module:Class"."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Keyword arguments of its constructor (not with url)."""
    horizon: int | None = Field(default=None, ge=1)
    """Actions executed per chunk; None: as its spec says."""

    @model_validator(mode="after")
    def _one_source(self) -> PolicySource:
        given = [key for key in ("name", "url", "serve", "local") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of name, url, serve and local, not {' and '.join(given) or 'none'}")
        if self.url is not None and self.params:
            raise ValueError("params cannot reach a policy that is given by url: configure its server instead")
        return self


class Cell(Strict):
    """One axis at one level."""

    axis: str
    """Name of an axis that the benchmark declares."""
    level: str
    """Name of one of its levels."""


class Deadlines(Strict):
    """Seconds that each phase may take before the attempt is ended."""

    load: float = Field(default=300.0, gt=0)
    """Loading the benchmark in a new worker."""
    connect: float = Field(default=60.0, gt=0)
    """Reaching the policy server."""
    reset: float = Field(default=120.0, gt=0)
    """One reset of the simulator."""
    step: float = Field(default=60.0, gt=0)
    """One control step."""
    render: float = Field(default=60.0, gt=0)
    """One make_obs()."""
    inference: float = Field(default=60.0, gt=0)
    """One answer of the policy."""


class ExecutionConfig(Strict):
    """How the run uses the machine. Nothing here changes a result."""

    workers: int | None = Field(default=None, ge=1)
    """Worker processes; None: one per core."""
    retries: int = Field(default=2, ge=0)
    """Further attempts after a benchmark or infrastructure error."""
    deadlines: Deadlines = Deadlines()
    """Seconds per phase."""


class Gates(Strict):
    """Conditions on the result; one that fails gives exit code 4."""

    min_success: float | None = Field(default=None, ge=0, le=1)
    """Least success rate of each policy, privileged ones included."""


class RunConfig(Strict):
    """A whole run: one benchmark, one or more policies."""

    name: str = "run"
    """Used in the run directory's name and the report's title."""
    benchmark: BenchmarkSource
    """What the policies are measured on."""
    suites: tuple[str, ...] | None = None
    """Suites to run; None: all."""
    tasks: tuple[str, ...] | None = None
    """Shell patterns on "suite/task"; None: all tasks of the suites."""
    episodes: int = Field(default=10, ge=1)
    """Starts per task."""
    repeats: int = Field(default=1, ge=1)
    """Episodes per start, with different noise of the policy."""
    seed: int = Field(default=0, ge=0)
    """Base seed of the run."""
    cells: tuple[Cell, ...] = ()
    """Perturbed cells, run beside their control; empty: the control alone."""
    step_limit: int | None = Field(default=None, ge=1)
    """Replaces every task's step limit; marks the run as another protocol."""
    policies: dict[str, PolicySource]
    """Label -> policy. `policy:` is the short form for one."""
    execution: ExecutionConfig = ExecutionConfig()
    """How the run uses the machine."""
    output: Path = Path("runs")
    """Folder that the run directory is made in."""
    gates: Gates = Gates()
    """Conditions on the result."""
