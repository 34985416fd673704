"""The whole comparison of two or more arms."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vlassess.comparison import effects
from vlassess.comparison.arms import check_arms
from vlassess.comparison.effects import Sample, effect_of, paired_sample, unpaired_sample
from vlassess.comparison.pairing import Drop, Pairing, Start, match
from vlassess.comparison.racing import race_between
from vlassess.comparison.words import blind_spot, overall_verdict, verdict
from vlassess.schema.arms import Arm, Cell, Trial
from vlassess.schema.comparison import (
    ArmSummary,
    Comparison,
    Design,
    DiscordantPair,
    Dropped,
    Effect,
    Group,
    MarginResult,
    PairingReport,
    Rank,
    SequentialResult,
    StrataEffect,
    TwoArms,
)
from vlassess.stats.equivalence import equivalent, equivalent_paired, not_worse, not_worse_paired
from vlassess.stats.many import benjamini_hochberg, better, holm, indistinguishable, rank_intervals
from vlassess.stats.rates import clopper_pearson

EXAMPLES = 5
"""How many dropped starts are shown of each reason."""


@dataclass(frozen=True)
class Matched:
    """Two arms, what was paired of their control, and what they are compared on."""

    a: Arm
    b: Arm
    pairing: Pairing
    sample: Sample


def compare(arms: Sequence[Arm], design: Design) -> Comparison:
    """Compare every two arms; a single one is only described.

    Raises:
        ComparisonRefusedError: the arms cannot be compared.
    """
    check_arms(arms)
    found = [_two(a, b, design) for a, b in itertools.combinations(arms, 2)]
    fair = [arm.label for arm in arms if not arm.privileged]
    adjusted = _adjusted(found, fair, design)
    summaries = tuple(_summary(arm, design) for arm in arms)
    ranks, groups = _ranks(adjusted, fair, design)
    return Comparison(
        design=design,
        arms=summaries,
        comparisons=tuple(adjusted),
        ranks=ranks,
        groups=groups,
        reproductions=(),
        gates=(),
        verdict=overall_verdict(summaries, adjusted, groups),
        notes=tuple(f"{arm.label}: {note}" for arm in arms for note in _notes(arm)),
    )


def control_of(arm: Arm) -> tuple[Trial, ...]:
    """Return the arm's unperturbed episodes; all of them where it has no control."""
    control = tuple(trial for trial in arm.trials if not trial.cell)
    return control or arm.trials


def matched(a: Arm, b: Arm, cell: Cell = ()) -> Matched:
    """Return two arms with what can be compared of one cell: pairs where there are any, else all episodes."""
    pairing = match(a, b, cell)
    if pairing.starts:
        return Matched(a, b, pairing, paired_sample(pairing.starts))
    mine, theirs = ([trial for trial in arm.trials if trial.cell == cell] for arm in (a, b))
    return Matched(a, b, pairing, unpaired_sample(mine, theirs))


def _two(a: Arm, b: Arm, design: Design) -> TwoArms:
    race = race_between(a, b, design.alpha)
    if race is not None:
        a, b = race.a, race.b  # beyond the finished blocks short episodes are too many, and these are successes
    found = matched(a, b)
    overall = effect_of(found.sample, design)
    sequential = None if race is None else race.result
    strata = effects.strata_of(found.sample, design)
    progress = effects.progress_of(found.sample)
    decisive = {
        "exact": overall.p_value,
        "stratified": None if strata is None else strata.p_value,
        "progress": None if progress is None else progress.p_value,
        "sequential": None if sequential is None else sequential.p_value,
    }[design.test]
    sure = found.pairing.sure
    doubtful = 0 < len(sure) < len(found.pairing.starts)
    likeness = _likeness(found.sample, overall, design)
    return TwoArms(
        a=a.label,
        b=b.label,
        pairing=_report(found),
        overall=_headline(overall, None if found.sample.paired else strata, sequential, design),
        without_doubtful=effect_of(paired_sample(sure), design) if doubtful else None,
        repeats=effects.claims_of(found.sample),
        over_tasks=effects.over_tasks(found.sample, design),
        strata=strata,
        progress=progress,
        sequential=sequential,
        not_worse=likeness[0],
        equivalent=likeness[1],
        decisive_p=decisive,
        adjusted_p=decisive,
        hochberg_p=decisive,
        better=None,
        blind_spot=blind_spot(found.sample, design),
        verdict="",
        tasks=_tasks(found.sample, design),
        cells=_cells(a, b, design),
        discordant=_discordant(found, a, b),
        notes=_pair_notes(found, decisive, design),
    )


