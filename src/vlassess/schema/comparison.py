"""What a comparison came to: every number that tables, JSON and the page show. Undefined is None."""

from __future__ import annotations

from typing import Literal

from vlassess.schema.interval import Interval
from vlassess.schema.summary import Frozen

COMPARISON_SCHEMA = 1
"""Version of `Comparison`."""


class Design(Frozen):
    """The test that decides."""

    test: Literal["exact", "stratified", "progress", "sequential"]
    """As the config's section `comparison` names it."""
    alpha: float
    """Chance of a false alarm; 1 - alpha is the confidence of every interval."""
    sides: Literal["two-sided", "greater", "less"]
    """"greater": only whether the first arm is better."""
    margin: float | None
    """What still counts as alike."""
    fixed_before: bool
    """It was fixed before the run and is used as it was fixed."""
    declared_by: str | None
    """Label of the arm whose run declared it; None where none did."""
    changes: tuple[str, ...]
    """What was changed after the run, one sentence each."""
    notes: tuple[str, ...]
    """What else a reader must know of the choice."""


class Effect(Frozen):
    """How two arms differ on one group of episodes."""

    n_a: int
    """Episodes of A; over pairs, the number of pairs."""
    n_b: int
    """Episodes of B."""
    rate_a: float | None
    """Success rate of A."""
    rate_b: float | None
    """Success rate of B."""
    difference: float | None
    """Rate of A minus rate of B."""
    interval: Interval | None
    """Of the difference."""
    method: str
    """How the interval is made."""
    p_value: float | None
    """Of "both have the same rate"."""
    test: str
    """What the p-value is of."""
    both: int | None = None
    """Pairs in which both succeeded; None where there are none, or with repeats."""
    only_a: int | None = None
    """Pairs in which A alone succeeded."""
    only_b: int | None = None
    """Pairs in which B alone succeeded."""
    neither: int | None = None
    """Pairs in which both failed."""


class Group(Frozen):
    """One task or one cell."""

    name: str
    """For people."""
    paired: bool
    """Whether its effect is over pairs."""
    effect: Effect
    """How the arms differ on it."""


class Dropped(Frozen):
    """Episodes that are in no pair, by reason."""

    reason: str
    """In a few words."""
    count: int
    """How many starts, or episodes of one arm."""
    examples: tuple[str, ...]
    """The first few: which, and what exactly."""


class PairingReport(Frozen):
    """What was paired and why."""

    design: Literal["paired", "partly paired", "unpaired"]
    """"partly paired": some starts with one key were measured to be different, so the runs are not called paired."""
    reason: str
    """One sentence."""
    shared: int
    """Starts that both arms planned by one key."""
    pairs: int
    """Those of them whose measured states agree."""
    doubtful: int
    """Pairs of which a part of the proof is missing."""
    doubts: dict[str, int]
    """Why -> how many pairs."""
    dropped: tuple[Dropped, ...]
    """What is in no pair."""


class TasksClaim(Frozen):
    """The difference as a claim about tasks that were not run."""

    tasks: int
    """How many tasks it rests on."""
    difference: float | None
    """Every task weighs as its episodes do."""
    interval: Interval | None
    """None for one task."""
    method: str
    """"bootstrap", "t", "exact" or "none"."""
    sentence: str
    """What may be said."""


class Claim(Frozen):
    """The difference where starts were repeated, with what is thought of as drawn anew."""

    about: str
    """"these starts", "new starts" or "new tasks"."""
    difference: float | None
    """Every start weighs the same."""
    interval: Interval | None
    """None where a level has a single member."""


class ProgressEffect(Frozen):
    """How far the arms came."""

    n_a: int
    """Episodes, pairs or starts of A."""
    n_b: int
    """Of B."""
    mean_a: float | None
    """Mean progress of A."""
    mean_b: float | None
    """Mean progress of B."""
    difference: float | None
    """A minus B."""
    p_value: float | None
    """Permutation test."""


class StrataEffect(Frozen):
    """The comparison within tasks, joined."""

    p_value: float
    """Of "within every task both have the same rate"."""
    difference: float
    """Joined over tasks."""
    interval: Interval | None
    """Of the difference."""
    odds_ratio: float | None
    """Common to the tasks."""
    heterogeneity_p: float | None
    """Of "the odds ratio is the same in every task"."""


class MarginResult(Frozen):
    """A test against a margin."""

    margin: float
    """As a share."""
    p_value: float
    """Of "the difference is at or beyond the margin"."""
    shown: bool
    """Whether the claim of likeness holds at alpha."""


