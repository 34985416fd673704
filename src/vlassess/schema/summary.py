"""What a run came to: every number that tables, files and the report show, and nothing else.

Undefined is None, never 0 and never NaN: a task without a finished episode has no rate. Failure, error
and missing are three different things and are counted apart.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vlassess.schema.grounded import GroundedSuite
from vlassess.schema.interval import Interval
from vlassess.schema.strict import Frozen as Frozen

SUMMARY_SCHEMA = 1
"""Version of `Summary`."""

Level = Literal["overall", "suite", "task", "cell"]
"""What a group of episodes is pooled over."""


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


class ComponentChange(Frozen):
    """How often one thing that reached the policy, or that the simulator measured, differed from the control's."""

    name: str
    """`camera:NAME`, `instruction`, `state:NAME` or `extra:NAME` of what was delivered, `simulator:NAME` of the
    measured initial state, `start:NAME` of what the policy was told as the episode began."""
    touched: bool
    """The axis may change it."""
    pairs: int
    """Pairs in which it can be compared."""
    changed: int
    """Pairs in which it differed."""
    repeatable: bool = True
    """False: two episodes that should have had it alike, repeats of one start in one cell, differed in it."""
    largest: float | None = None
    """Largest absolute difference of one number, where arrays were kept (`audit: arrays`); None: not known."""


class CellAudit(Frozen):
    """Whether a cell's factor, and nothing else, reached the policy: judged from what was delivered."""

    verdict: Literal["ok", "violated", "not witnessed", "not audited"]
    """"violated": the cell is invalid. "not witnessed": this policy does not receive what the axis changes, or too
    little was run to tell. "not audited": the records hold no pair of delivered inputs."""
    pairs: int
    """Pairs of a cell's and its control's episode that were compared."""
    starts: int
    """Different starts among them."""
    changed: int
    """Pairs in which something differed that the axis may change."""
    reasons: tuple[str, ...]
    """Why the verdict is not "ok", one sentence each."""
    notes: tuple[str, ...]
    """What else a reader should know, one sentence each."""
    components: tuple[ComponentChange, ...]
    """Everything that differed at least once, and everything that the axis may change."""


class CellResult(Frozen):
    """One cell beside its control."""

    name: str
    """As configs write it: ``camera_pose=far``."""
    axis: str
    """The axis in which it differs from its control."""
    level: str
    """That axis's level."""
    within: dict[str, str]
    """Levels that both have: the scene in which they are compared; empty for the benchmark's own."""
    control: str
    """What its control is called."""
    paired: bool
    """Its gap is over pairs; False: the axis changes the start itself, or no pair could be proved."""
    rate: Rate
    """The cell's success rate, over all its episodes."""
    control_rate: Rate
    """The control's, over all its episodes."""
    n: int
    """Episodes of the cell that the gap is over; over pairs, the number of pairs or, with repeats, of episodes."""
    gap: float | None
    """Success rate of the cell minus that of its control, over the same starts where they are paired."""
    interval: Interval | None
    """Of the gap."""
    method: str
    """How the interval is made."""
    p_value: float | None
    """Of "the cell and its control have the same rate"."""
    test: str
    """What the p-value is of."""
    adjusted_p: float | None
    """Adjusted for all valid cells of the policy (Holm); None for an invalid cell."""
    verdict: Literal["worse", "better", "no difference found", "invalid", "nothing to compare"]
    """What may be said of the gap at `alpha`; "invalid": the audit is violated, and nothing may be said."""
    alpha: float
    """Chance that any of the policy's cells is called worse or better falsely."""
    dropped: dict[str, int]
    """Why starts are in no pair -> how many."""
    audit: CellAudit
    """Whether the factor was delivered."""


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
    factors: tuple[CellResult, ...] = ()
    """One per cell of the config, beside its control; empty where the run has none."""
    grounding: tuple[GroundedSuite, ...] = ()
    """One per grounding suite; empty where the run has none."""
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