def _headline(
    overall: Effect, strata: StrataEffect | None, sequential: SequentialResult | None, design: Design
) -> Effect:
    """Return the effect with the numbers of the deciding test: joined over unpaired tasks, or the sequential ones."""
    if design.test == "stratified" and strata is not None:
        return overall.model_copy(
            update={
                "difference": strata.difference,
                "interval": strata.interval,
                "method": "Mantel-Haenszel",
                "p_value": strata.p_value,
                "test": "Cochran-Mantel-Haenszel",
            }
        )
    if design.test != "sequential" or sequential is None:
        return overall
    return overall.model_copy(
        update={
            "difference": sequential.difference,
            "interval": sequential.interval,
            "method": "confidence sequence",
            "p_value": sequential.p_value,
            "test": "sequential",
        }
    )


def _adjusted(found: Sequence[TwoArms], fair: Sequence[str], design: Design) -> list[TwoArms]:
    """Return the comparisons with p-values adjusted for all fair ones, and with their verdicts."""
    telling = [i for i, two in enumerate(found) if two.decisive_p is not None and {two.a, two.b} <= set(fair)]
    raw = [found[i].decisive_p or 0.0 for i in telling]
    holms, hochbergs = (dict(zip(telling, list(adjust(raw)), strict=True)) for adjust in (holm, benjamini_hochberg))
    done = []
    for i, two in enumerate(found):
        adjusted = float(holms.get(i, two.decisive_p)) if two.decisive_p is not None else None
        updated = two.model_copy(
            update={
                "adjusted_p": adjusted,
                "hochberg_p": float(hochbergs[i]) if i in hochbergs else two.decisive_p,
                "better": _better(two, adjusted, design),
            }
        )
        done.append(updated.model_copy(update={"verdict": verdict(updated, design, fair)}))
    return done


def _better(two: TwoArms, p_value: float | None, design: Design) -> str | None:
    difference = _tested(two, design)
    if p_value is None or not difference or p_value > design.alpha:
        return None
    return two.a if difference > 0 else two.b


def _tested(two: TwoArms, design: Design) -> float | None:
    """Return the difference that the deciding test is about, whose sign says who is better."""
    if design.test == "progress" and two.progress is not None:
        return two.progress.difference
    return two.overall.difference


def _ranks(
    found: Sequence[TwoArms], fair: Sequence[str], design: Design
) -> tuple[tuple[Rank, ...], tuple[tuple[str, ...], ...]]:
    """Return ranks and groups of three or more fair arms."""
    if len(fair) < 3:
        return (), ()
    gaps, p_values = np.zeros((len(fair), len(fair))), np.ones((len(fair), len(fair)))
    for two in found:
        if two.a in fair and two.b in fair:
            place = fair.index(two.a), fair.index(two.b)
            gaps[place] = _tested(two, design) or 0.0
            p_values[place] = 1.0 if two.decisive_p is None else two.decisive_p
    known = better(gaps, p_values, design.alpha)
    ranks = tuple(
        Rank(label=label, low=one.low, high=one.high) for label, one in zip(fair, rank_intervals(known), strict=True)
    )
    return ranks, tuple(tuple(fair[i] for i in group) for group in indistinguishable(known))


def _report(found: Matched) -> PairingReport:
    pairing, a, b = found.pairing, found.a.label, found.b.label
    doubts = Counter(doubt for start in pairing.starts for doubt in start.doubts)
    pairs, refuted = len(pairing.starts), pairing.refuted
    if pairing.impossible:
        reason = f"{a} and {b} are compared unpaired: {pairing.impossible}."
    elif not pairs:
        why = ", ".join(f"{n} {reason}" for reason, n in Counter(drop.reason for drop in pairing.dropped).most_common())
        seeds = "; with another base seed every start is another" if refuted == pairing.shared else ""
        reason = f"{a} and {b} are compared unpaired: of {pairing.shared} shared keys none is a pair ({why}){seeds}."
    elif refuted:
        reason = (
            f"The runs of {a} and {b} are not paired: {refuted} of {pairing.shared} starts with one key began in "
            f"different states. Only the {pairs} whose measured states agree are used."
        )
    else:
        reason = f"{pairs} starts are shared: their keys match and their measured states agree within 1e-6."
    design = "unpaired" if not pairs else "partly paired" if refuted else "paired"
    return PairingReport(
        design=design,
        reason=reason,
        shared=pairing.shared,
        pairs=pairs,
        doubtful=pairs - len(pairing.sure),
        doubts=dict(doubts),
        dropped=_dropped(pairing.dropped),
    )


