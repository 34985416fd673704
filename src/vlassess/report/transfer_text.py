"""What people read of a transfer study: each figure's caption, and what may be concluded from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vlassess.report.comparison import points, span
from vlassess.report.text import number, percent
from vlassess.schema.findings import (
    CellFinding,
    CurveFinding,
    Findings,
    InterventionFinding,
    Parameter,
    Ranking,
    RetentionFinding,
    Unidentified,
)
from vlassess.schema.transfer import RealityCheck, Rules, TransferAnalysis

LISTED = 6
"""Names in one sentence."""
Invalid = frozenset[tuple[str, str]]
"""(policy, cell) whose audit is violated: their figures say nothing."""
WHY = {
    "too few K": "fewer than three values of K were tried",
    "flat": "success is not shown to depend on K",
    "largest K below 2 tau": "the largest K is below 2 tau, so that saturation was not seen",
    "risen before the smallest K": "all of the change is over at the smallest K above 0",
    "interval beyond the largest K": "its interval reaches beyond the largest K; saturation may not have been seen",
}


class Caption(NamedTuple):
    """What a figure says by itself.

    Attributes:
        varied: What was varied.
        against: Against what it is measured.
        trials: How many trials it rests on.
        shown: How to read it.
        concluded: What may be concluded, a sentence each.
    """

    varied: str
    against: str
    trials: str
    shown: str
    concluded: tuple[str, ...]


def cells_caption(found: Findings, rules: Rules, invalid: Invalid) -> Caption:
    """Return what the heat map and the bars say."""
    axes = list(dict.fromkeys(cell.axis for cell in found.cells))
    controls = list(dict.fromkeys(cell.control for cell in found.cells))
    return Caption(
        varied=f"one factor a cell, {some(axes)}; the policies are as they were trained, with K = 0 demonstrations of "
        "what is new",
        against=f"the control, the seen task in the same scene ({some(controls)})"
        + (", from the same starts" if any(cell.gap.paired for cell in found.cells) else ""),
        trials=f"{spread([cell.share.n for cell in found.cells])} a cell and policy, of which "
        f"{spread([cell.gap.pairs for cell in found.cells])} are compared with their control",
        shown="tiles have the success rate and the gap to the control in points; "
        f"a star or a filled dot marks a gap that is told from 0, at alpha = {rules.alpha:g} "
        + ("" if rules.correction == "none" else f"over all cells of the policy ({_named(rules.correction)})"),
        concluded=tuple(cell_sentences(found.cells, invalid)),
    )


def cell_sentences(cells: Sequence[CellFinding], invalid: Invalid) -> Iterator[str]:
    """Yield, for each policy, which factors break it, what its other cells leave open, and which are invalid."""
    for policy in dict.fromkeys(cell.policy for cell in cells):
        own = [cell for cell in cells if cell.policy == policy and (policy, cell.cell) not in invalid]
        for verdict, word in (("worse", "lowered"), ("better", "raised")):
            told = sorted((one for one in own if one.verdict == verdict), key=lambda one: -abs(one.gap.difference or 0))
            if told:
                names = some([f"{one.cell} ({points(one.gap.difference)} {span(one.gap.interval)})" for one in told])
                yield f"{policy}: success is {word} by {names}."
        left = [one for one in own if one.verdict == "no difference found"]
        if left:
            lowest = min((one.gap.interval.low for one in left if one.gap.interval is not None), default=None)
            hidden = (
                "" if lowest is None or lowest >= 0 else f"; losses of up to {-100 * lowest:.0f} points may be there"
            )
            yield f"{policy}: no difference is found for {some([one.cell for one in left])}{hidden}."
        void = [cell.cell for cell in cells if cell.policy == policy and (policy, cell.cell) in invalid]
        if void:
            yield f"{policy}: nothing may be concluded from {some(void)}, where more than the factor changed."


def ranking_sentences(rankings: Sequence[Ranking]) -> Iterator[str]:
    """Yield what may be said of the orders of policies and of cells."""
    for kind, ranked in (("policies", "policies in a cell"), ("cells", "cells by how much they take")):
        own = [one for one in rankings if one.of == kind]
        refused = [one for one in own if not one.supported]
        if refused:
            fewest, most = min(one.pairs for one in refused), max(one.needed for one in refused)
            where = "" if len(refused) == len(own) else f" in {len(refused)} of {len(own)}"
            yield f"A ranking of {ranked} is not supported{where}: {fewest} matched starts of up to {most} needed."
        supported = [one for one in own if one.supported]
        if supported:
            yield f"A ranking of {ranked} is supported in {len(supported)} of {len(own)}."


def curves_caption(curves: Sequence[CurveFinding], rules: Rules) -> Caption:
    """Return what the few-shot curves say."""
    k = sorted({point.k for curve in curves for point in curve.points})
    methods = list(dict.fromkeys(curve.method for curve in curves))
    return Caption(
        varied=f"the number of demonstrations of the target task, K = {', '.join(str(value) for value in k)}, and how "
        f"the policy was adapted with them: {some(methods)}",
        against="the checkpoint before adaptation, K = 0"
        + (", on the same starts" if all(curve.matched for curve in curves) else ""),
        trials=f"{spread([point.share.n for curve in curves for point in curve.points])} at each K",
        shown=f"dots are observed rates with exact {100 * (1 - rules.alpha):g} % intervals, lines the fitted curves "
        "with their bands, a dotted vertical line tau where it is identified; K is laid out by its root",
        concluded=tuple(curve_sentence(curve) for curve in curves),
    )


def curve_sentence(curve: CurveFinding) -> str:
    """Return what a curve tells of how many demonstrations are needed."""
    name = f"{curve.policy} adapted by {curve.method}, on {curve.target}"
    if curve.tau is not None and curve.s0 is not None and curve.s_inf is not None:
        return (
            f"{name}: from {percent(curve.s0.estimate)} without demonstrations "
            f"towards {percent(curve.s_inf.estimate)}; "
            f"63 % of the way takes tau = {parameter(curve.tau)} demonstrations."
        )
    return f"{name}: {tau_text(curve)}."


def tau_text(curve: CurveFinding) -> str:
    """Return tau with its interval, or that it is not identified and why."""
    if curve.tau is not None:
        return parameter(curve.tau)
    bound = ""
    if curve.tau_at_most is not None and curve.unidentified == "risen before the smallest K":
        bound = f"; it is at most {number(curve.tau_at_most)}"
    elif curve.tau_at_least is not None:
        bound = f"; it is at least {number(curve.tau_at_least)}"
    return f"tau is not identified ({why(curve.unidentified)}{bound})"


def why(reason: Unidentified | None) -> str:
    """Return why tau is no number."""
    return "" if reason is None else WHY[reason]


def parameter(found: Parameter | None, share: bool = False) -> str:
    """Return a parameter with its interval, as a percentage where it is a rate; None is a dash."""
    if found is None:
        return "–"
    if share:
        return f"{percent(found.estimate)} [{100 * found.low:.1f}, {100 * (found.high or 0.0):.1f}]"
    high = "∞" if found.high is None else f"{found.high:.3g}"
    return f"{found.estimate:.3g} [{found.low:.3g}, {high}]"


def retention_caption(retention: Sequence[RetentionFinding], curves: Sequence[CurveFinding]) -> Caption:
    """Return what the plot of success and retention says."""
    first = retention[0]
    methods = list(dict.fromkeys(one.method for one in retention))
    k = sorted({one.k for one in retention})
    return Caption(
        varied=f"how the policy was adapted ({some(methods)}) and with how many demonstrations, "
        f"K = {', '.join(str(value) for value in k)}",
        against=f"the same checkpoint before adaptation, on the same starts of the seen suite ({first.suite})",
        trials=f"{spread([one.change.pairs for one in retention])} pairs of the seen suite for each method and K"
        + (
            f"; {spread([p.share.n for c in curves for p in c.points])} trials of the target at each K"
            if curves
            else ""
        ),
        shown="solid, round: success on the target; dashed, square: the seen suite; the grey area below the line is "
        f"the margin of {100 * first.margin:g} points",
        concluded=tuple(retention_sentences(retention)),
    )


def retention_sentences(retention: Sequence[RetentionFinding]) -> Iterator[str]:
    """Yield, for each adaptation method and suite, what is retained, what is forgotten, and what is not decided."""
    for policy, method, suite in dict.fromkeys((one.policy, one.method, one.suite) for one in retention):
        own = [one for one in retention if (one.policy, one.method, one.suite) == (policy, method, suite)]
        parts = []
        for verdict in ("retained", "forgotten", "lower", "not shown"):
            told = [one for one in own if one.verdict == verdict]
            if told:
                changes = ", ".join(f"K = {one.k} ({points(one.change.difference)})" for one in told)
                parts.append(f"{_verdict_words(verdict, told[0].margin)} at {changes}")
        needed = [one.needed for one in own if one.verdict == "not shown" and one.needed is not None]
        more = f"; if nothing was lost, about {max(needed)} pairs would show it" if needed else ""
        if parts:
            yield f"{policy} adapted by {method}, on the seen suite {suite}: {'; '.join(parts)}{more}."


def help_caption(rows: Sequence[InterventionFinding]) -> Caption:
    """Return what the figure of interventions says."""
    policies = list(dict.fromkeys(row.policy for row in rows))
    told = []
    for policy in policies:
        own = [row for row in rows if row.policy == policy]
        helped, n = sum(row.intervened.successes for row in own), sum(row.intervened.n for row in own)
        told.append(
            f"{policy}: somebody helped in {helped} of {n} trials ({percent(helped / n)}); what succeeded with help "
            "is not transfer."
            if helped
            else f"{policy}: nobody helped in any of {n} trials."
        )
    return Caption(
        varied="the same cells and controls",
        against="nothing: how often a policy has to be helped is an outcome of its own",
        trials=f"{spread([row.intervened.n for row in rows])} a row, those in which somebody counted",
        shown="left, the share of trials in which somebody intervened; right, the share that succeeded without",
        concluded=tuple(told),
    )


def reality_caption(check: RealityCheck, rules: Rules) -> Caption:
    """Return what simulation beside reality says."""
    differ = [row for row in check.discrepancies if row.corrected <= rules.alpha]
    told = []
    for one in check.agreements[:1]:
        measures = (
            ("Kendall's tau", one.tau, one.tau_interval),
            ("Pearson's r", one.pearson, one.pearson_interval),
            ("mean maximum rank violation", one.mmrv, one.mmrv_interval),
        )
        known = ", ".join(
            f"{name} {number(value)} {plain(span)}" for name, value, span in measures if value is not None
        )
        told.append(f"Simulation and robot rank {len(one.policies)} policies, {one.scope}: {known}.")
        if len(one.policies) < 4:
            told.append(f"With {len(one.policies)} policies these say little about policies that were not run.")
    told.append(
        f"Rates differ in {len(differ)} of {len(check.discrepancies)} (policy, cell) (Boschloo, Holm): squares."
        if differ
        else f"In none of {len(check.discrepancies)} (policy, cell) are the rates shown to differ, which is no "
        "proof that they are alike."
    )
    return Caption(
        varied="where the same policies ran in the same cells: in simulation and on the robot",
        against="the diagonal, on which both have the same rate",
        trials=f"{spread([row.simulated.n for row in check.discrepancies])} simulated and "
        f"{spread([row.real.n for row in check.discrepancies])} real ones a dot",
        shown="a dot a policy and cell, with exact intervals both ways",
        concluded=tuple(told),
    )


def headlines(found: TransferAnalysis, invalid: Invalid) -> tuple[str, ...]:
    """Return what a study says, in a few sentences."""
    every = found.every
    lines = [*_cell_headlines(every.cells, invalid), *ranking_sentences(every.rankings)]
    lines += [curve_sentence(curve) for curve in every.curves]
    lines += list(retention_sentences(every.retention))
    if found.reality is not None and found.reality.discrepancies:
        lines.append(reality_caption(found.reality, found.rules).concluded[0])
    return tuple(lines)


def _cell_headlines(cells: Sequence[CellFinding], invalid: Invalid) -> Iterator[str]:
    for policy in dict.fromkeys(cell.policy for cell in cells):
        own = [cell for cell in cells if cell.policy == policy and (policy, cell.cell) not in invalid]
        worse = sorted((cell for cell in own if cell.verdict == "worse"), key=lambda cell: cell.gap.difference or 0)
        left = sum(cell.verdict == "no difference found" for cell in own)
        if worse:
            names = some([f"{cell.cell} ({points(cell.gap.difference)})" for cell in worse], 3)
            yield f"{policy}: {names} lower success; for {left} of {len(own)} cells no difference is found."
        elif own:
            yield f"{policy}: no cell is shown to lower success; for {left} of {len(own)} no difference is found."


def plain(found: tuple[float, float] | None) -> str:
    """Return an interval of plain numbers; None is nothing."""
    return "" if found is None else f"[{found[0]:.2f}, {found[1]:.2f}]"


def some(names: Sequence[str], most: int = LISTED) -> str:
    """Return names as a list of at most ``most``."""
    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def spread(counts: Sequence[int]) -> str:
    """Return counts as one number, or from the smallest to the largest."""
    if not counts:
        return "0"
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _named(correction: str) -> str:
    return {"holm": "Holm", "benjamini-hochberg": "Benjamini-Hochberg"}[correction]


def _verdict_words(verdict: str, margin: float) -> str:
    return {
        "retained": f"retained (a loss below {100 * margin:g} points is shown)",
        "forgotten": f"forgotten (a loss above {100 * margin:g} points is shown)",
        "lower": f"lower (a loss is shown, but not whether it is above {100 * margin:g} points)",
        "not shown": "not decided",
    }[verdict]
