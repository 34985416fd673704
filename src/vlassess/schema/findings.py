"""What the trials of a transfer study came to: cells, rankings, curves, retention, agreement with reality.

Undefined is None, never 0: a cell without a finished trial has no rate, a curve that cannot be fitted no parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vlassess.schema.cells import GapVerdict
from vlassess.schema.interval import Interval

TrialRole = Literal["cell", "control", "seen-before", "seen-after", "few-shot"]
"""What a trial is for.

* ``cell``: the frozen checkpoint, K = 0, in a cell that differs from its control in one axis.
* ``control``: the frozen checkpoint, K = 0, on the seen task in the scene of the cells that name this control.
* ``few-shot``: the target task after adaptation with ``k`` demonstrations by ``method``; ``k`` = 0 is the frozen
  checkpoint on the same task, and with ``method`` None counts for every method of its policy. Where there is no such
  trial, those of the ``cell`` of the target's name are K = 0.
* ``seen-before``: the frozen checkpoint on the suite of tasks that it was trained on.
* ``seen-after``: the same suite after adaptation with ``k`` demonstrations by ``method``.
"""

RetentionVerdict = Literal["retained", "forgotten", "lower", "not shown", "nothing to compare"]
"""``retained``: the loss is shown to be smaller than the margin. ``forgotten``: it is shown to be larger. ``lower``: a
loss is shown, but not whether it is larger than the margin. ``not shown``: the trials do not decide."""

Unidentified = Literal[
    "too few K", "flat", "largest K below 2 tau", "interval beyond the largest K", "risen before the smallest K"
]
"""Why tau is not a number: ``too few K``: fewer than three values of K have trials. ``flat``: the curve is not told
from a constant. ``largest K below 2 tau``: saturation lies outside of what was tried. ``interval beyond
the largest K``: the same cannot be excluded. ``risen before the smallest K``: only an upper end is known."""


@dataclass(frozen=True)
class Share:
    """Successes over finished trials, with the exact interval; rate and interval are None where n is 0."""

    successes: int
    n: int
    rate: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Average:
    """A mean of progress scores, or of their paired differences, with its interval; None where it is undefined."""

    n: int
    mean: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Gap:
    """Cell minus control, or one policy minus another.

    Attributes:
        difference: Of the rates; negative where the first is worse.
        interval: Of the difference, not corrected.
        p_value: Of "the rates are alike".
        corrected: The same, corrected; equal to ``p_value`` where nothing is corrected.
        pairs: Pairs, or for unpaired arms the trials of the smaller one.
        only_first: Pairs in which the first alone succeeded (the cell); 0 where nothing is paired.
        only_second: Pairs in which the second alone succeeded.
        test: Name of test and interval.
        paired: Whether starts were matched.
        across_sessions: Pairs whose two trials ran in different sessions.
    """

    difference: float | None
    interval: Interval | None
    p_value: float | None
    corrected: float | None
    pairs: int
    only_first: int
    only_second: int
    test: str
    paired: bool
    across_sessions: int = 0


@dataclass(frozen=True)
class CellFinding:
    """One policy in one cell.

    Attributes:
        policy: Label.
        cell: Name.
        axis: What was varied.
        level: To which level.
        control: Against what.
        share: Success in the cell.
        control_share: Success in its control.
        progress: Mean progress in the cell.
        gap: Cell minus control.
        progress_gap: The same of progress, over pairs; without them of the means, with no interval.
        progress_p: Sign-flip (permutation) test of it, corrected over the cells; None without scores.
        verdict: Decided by ``gap.corrected``.
        unfinished: Trials without a result.
    """

    policy: str
    cell: str
    axis: str
    level: str
    control: str
    share: Share
    control_share: Share
    progress: Average
    gap: Gap
    progress_gap: Average
    progress_p: float | None
    verdict: GapVerdict
    unfinished: int


@dataclass(frozen=True)
class ControlFinding:
    """One policy in one control."""

    policy: str
    control: str
    share: Share
    progress: Average
    unfinished: int


@dataclass(frozen=True)
class Ranked:
    """The ranks that something may have; 1 is best."""

    name: str
    estimate: float
    low: int
    high: int


@dataclass(frozen=True)
class Ranking:
    """An order, or why there is none.

    Attributes:
        of: "policies": by success in ``scope``, a cell. "cells": of one policy, ``scope``, by gap.
        scope: The cell, or the policy.
        supported: Whether the budget supports a ranking.
        pairs: Smallest number of pairs between any two that would be ranked.
        needed: Pairs that the claim needs.
        reason: One sentence for people, with the numbers.
        ranks: In the order of the estimates; empty where it is not supported.
        groups: Names among which no difference was found.
        apart: (better, worse): what the tests tell apart, also where the budget does not support an order of all.
    """

    of: Literal["policies", "cells"]
    scope: str
    supported: bool
    pairs: int
    needed: int
    reason: str
    ranks: tuple[Ranked, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class InterventionFinding:
    """How often one policy had to be helped in one cell or control; only trials in which somebody counted.

    Attributes:
        policy: Label.
        cell: Name of cell, control, target or suite.
        role: What the trials were for.
        intervened: Trials with at least one intervention.
        per_trial: Mean interventions a trial; None for none.
        unaided: Successes without any intervention, over finished trials.
    """

    policy: str
    cell: str
    role: TrialRole
    intervened: Share
    per_trial: float | None
    unaided: Share


@dataclass(frozen=True)
class CurvePoint:
    """Success with K demonstrations."""

    k: int
    share: Share


@dataclass(frozen=True)
class Parameter:
    """An estimate with its profile-likelihood interval; None where it is not identified.

    Attributes:
        estimate: Maximum-likelihood estimate.
        low: Lower end.
        high: Upper end; None: there is none.
    """

    estimate: float
    low: float
    high: float | None


@dataclass(frozen=True)
class Band:
    """The curve over K, and between which bounds it lies at each K.

    Attributes:
        k: Values of K.
        curve: The fitted curve.
        low: Lower ends, pointwise; monotone.
        high: Upper ends, pointwise; monotone.
    """

    k: tuple[float, ...]
    curve: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class CurveFinding:
    """The few-shot curve of one policy, target and adaptation method.

    Attributes:
        policy: Label.
        target: The target task.
        method: Adaptation method.
        points: Observed success at every K with a finished trial, in the order of K.
        s0: Zero-shot rate; None where nothing can be fitted.
        s_inf: Rate at saturation; None where nothing can be fitted, or the largest K is too small to see it.
        tau: Demonstrations after which 63 % of the rise is done; None: not identified.
        unidentified: Why tau is None; None where it is a number.
        tau_at_most: Upper end of tau's interval, where tau is not identified but bounded.
        tau_at_least: Lower end of tau's interval, where tau is not identified but bounded.
        flat_p: Of "success does not depend on K".
        matched: Whether all K had the same starts.
        band: For the plot; None where nothing can be fitted.
    """

    policy: str
    target: str
    method: str
    points: tuple[CurvePoint, ...]
    s0: Parameter | None
    s_inf: Parameter | None
    tau: Parameter | None
    unidentified: Unidentified | None
    tau_at_most: float | None
    tau_at_least: float | None
    flat_p: float | None
    matched: bool
    band: Band | None


@dataclass(frozen=True)
class RetentionFinding:
    """The seen suite after adaptation beside the same starts before it.

    Attributes:
        policy: Label.
        suite: The seen suite.
        method: Adaptation method.
        k: Demonstrations.
        before: Success of the frozen checkpoint, over the pairs.
        after: Success after adaptation, over the pairs.
        change: After minus before; its corrected p-value, of "nothing changed", by Holm over the same claims.
        ratio: After over before; None where nothing succeeded before.
        ratio_interval: Of the ratio, paired.
        margin: Largest loss that counts as retained.
        p_value: Of "the loss is the margin or more".
        corrected: The same, by Holm over the methods and K of the policy and suite.
        verdict: Decided by ``corrected``.
        needed: Pairs from which on a true loss of nothing would be shown with the study's power; None: undefined.
    """

    policy: str
    suite: str
    method: str
    k: int
    before: Share
    after: Share
    change: Gap
    ratio: float | None
    ratio_interval: Interval | None
    margin: float
    p_value: float | None
    corrected: float | None
    verdict: RetentionVerdict
    needed: int | None


@dataclass(frozen=True)
class Findings:
    """Everything that one set of trials came to."""

    trials: int
    unfinished: int
    cells: tuple[CellFinding, ...]
    controls: tuple[ControlFinding, ...]
    rankings: tuple[Ranking, ...]
    interventions: tuple[InterventionFinding, ...]
    curves: tuple[CurveFinding, ...]
    retention: tuple[RetentionFinding, ...]