def _dropped(drops: Iterable[Drop]) -> tuple[Dropped, ...]:
    grouped: dict[str, list[Drop]] = {}
    for drop in drops:
        grouped.setdefault(drop.reason, []).append(drop)
    return tuple(
        Dropped(
            reason=reason,
            count=len(group),
            examples=tuple(f"{drop.place}: {drop.detail}" for drop in group[:EXAMPLES]),
        )
        for reason, group in grouped.items()
    )


def _likeness(sample: Sample, overall: Effect, design: Design) -> tuple[MarginResult | None, MarginResult | None]:
    """Return whether A is not worse than B, and whether they are alike; None without a margin."""
    margin = design.margin
    if margin is None or overall.difference is None or sample.repeated:
        return None, None
    if sample.paired:
        table = effects.table_of(sample)
        tests = not_worse_paired(table, margin, design.alpha), equivalent_paired(table, margin, design.alpha)
    else:
        counts = effects.counts_of(sample)
        tests = not_worse(*counts, margin, design.alpha), equivalent(*counts, margin, design.alpha)
    first, second = (MarginResult(margin=one.margin, p_value=one.p_value, shown=one.shown) for one in tests)
    return first, second


def _tasks(sample: Sample, design: Design) -> tuple[Group, ...]:
    return tuple(
        Group(name="/".join(part for part in task if part), paired=sample.paired, effect=effect_of(part, design))
        for task, part in effects.split(sample, effects.task_of).items()
    )


def _cells(a: Arm, b: Arm, design: Design) -> tuple[Group, ...]:
    common = dict.fromkeys(trial.cell for trial in a.trials if trial.cell)
    theirs = {trial.cell for trial in b.trials}
    groups = []
    for cell in (cell for cell in common if cell in theirs):
        sample = matched(a, b, cell).sample
        name = " ".join(f"{axis}={level}" for axis, level in cell)
        groups.append(Group(name=name, paired=sample.paired, effect=effect_of(sample, design)))
    return tuple(groups)


def _discordant(found: Matched, a: Arm, b: Arm) -> tuple[DiscordantPair, ...]:
    return tuple(
        DiscordantPair(
            place=one.place,
            better=a.label if one.success else b.label,
            item_a=one.item_id,
            item_b=other.item_id,
            video_a=one.video,
            video_b=other.video,
        )
        for start in found.pairing.starts
        for one, other in _each_pair(start)
        if one.success != other.success
    )


def _each_pair(start: Start) -> list[tuple[Trial, Trial]]:
    theirs = {trial.repeat: trial for trial in start.b}
    return [(trial, theirs[trial.repeat]) for trial in start.a if trial.repeat in theirs]


def _pair_notes(found: Matched, decisive: float | None, design: Design) -> tuple[str, ...]:
    notes = []
    if found.a.identities and found.a.identities == found.b.identities:
        notes.append(f"{found.a.label} and {found.b.label} have one identity: this compares a policy with itself")
    if found.sample.repeated:
        notes.append("starts were repeated: a start is one unit of evidence, whatever its repeats")
    hosts = [{trial.host for trial in arm.trials if trial.host} for arm in (found.a, found.b)]
    if all(hosts) and hosts[0] != hosts[1]:
        notes.append(
            "the arms ran on different machines, whose pictures may differ; states were compared, not pictures"
        )
    if not found.sample.paired:
        left = [
            len([t for t in control_of(arm) if t.scored]) - len(kept)
            for arm, kept in ((found.a, found.sample.a), (found.b, found.sample.b))
        ]
        if any(left):
            notes.append(f"episodes of tasks that only one of them ran are left out ({left[0]} and {left[1]})")
    if decisive is None:
        notes.append(f"the test {design.test!r} cannot be made of these records, so nothing is decided")
    return tuple(notes)


def _summary(arm: Arm, design: Design) -> ArmSummary:
    trials = control_of(arm)
    scored = [trial for trial in trials if trial.scored]
    success = sum(trial.success for trial in scored)
    return ArmSummary(
        label=arm.label,
        source=arm.source,
        benchmark=arm.benchmark,
        identity=arm.identities[0] if arm.identities else "unknown",
        privileged=arm.privileged,
        success=success,
        n=len(scored),
        rate=success / len(scored) if scored else None,
        interval=clopper_pearson(success, len(scored), 1 - design.alpha),
        errors=sum(trial.ended == "error" for trial in trials),
        missing=sum(trial.ended == "missing" for trial in trials),
    )


def _notes(arm: Arm) -> list[str]:
    found: Mapping[str, bool] = {
        "it is privileged: only ever an upper bound": arm.privileged,
        f"its pairing is not known: {arm.unpairable}": bool(arm.unpairable),
        arm.stopped: bool(arm.stopped),
    }
    return [*(text for text, holds in found.items() if holds), *arm.notes]
