"""What a run came to: every number that tables, files and the report show, and nothing else.

Undefined is None, never 0 and never NaN: a task without a finished episode has no rate. Failure, error
and missing are three different things and are counted apart.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from vlassess.schema.interval import Interval

SUMMARY_SCHEMA = 1
"""Version of `Summary`."""

Level = Literal["overall", "suite", "task", "cell"]
"""What a group of episodes is pooled over."""


class Frozen(BaseModel):
    """Base of every summary model: frozen, no unknown keys, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Counts(Frozen):
    """How many episodes ended how. ``planned`` is the sum of all but ``policy_error``."""

    planned: int = 0
    """Episodes in the plan."""
    success: int = 0
    """Episodes that the benchmark scored as successes."""
    failure: int = 0
    """Episodes that failed, those that ended by the policy's own error included."""
    policy_error: int = 0
    """Failures (counted in `failure`) that the policy caused by raising, NaN, a wrong shape or silence."""
    benchmark_error: int = 0
    """Episodes whose last attempt the benchmark broke: in no rate."""
    infrastructure_error: int = 0
    """Episodes whose last attempt broke through nobody under test: in no rate."""
    missing: int = 0
    """Planned episodes without any attempt: in no rate."""

    @property
    def scored(self) -> int:
        """Episodes with a result, the denominator of every rate: success plus failure."""
        return self.success + self.failure

    @property
    def error(self) -> int:
        """Episodes that ended in an error that is not the policy's."""
        return self.benchmark_error + self.infrastructure_error

    @property
    def complete(self) -> bool:
        """Whether every planned episode has a result."""
        return self.scored == self.planned


class Rate(Frozen):
    """A success rate over ``n = success + failure``, policy errors being failures."""

    n: int
    """Denominator."""
    value: float | None
    """Successes / n; None where n is 0."""
    clopper_pearson: Interval | None
    """95 % exact interval, the one that is shown; never covers less than 95 %."""
    wilson: Interval | None
    """95 % score interval; shorter, and covers less than 95 % near rates of 0 and 1."""
    errors_fail: float | None
    """The rate if every benchmark and infrastructure error had been a failure."""
    errors_succeed: float | None
    """The rate if every benchmark and infrastructure error had been a success."""


class Mean(Frozen):
    """An arithmetic mean and what it is over."""

    n: int
    """How many numbers."""
    value: float | None
    """Their mean; None where n is 0."""


class Spread(Frozen):
    """Mean and median of the same numbers."""

    n: int
    """How many numbers."""
    mean: float | None
    """Their mean; None where n is 0."""
    median: float | None
    """Their median; None where n is 0."""


class GroupSummary(Frozen):
    """One policy on one group of episodes. Every rate and mean is pooled over episodes."""

    level: Level
    """"task", "suite" or "overall"; "cell" for one perturbation over all tasks."""
    suite: str | None = None
    """The suite; None where suites are pooled."""
    task: str | None = None
    """The task; None where tasks are pooled."""
    perturbation: dict[str, str] = Field(default_factory=dict)
    """{axis: level} of a cell; empty for the control, and where the run has no cells."""
    counts: Counts
    """How many ended how."""
    rate: Rate
    """Success rate, pooled over episodes: a task with more episodes weighs more."""
    task_mean: Mean | None
    """Unweighted mean of the tasks' rates, n tasks with one; None for a single task."""
    progress: Mean
    """Best share of the task done, over the episodes that have an outcome (policy errors have none)."""
    primary_metric: Mean | None
    """The benchmark's primary metric over the outcomes that have it; None where it is "success"."""
    steps: Spread
    """Control steps executed, over the episodes that have an outcome."""
    distinct_starts: int | None
    """Different initial states among the episodes of one task; None where tasks are pooled."""
    seconds: dict[str, float] = Field(default_factory=dict)
    """Wall seconds by phase, and "total": summed over every attempt, repeated ones included."""


class Throughput(Frozen):
    """How fast episodes were finished."""

    running_seconds: float | None
    """Wall time from first start to last end, less the pauses in which no attempt ran (stop and resume)."""
    episodes_per_minute: float | None
    """Episodes with a result per minute of `running_seconds`; None where the time is not known."""


class Notice(Frozen):
    """Something that a reader of the numbers must know."""

    code: str
    """Stable name of the check ("policy_never_moved")."""
    severity: Literal["warning", "note"]
    """"warning": the numbers may not mean what they seem to; "note": they do, under a condition."""
    policy: str | None
    """Label of the policy concerned; None for the whole run."""
    message: str
    """One or two sentences: what was found, where, and what it may mean."""


class PolicySummary(Frozen):
    """One policy of the run."""

    label: str
    """Its label in the config."""
    name: str | None
    """Name from its identity; None where it was never reached."""
    identities: tuple[str, ...]
    """Digests of the identities in its records; more than one is warned about."""
    privileged: bool
    """It reads the simulator's state, so that its rates are upper bounds."""
    counts: Counts
    """All its episodes, control and cells."""
    basis: Literal["all", "control"]
    """What overall, suites and tasks are over: "control" leaves perturbed episodes to `cells`."""
    overall: GroupSummary
    """The headline."""
    suites: tuple[GroupSummary, ...]
    """One per suite, in plan order."""
    tasks: tuple[GroupSummary, ...]
    """One per task, in plan order."""
    cells: tuple[GroupSummary, ...]
    """One per perturbation, over all tasks; empty where the run has none."""
    cell_tasks: tuple[GroupSummary, ...]
    """One per perturbation and task; empty where the run has none."""
    throughput: Throughput
    """Over the time in which this policy was run; policies of a run may share that time."""


class Summary(Frozen):
    """The whole run."""

    schema_version: int = SUMMARY_SCHEMA
    """`SUMMARY_SCHEMA` of the writer."""
    run_id: str
    """Name of the run directory."""
    name: str
    """The config's name of the run."""
    benchmark: str
    """``id@version``."""
    plan_hash: str
    """Digest of the plan."""
    success_semantics: str
    """What the benchmark calls a success: "ever", "at_end" or "held"."""
    primary_metric: str
    """Name of the benchmark's primary metric."""
    confidence: float
    """Level of every interval: 0.95."""
    counts: Counts
    """All episodes of all policies."""
    throughput: Throughput
    """Over all policies."""
    policies: tuple[PolicySummary, ...]
    """In plan order."""
    notices: tuple[Notice, ...]
    """Warnings first."""
