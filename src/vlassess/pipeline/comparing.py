"""A whole comparison: sources in, numbers, gates and reproductions out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vlassess.comparison import ComparisonRefusedError, design_of, match
from vlassess.comparison.compare import compare, control_of
from vlassess.pipeline.arms import arms_of
from vlassess.schema.arms import Arm
from vlassess.schema.comparison import Comparison, GateResult, ReproductionResult, TwoArms
from vlassess.stats.equivalence import reproduction
from vlassess.stats.paired import PairedTable, paired_table

MARGIN = 0.05
"""What still counts as the published score where no margin is declared: five points."""


@dataclass(frozen=True)
class Question:
    """What is asked of the arms.

    Attributes:
        asked: Parts of the design that are asked for now: test, alpha, sides, margin.
        require_better: The first arm must be better than every other.
        require_not_worse: The first arm must not be worse than any other by this margin.
        published: A rate that the first arm should reproduce.
        published_n: Its episodes.
    """

    asked: Mapping[str, Any] = field(default_factory=dict)
    require_better: bool = False
    require_not_worse: float | None = None
    published: float | None = None
    published_n: int | None = None

    @property
    def needs_two(self) -> bool:
        """Whether it is about more than one arm."""
        return self.require_better or self.require_not_worse is not None or self.published is None


def compare_sources(sources: Sequence[str], question: Question) -> Comparison:
    """Compare runs, and files of others.

    Raises:
        ComparisonRefusedError: there is nothing to compare, or it cannot be.
        VlassessError: a source cannot be read.
    """
    arms = arms_of(sources)
    if len(arms) < 2 and question.needs_two:
        raise ComparisonRefusedError(
            f"{sources[0]} has one policy, {arms[0].label!r}; give another run, or a published rate with --published"
        )
    asked = dict(question.asked)
    if question.require_not_worse is not None:
        asked["margin"] = question.require_not_worse
    arms = one_naming(arms)
    found = compare(arms, design_of(arms, asked))
    first = arms[0]
    others = [two for two in found.comparisons if two.a == first.label and not _privileged(arms, two.b)]
    reproduced = _reproductions(first, found, question)
    gates = (*_gates(first, others, question), *map(_published, reproduced))
    return found.model_copy(update={"gates": gates, "reproductions": reproduced})


def one_naming(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Return the arms without suites if one of them knows none, and no name is that of two tasks."""
    named = [{(trial.suite, trial.task) for trial in arm.trials} for arm in arms]
    unknown = any(tasks and not any(suite for suite, _ in tasks) for tasks in named)
    if not unknown or any(len({task for _, task in tasks}) < len(tasks) for tasks in named):
        return tuple(arms)
    bare = [tuple(dataclasses.replace(trial, suite="") for trial in arm.trials) for arm in arms]
    return tuple(dataclasses.replace(arm, trials=trials) for arm, trials in zip(arms, bare, strict=True))


def pilot_table(sources: Sequence[str]) -> PairedTable:
    """Return the counts of the pairs that two pilot runs have, one a start.

    Raises:
        ComparisonRefusedError: there are not two arms, or no pair; says why.
    """
    arms = arms_of(sources)
    if len(arms) != 2:
        names = ", ".join(arm.label for arm in arms)
        raise ComparisonRefusedError(f"a pilot has two arms, these are {len(arms)} ({names}); name them as RUN:LABEL")
    pairing = match(*arms)
    if not pairing.starts:
        why = pairing.impossible or "no start has the same measured state in both"
        raise ComparisonRefusedError(f"the pilot's runs have no pair: {why}; run both from the same seed")
    pairs = [(start.a[0].success, start.b[0].success) for start in pairing.starts]
    return paired_table(*zip(*pairs, strict=True))


def _privileged(arms: Sequence[Arm], label: str) -> bool:
    return any(arm.privileged for arm in arms if arm.label == label)


def _gates(first: Arm, others: Sequence[TwoArms], question: Question) -> tuple[GateResult, ...]:
    wanted = question.require_better or question.require_not_worse is not None
    if wanted and first.privileged:
        raise ComparisonRefusedError(
            f"{first.label} is privileged, an upper bound only; give the policy under test first"
        )
    if wanted and not others:
        raise ComparisonRefusedError("a gate needs another arm that is not privileged; give the run to compare with")
    gates = []
    if question.require_better:
        lacking = [two for two in others if two.better != first.label]
        gates.append(GateResult(name="--require-better", passed=not lacking, sentence=_told(others, lacking)))
    if question.require_not_worse is not None:
        lacking = [two for two in others if two.not_worse is None or not two.not_worse.shown]
        gates.append(GateResult(name="--require-not-worse", passed=not lacking, sentence=_told(others, lacking)))
    return tuple(gates)


def _published(one: ReproductionResult) -> GateResult:
    of = "" if one.published_n is None else f" of {one.published_n} episodes"
    low, high = one.interval
    told = (
        f"{one.label} is {100 * one.difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f}) from the published "
        f"{100 * one.published:.1f} %{of}: {one.verdict} within {100 * one.margin:g} points"
    )
    return GateResult(name="--published", passed=one.verdict != "not reproduced", sentence=told)


def _told(others: Sequence[TwoArms], lacking: Sequence[TwoArms]) -> str:
    if not lacking:
        return f"holds against {', '.join(two.b for two in others)}"
    return f"is not shown against {', '.join(two.b for two in lacking)}"


def _reproductions(first: Arm, found: Comparison, question: Question) -> tuple[ReproductionResult, ...]:
    if question.published is None:
        return ()
    margin = found.design.margin or MARGIN
    scored = [trial for trial in control_of(first) if trial.scored]
    judged = reproduction(
        sum(trial.success for trial in scored),
        len(scored),
        question.published,
        question.published_n,
        margin,
        found.design.alpha,
    )
    return (
        ReproductionResult(
            label=first.label,
            published=question.published,
            published_n=question.published_n,
            margin=margin,
            difference=judged.difference,
            interval=judged.interval,
            p_value=judged.equivalence.p_value,
            verdict=judged.verdict,
        ),
    )