class SequentialResult(Frozen):
    """What the sequential test came to over the finished blocks."""

    blocks: int
    """Finished blocks, in their order."""
    planned_blocks: int
    """All blocks of the plan."""
    pairs: int
    """Pairs in the finished blocks."""
    difference: float | None
    """Observed rate of A minus that of B."""
    interval: Interval
    """The confidence sequence: valid at every look."""
    p_value: float
    """Valid whenever one stops."""
    decided: bool
    """"No difference" is rejected."""
    decided_at: int | None
    """After which block; None for not yet."""


class DiscordantPair(Frozen):
    """A start in which one policy alone succeeded."""

    place: str
    """Which."""
    better: str
    """Label of the one that succeeded."""
    item_a: str
    """A's item id; empty for other sources."""
    item_b: str
    """B's."""
    video_a: str
    """Path of A's video; empty for none."""
    video_b: str
    """Path of B's."""


class TwoArms(Frozen):
    """One policy against another."""

    a: str
    """Label of the first."""
    b: str
    """Label of the second."""
    pairing: PairingReport
    """What was paired and why."""
    overall: Effect
    """The headline: over the control where there are cells."""
    without_doubtful: Effect | None
    """The same without doubtful pairs; None where there are none, or no others."""
    repeats: tuple[Claim, ...]
    """Where starts were repeated."""
    over_tasks: TasksClaim
    """As a claim about new tasks."""
    strata: StrataEffect | None
    """Within tasks; None where no task was run by both."""
    progress: ProgressEffect | None
    """None where a source has none."""
    sequential: SequentialResult | None
    """None without blocks."""
    not_worse: MarginResult | None
    """Whether A is not worse than B; None without a margin."""
    equivalent: MarginResult | None
    """Whether they are alike; None without a margin."""
    decisive_p: float | None
    """P-value of the design's test."""
    adjusted_p: float | None
    """Adjusted for all comparisons (Holm); equal to `decisive_p` for one."""
    hochberg_p: float | None
    """Adjusted for the share of false alarms (Benjamini-Hochberg)."""
    better: str | None
    """Label of the one that was found better; None where none was."""
    blind_spot: str
    """Which difference this comparison could not see."""
    verdict: str
    """In one sentence."""
    tasks: tuple[Group, ...]
    """Task by task."""
    cells: tuple[Group, ...]
    """Perturbed cells that both ran."""
    discordant: tuple[DiscordantPair, ...]
    """Starts in which one alone succeeded."""
    notes: tuple[str, ...]
    """What a reader must know."""


class ArmSummary(Frozen):
    """One arm."""

    label: str
    """Unique in the comparison."""
    source: str
    """Where it comes from."""
    benchmark: str | None
    """As the source calls it."""
    identity: str
    """Digest, or "unknown"."""
    privileged: bool
    """Only ever an upper bound."""
    success: int
    """Successes of the headline's episodes."""
    n: int
    """Its episodes with a result."""
    rate: float | None
    """Success rate."""
    interval: Interval | None
    """Clopper-Pearson."""
    errors: int
    """Episodes that ended in an error of benchmark or infrastructure."""
    missing: int
    """Planned, not run."""


class Rank(Frozen):
    """What the comparisons say of one policy's rank."""

    label: str
    """The arm's."""
    low: int
    """Best possible rank, 1 being best."""
    high: int
    """Worst possible rank."""


class ReproductionResult(Frozen):
    """An arm against a published rate."""

    label: str
    """The arm's."""
    published: float
    """The published rate."""
    published_n: int | None
    """Its episodes; None where they are not known."""
    margin: float
    """What still counts as the same."""
    difference: float
    """Ours minus theirs."""
    interval: Interval
    """Of the difference."""
    p_value: float
    """Of the two one-sided tests."""
    verdict: Literal["reproduced", "approximate", "not reproduced"]
    """See `vlassess.stats.equivalence.Reproduction`."""


class GateResult(Frozen):
    """One condition."""

    name: str
    """As the option is called."""
    passed: bool
    """Whether it holds."""
    sentence: str
    """Why."""


class Comparison(Frozen):
    """Everything that `vlassess compare` says."""

    schema_version: int = COMPARISON_SCHEMA
    """`COMPARISON_SCHEMA` of the writer."""
    design: Design
    """The test that decides."""
    arms: tuple[ArmSummary, ...]
    """In the order given."""
    comparisons: tuple[TwoArms, ...]
    """Every two arms."""
    ranks: tuple[Rank, ...]
    """From three arms on, privileged ones left out."""
    groups: tuple[tuple[str, ...], ...]
    """Arms among which no difference was found."""
    reproductions: tuple[ReproductionResult, ...]
    """Where a published rate was given."""
    gates: tuple[GateResult, ...]
    """Conditions that were asked for."""
    verdict: str
    """In one sentence."""
    notes: tuple[str, ...]
    """What a reader must know of the arms."""
