"""A transfer study's trials, the rules they are judged by, and the whole analysis, whose parts are in `findings`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vlassess.schema.findings import Findings, Share, TrialRole
from vlassess.schema.interval import Interval

Correction = Literal["holm", "benjamini-hochberg", "none"]
"""How p-values are corrected over a policy's cells."""

Source = Literal["simulation", "robot"]
"""Where trials ran."""

GapTest = Literal["exact", "stratified", "progress"]
"""What tests a gap. ``exact``: McNemar over pairs, Boschloo without. ``stratified``: the same within tasks.
``progress``: a permutation of the progress scores."""


@dataclass(frozen=True)
class Trial:
    """One trial of a study, simulated or on a robot.

    Trials with one policy, one start_key and one repeat are a pair where one is of a cell and the other of the cell's
    control; of two policies, where cell, start_key and repeat agree; before and after adaptation, where suite,
    start_key and repeat agree; of several K, where cell, start_key and repeat agree.

    Attributes:
        policy: Label of the checkpoint before adaptation; unblinded, or the blind label.
        role: What it is for.
        start_key: The matched initial state, the same for every policy, cell and K that shares it (the task is part
            of it); unique within (policy, role, cell or suite, k, method) but for repeats.
        success: None where it broke for reasons that are not the policy's, or has not been run: in no rate.
        cell: Name of the cell; for ``control`` the name of the control, for ``few-shot`` that of the target task; ""
            for the seen suite.
        axis: The one axis that a cell varies; "" for other roles. Cells of a benchmark without factors name a suite
            here.
        level: That axis's level; "" for other roles.
        control: Name of a cell's control; "" for other roles.
        task: Task of the start, where a cell has several.
        progress: Best share of the task's stages done, 0 to 1; None where none was scored.
        k: Demonstrations of the target task that the policy was adapted with; 0 is the frozen checkpoint.
        method: How it was adapted; None where it was not.
        suite: The seen suite, for ``seen-before`` and ``seen-after``; else "".
        repeat: Which repeat of the start it is.
        flagged: Somebody marked it as unfair. It stays in; results are given with and without.
        interventions: How often somebody helped; None where nobody counted.
        seconds: Wall time; None where it is not known.
        session: When and where it ran, where that is known; a pair over two sessions is counted and told.
        matched: False where the cell changes the start itself, so that it is no pair with its control.
        refuted_key: The start that was planned, where the measured initial states refute that the trial began there,
            or none was measured; ``start_key`` is then another, so that it pairs with none that did. Else "".
    """

    policy: str
    role: TrialRole
    start_key: str
    success: bool | None
    cell: str = ""
    axis: str = ""
    level: str = ""
    control: str = ""
    task: str = ""
    progress: float | None = None
    k: int = 0
    method: str | None = None
    suite: str = ""
    repeat: int = 0
    flagged: bool = False
    interventions: int | None = None
    seconds: float | None = None
    session: str = ""
    matched: bool = True
    refuted_key: str = ""


@dataclass(frozen=True)
class Rules:
    """How a study is to be judged, as its plan fixed it before the first trial.

    Attributes:
        alpha: Chance of a false alarm; 1 - alpha is the confidence of every interval.
        test: Of a cell's gap to its control.
        correction: Of the p-values of a policy's cells.
        margin: Largest loss on the seen suite that still counts as retained, as a share.
        delta: Smallest difference of two policies, or of two cells' gaps, that a ranking is to tell apart.
        power: Chance with which it is to be found.
        ranking_pairs: Pairs that a ranking needs, if the plan worked them out; None: worked out from ``delta``,
            ``power`` and how often the pairs differ.
        draws: Resamples and sign patterns.
        seed: Of all random draws.
    """

    alpha: float = 0.05
    test: GapTest = "exact"
    correction: Correction = "holm"
    margin: float = 0.05
    delta: float = 0.10
    power: float = 0.8
    ranking_pairs: int | None = None
    draws: int = 2000
    seed: int = 0


@dataclass(frozen=True)
class FlagEffect:
    """What leaving out the flagged trials changes in one cell, curve or retention.

    Attributes:
        policy: Label.
        what: The cell, target and method, or suite, method and K.
        flagged: Trials left out.
        rate: Success with them.
        rate_without: Success without them.
        verdict: With them.
        verdict_without: Without them.
    """

    policy: str
    what: str
    flagged: int
    rate: float | None
    rate_without: float | None
    verdict: str
    verdict_without: str


