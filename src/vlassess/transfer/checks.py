"""Whether a study measures what it says: one axis a cell, its control beside it, matched starts, objects held out.

Each rule gives one finding. What cannot be seen from the plan is said to be so; it is never "ok".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from vlassess.schema.study import FewShotConfig
from vlassess.transfer.design import Design, control_of
from vlassess_link.specs import BenchmarkSpec

Verdict = Literal["ok", "refused", "cannot be audited", "note"]
"""`refused`: the study may not be locked."""

SHOWN = 5


@dataclass(frozen=True)
class Check:
    """One rule, and how the study keeps it."""

    rule: str
    verdict: Verdict
    sentence: str


@dataclass(frozen=True)
class Demonstrated:
    """What is known of the demonstrations of the adapted checkpoints.

    Attributes:
        starts: Seeds and pair keys; None: nobody has said.
        problem: Why the file that should say cannot be read; empty where it can.
    """

    starts: frozenset[str] | None = None
    problem: str = ""


def checks_of(
    design: Design, spec: BenchmarkSpec | None, evaluated: Collection[str], demonstrated: Demonstrated
) -> tuple[Check, ...]:
    """Return what can be said of a study before its first trial.

    Args:
        design: The study.
        spec: What its benchmark declares; None for a study by hand.
        evaluated: Seeds and pair keys of the starts of the few-shot cell.
        demonstrated: What its demonstrations started from.
    """
    found = [_one_axis(design, spec), _control_beside(design), *_matched(design, spec)]
    if design.config.few_shot is not None:
        found += [*_objects_apart(design.config.few_shot), *_starts_apart(evaluated, demonstrated)]
    found += [_blocks(design), _blind(design)]
    return tuple(found)


def _one_axis(design: Design, spec: BenchmarkSpec | None) -> Check:
    rule = "one axis a cell"
    by_suite = [cell for cell in design.cells if cell.suite is not None]
    twice = [cell.name for cell in design.cells if cell.axis in cell.within]
    if twice:
        return Check(rule, "refused", f"{_some(twice)}: the axis is fixed by the cell's own scene too")
    if spec is None:
        return Check(
            rule,
            "cannot be audited",
            "trials are done by hand: that one factor alone differs is the word of who does them",
        )
    if by_suite:
        return Check(
            rule,
            "cannot be audited",
            f"{_some([cell.name for cell in by_suite])}: {spec.name} declares no such factor, so whether the suites "
            "differ in one thing only is the word of who made them",
        )
    return Check(
        rule,
        "ok",
        f"{len(design.cells)} cells differ from their controls in one axis each; what reaches the policy is audited as "
        "it runs",
    )


def _control_beside(design: Design) -> Check:
    rule = "control in the same session and scene"
    controls = tuple(dict.fromkeys(control_of(cell) for cell in design.cells))
    if any(cell.suite is not None for cell in design.cells):
        return Check(
            rule,
            "note",
            f"suites run in one run with their controls ({_some(controls)}), but one after the other: a drift in "
            "between would be in the gap",
        )
    return Check(rule, "ok", f"each cell is run with its control ({_some(controls)}), in one run and in the same scene")


def _matched(design: Design, spec: BenchmarkSpec | None) -> Iterator[Check]:
    rule = "matched starts"
    kinds = {axis.name: axis.control for axis in spec.axes} if spec is not None else {}
    loose = [cell.name for cell in design.cells if kinds.get(cell.axis) == "unpaired"]
    by_suite = [cell.name for cell in design.cells if cell.suite is not None]
    yield Check(rule, "ok", f"every policy gets the same {design.starts} starts in each cell")
    if loose:
        yield Check(
            rule, "note", f"{_some(loose)} change the start itself: their gap is a difference of independent rates"
        )
    if by_suite:
        yield Check(
            rule,
            "cannot be audited",
            f"{_some(by_suite)} are suites of their own: their gap to the control is a difference of independent rates",
        )


def _objects_apart(few: FewShotConfig) -> Iterator[Check]:
    rule = "evaluation objects held out"
    taught, tried = few.demonstrations.objects, few.objects
    both = [name for name in tried if name in taught]
    if both:
        yield Check(
            rule, "refused", f"{_some(both)}: in the demonstrations and in the evaluation; this would measure memory"
        )
    elif taught and tried:
        yield Check(
            rule, "ok", f"none of the {len(tried)} evaluation objects is among the {len(taught)} demonstrated ones"
        )
    elif taught or tried:
        side = "few_shot.objects" if taught else "few_shot.demonstrations.objects"
        yield Check(rule, "cannot be audited", f"{side} is not given, so the objects cannot be compared")


def _starts_apart(evaluated: Collection[str], demonstrated: Demonstrated) -> Iterator[Check]:
    rule = "evaluation starts held out"
    if demonstrated.problem:
        yield Check(rule, "cannot be audited", demonstrated.problem)
        return
    if demonstrated.starts is None:
        yield Check(
            rule,
            "cannot be audited",
            "few_shot.demonstrations.records is not given: what was demonstrated is not known",
        )
        return
    both = sorted(demonstrated.starts & set(evaluated))
    if both:
        yield Check(
            rule,
            "refused",
            f"{len(both)} of the evaluation's starts were demonstrated ({_some(both)}); take another seed",
        )
        return
    yield Check(rule, "ok", f"none of the {len(demonstrated.starts)} demonstrated starts is among the evaluation's")


def _blocks(design: Design) -> Check:
    several = len(design.config.policies)
    by_hand = design.config.real is not None
    told = "the sheet is a block a start, each in a random order of policies and cells" if by_hand else ""
    together = "policies" if any(cell.suite is not None for cell in design.cells) else "cells and policies"
    simulated = f"simulated trials are handed out start by start, with all {together} of a start together"
    parts = [part for part in (told, simulated if design.parts else "") if part]
    return Check("blocks over policies", "ok", "; ".join(parts) + ("" if several > 1 else "; there is one policy"))


def _blind(design: Design) -> Check:
    if design.config.real is None:
        return Check(
            "blind labels", "ok", "nobody watches: simulated policies are told neither their label nor the cell"
        )
    return Check(
        "blind labels",
        "ok",
        "the sheet has codes, drawn at random as the study is locked; the key is a file of its own",
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
