"""A study's numbers in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vlassess.report.text import number, one_line, percent
from vlassess.schema.findings import (
    CellFinding,
    CurveFinding,
    Findings,
    InterventionFinding,
    Ranking,
    RetentionFinding,
    Share,
)
from vlassess.schema.interval import Interval
from vlassess.schema.study_account import StudyAccount
from vlassess.schema.transfer import RealityCheck, TransferAnalysis

LONGEST = 24
"""Width of a cell's name in a table, at least."""
NOT_SHOWN = 5


def render_transfer(facts: StudyAccount, analysis: TransferAnalysis) -> Group:
    """Return tables of cells, rankings, curves and retention, and what has to be known beside them."""
    source = "in simulation" if analysis.source == "simulation" else "on the robot"
    parts: list[RenderableType] = [*_findings(analysis.every, source)]
    if analysis.real is not None:
        parts += _findings(analysis.real.every, "on the robot")
    if analysis.reality is not None:
        parts += _reality(analysis.reality)
    return Group(*parts, *map(Text, _sentences(facts, analysis)))


def _findings(found: Findings, source: str) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for policy in dict.fromkeys(cell.policy for cell in found.cells):
        own = [cell for cell in found.cells if cell.policy == policy]
        parts.append(_cells(policy, own, source))
    if found.curves:
        parts.append(_curves(found.curves))
    if found.retention:
        parts.append(_retention(found.retention))
    helped = [one for one in found.interventions if one.intervened.successes]
    if helped:
        parts.append(_interventions(helped))
    if found.rankings:
        parts.append(_rankings(found.rankings))
    return parts


def _cells(policy: str, cells: Sequence[CellFinding], source: str) -> Table:
    longest = max((cell.cell[:LONGEST] for cell in cells), key=len)
    made = _table(f"{policy} {source}: cells against their controls", "gap: cell minus control, over the same starts")
    for name in (
        "cell",
        "control",
        "n",
        "rate",
        "95 %",
        "control",
        "gap",
        "95 %",
        "p (corrected)",
        "progress",
        "verdict",
    ):
        made.add_column(name, overflow="fold", min_width=len(longest) if name == "cell" else None)
    for cell in cells:
        gap = cell.gap
        made.add_row(
            *map(
                Text,
                (
                    one_line(cell.cell),
                    one_line(cell.control),
                    str(cell.share.n),
                    percent(cell.share.rate),
                    _points(cell.share.interval),
                    percent(cell.control_share.rate),
                    _signed(gap.difference),
                    _points(gap.interval),
                    number(gap.corrected),
                    percent(cell.progress.mean),
                    cell.verdict,
                ),
            )
        )
    return made


def _curves(curves: Sequence[CurveFinding]) -> Table:
    made = _table("few-shot curves: success with K demonstrations", "s(K) = s0 + (s_inf - s0)(1 - exp(-K / tau))")
    for name in ("policy", "target", "method", "success at K", "s0", "s_inf", "tau", "95 %"):
        made.add_column(name, overflow="fold")
    for curve in curves:
        points = ", ".join(f"{point.k}: {_rate(point.share)}" for point in curve.points)
        if curve.tau is not None:
            tau = number(curve.tau.estimate), f"{number(curve.tau.low)} to {number(curve.tau.high)}"
        else:
            tau = f"not identified ({curve.unidentified})", _bounds(curve)
        ends = [percent(None if one is None else one.estimate) for one in (curve.s0, curve.s_inf)]
        made.add_row(*map(Text, (one_line(curve.policy), one_line(curve.target), curve.method, points, *ends, *tau)))
    return made


def _retention(found: Sequence[RetentionFinding]) -> Table:
    margin = 100 * found[0].margin
    made = _table("retention on the seen suites", f"retained: the loss is shown to be below {margin:g} points")
    for name in ("policy", "suite", "method", "K", "n", "before", "after", "change", "95 %", "ratio", "verdict"):
        made.add_column(name, overflow="fold")
    for one in found:
        made.add_row(
            *map(
                Text,
                (
                    one_line(one.policy),
                    one_line(one.suite),
                    one.method,
                    str(one.k),
                    str(one.after.n),
                    percent(one.before.rate),
                    percent(one.after.rate),
                    _signed(one.change.difference),
                    _points(one.change.interval),
                    number(one.ratio),
                    one.verdict,
                ),
            )
        )
    return made


def _interventions(found: Iterable[InterventionFinding]) -> Table:
    made = _table("interventions", "unaided: successes in which nobody helped")
    for name in ("policy", "cell", "trials with help", "a trial", "unaided"):
        made.add_column(name, overflow="fold")
    for one in found:
        helped = f"{one.intervened.successes} of {one.intervened.n}"
        row = one_line(one.policy), one_line(one.cell), helped, number(one.per_trial), percent(one.unaided.rate)
        made.add_row(*map(Text, row))
    return made


def _rankings(found: Sequence[Ranking]) -> Table:
    made = _table("rankings", "")
    for name in ("of", "in", "ranking"):
        made.add_column(name, overflow="fold")
    for one in found:
        if one.supported:
            told = ", ".join(f"{rank.name} ({rank.low} to {rank.high})" for rank in one.ranks)
        else:
            told = f"not supported: {one.reason}"
        made.add_row(*map(Text, (one.of, one_line(one.scope), one_line(told, 400))))
    return made


def _reality(found: RealityCheck) -> list[RenderableType]:
    if not found.agreements:
        return []
    made = _table("simulation against the robot", "tau: Kendall's; MMRV: mean maximum rank violation, 0 is best")
    for name in ("scope", "policies", "tau", "95 %", "Pearson", "MMRV"):
        made.add_column(name, overflow="fold")
    for one in found.agreements:
        span = "–" if one.tau_interval is None else f"{one.tau_interval.low:.2f} to {one.tau_interval.high:.2f}"
        row = one_line(one.scope), ", ".join(one.policies), number(one.tau), span, number(one.pearson), number(one.mmrv)
        made.add_row(*map(Text, row))
    return [made]


def _sentences(facts: StudyAccount, analysis: TransferAnalysis) -> Iterable[str]:
    yield from analysis.notes
    if analysis.real is not None and facts.opened is None:
        yield "The codes are blind: `vlassess transfer unblind` opens them, and robot and simulation can be compared."
    for line in facts.audits:
        if line.verdict == "violated":
            yield f"INVALID: {line.cell} with {line.policy}, in no finding: {line.sentence}"
    unsure = [line for line in facts.audits if line.verdict not in ("ok", "violated")]
    if unsure:
        names = list(dict.fromkeys(line.cell for line in unsure))
        more = f" and {len(names) - NOT_SHOWN} more" if len(names) > NOT_SHOWN else ""
        yield f"The audit could not show that the factor was delivered alone in {', '.join(names[:NOT_SHOWN])}{more}."
    yield from (f"by hand: {one.sentence}" for one in facts.departures)
    for change in facts.changes:
        yield f"amended after {change.finished} trials: {', '.join(change.changes)} ({change.reason})"


def _table(title: str, caption: str) -> Table:
    return Table(
        title=Text(one_line(title)),
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )


def _rate(share: Share) -> str:
    return "–" if share.rate is None else f"{100 * share.rate:.0f} %"


def _points(found: Interval | None) -> str:
    return "–" if found is None else f"{100 * found.low:.1f}…{100 * found.high:.1f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f}"


def _bounds(curve: CurveFinding) -> str:
    if curve.tau_at_most is not None:
        return f"at most {number(curve.tau_at_most)}"
    return "" if curve.tau_at_least is None else f"at least {number(curve.tau_at_least)}"