@dataclass(frozen=True)
class Agreement:
    """How far simulation and reality agree about the policies in one scope.

    Attributes:
        scope: A cell, or "mean over cells".
        policies: Which both have, in the order of the rates.
        simulated: Success in simulation.
        real: Success on the robot.
        tau: Kendall's tau-b; None for fewer than two policies, or where one side has one rate throughout.
        tau_interval: Of the tau of the true rates.
        pearson: Pearson's r; None for fewer than three policies, or where it is undefined.
        pearson_interval: Of the r of the true rates.
        mmrv: Mean maximum rank violation, in [0, 1]; 0 is best.
        mmrv_interval: Of the mean maximum rank violation of the true rates.
    """

    scope: str
    policies: tuple[str, ...]
    simulated: tuple[float, ...]
    real: tuple[float, ...]
    tau: float | None
    tau_interval: Interval | None
    pearson: float | None
    pearson_interval: Interval | None
    mmrv: float | None
    mmrv_interval: Interval | None


@dataclass(frozen=True)
class Reversal:
    """Two policies whose order differs between simulation and reality.

    Attributes:
        scope: A cell, or "mean over cells".
        better_real: Better on the robot.
        better_simulated: Better (or, where ``tied``, not worse) in simulation.
        real_difference: By how much, at least 0.
        simulated_difference: By how much, at least 0.
        chance: Chance, given both sets of trials, that the true orders differ.
        tied: One of the two sides has both at one rate.
    """

    scope: str
    better_real: str
    better_simulated: str
    real_difference: float
    simulated_difference: float
    chance: float
    tied: bool


@dataclass(frozen=True)
class Discrepancy:
    """One policy in one cell, simulation minus reality; p-values by Boschloo, corrected by Holm over all."""

    policy: str
    cell: str
    simulated: Share
    real: Share
    difference: float
    interval: Interval
    p_value: float
    corrected: float


@dataclass(frozen=True)
class RealityCheck:
    """Simulation beside reality: agreement by scope, orders that differ, and rates that differ."""

    agreements: tuple[Agreement, ...]
    reversals: tuple[Reversal, ...]
    discrepancies: tuple[Discrepancy, ...]
    only_simulated: tuple[str, ...]
    only_real: tuple[str, ...]


@dataclass(frozen=True)
class TransferAnalysis:
    """What a study came to.

    Attributes:
        rules: How it was judged.
        every: All trials, flagged ones included: the result.
        unflagged: Without the flagged ones; None where none is flagged.
        flagged: How many are flagged.
        flag_effects: What leaving them out changes.
        source: Where the trials ran.
        real: What the trials on the robot came to, where these are simulated and there are such; else None.
        reality: Simulation beside reality; None where there is one set of trials only.
        notes: What a reader must know, one sentence each.
    """

    rules: Rules
    every: Findings
    unflagged: Findings | None
    flagged: int
    flag_effects: tuple[FlagEffect, ...]
    source: Source
    real: TransferAnalysis | None
    reality: RealityCheck | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AuditLine:
    """What the audit of one cell with one policy came to.

    Attributes:
        policy: Label.
        cell: Name.
        verdict: "ok", "violated", "not witnessed", "not audited" or, for a suite, "cannot be audited".
        sentence: Why it is not "ok"; empty where it is.
    """

    policy: str
    cell: str
    verdict: str
    sentence: str


@dataclass(frozen=True)
class StudyFacts:
    """What a report says of a study beside its figures.

    Attributes:
        name: Of the study.
        benchmark: Where trials were simulated; None: nowhere.
        starts: Planned starts a cell; None where it is not known.
        lock: Hash of the locked plan; None: it was not locked.
        locked_at: When it was locked.
        amendments: What was changed since, one sentence each, with reason and time.
        blind: Policies go by codes still.
        facts: (name, value) of whatever else belongs to the head of the page.
        audits: Of the cells.
    """

    name: str
    benchmark: str | None = None
    starts: int | None = None
    lock: str | None = None
    locked_at: str | None = None
    amendments: tuple[str, ...] = ()
    blind: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    audits: tuple[AuditLine, ...] = ()
