"""A comparison in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vlassess.report.text import interval, one_line, percent
from vlassess.schema.comparison import ArmSummary, Comparison, Effect, TwoArms
from vlassess.schema.interval import Interval


def render_comparison(found: Comparison) -> Group:
    """Return the tables of a comparison and what must be known of it; texts are shown as they are."""
    parts: list[RenderableType] = [_arms(found.arms)]
    for two in found.comparisons:
        parts += [Text(one_line(f"{two.a} against {two.b}"), style="bold"), _effects(two), *map(_plain, sentences(two))]
    if found.ranks:
        parts.append(_ranks(found))
    parts += [_marked("note", line) for line in (*found.notes, *found.design.notes)]
    parts += [_marked("warning", line) for line in found.design.changes]
    parts += [_marked("holds" if gate.passed else "FAILS", f"{gate.name} {gate.sentence}") for gate in found.gates]
    parts.append(Text(one_line(found.verdict, 1000), style="bold"))
    return Group(*parts)


def sentences(two: TwoArms) -> list[str]:
    """Return what is said of two arms beside the table, one sentence each."""
    pairing = two.pairing
    lines = [pairing.reason]
    lines += [f"{dropped.count} in no pair, {dropped.reason}: {dropped.examples[0]}" for dropped in pairing.dropped]
    if pairing.doubtful:
        why = "; ".join(f"{count} {doubt}" for doubt, count in pairing.doubts.items())
        without = "no pair is left without them"
        if two.without_doubtful is not None:
            without = f"without them {points(two.without_doubtful.difference)} {span(two.without_doubtful.interval)}"
        lines.append(f"{pairing.doubtful} pairs are doubtful ({why}): {without}.")
    lines += [f"For {claim.about}: {points(claim.difference)} {span(claim.interval)}" for claim in two.repeats]
    if two.sequential is not None:
        now = two.sequential
        state = f"decided after block {now.decided_at}" if now.decided else "not decided"
        lines.append(
            f"Sequential: {state}, {now.blocks} of {now.planned_blocks} blocks finished; confidence sequence "
            f"{points(now.difference)} {span(now.interval)}, {p_told(now.p_value)} at every look."
        )
    if two.strata is not None:
        within = f"{points(two.strata.difference)} {span(two.strata.interval)}"
        lines.append(f"Within tasks: {within}, {p_told(two.strata.p_value)}.")
    lines.append(two.over_tasks.sentence)
    if two.progress is not None:
        lines.append(f"Mean progress: {points(two.progress.difference)}, {p_told(two.progress.p_value)} (permutation).")
    for name, test in (("Not worse", two.not_worse), ("Alike", two.equivalent)):
        if test is not None:
            shown = "shown" if test.shown else "not shown"
            lines.append(f"{name} within {100 * test.margin:g} points: {shown}, {p_told(test.p_value)}.")
    lines.append(two.blind_spot)
    return [*lines, *(f"{note}." for note in two.notes)]


def points(value: float | None) -> str:
    """Return a difference of rates as people read it ("+12.0 points")."""
    return "–" if value is None else f"{100 * value:+.1f} points"


def span(found: Interval | None) -> str:
    """Return an interval of a difference ("(+2.0 to +21.3)"), empty where it is undefined."""
    return "" if found is None else f"({100 * found.low:+.1f} to {100 * found.high:+.1f})"


def p_text(value: float | None) -> str:
    """Return a p-value with two digits."""
    return "–" if value is None else "< 0.0001" if value < 0.0001 else f"{value:.2g}"


def p_told(value: float | None) -> str:
    """Return a p-value as a sentence has it ("p = 0.03", "p < 0.0001")."""
    return f"p {p_text(value)}" if value is not None and value < 0.0001 else f"p = {p_text(value)}"


def _arms(arms: Sequence[ArmSummary]) -> Table:
    table = _table("policy", "success", "rate", "exact interval", "errors", "missing", "from")
    for arm in arms:
        name = f"{arm.label} (upper bound)" if arm.privileged else arm.label
        row = (name, f"{arm.success}/{arm.n}", percent(arm.rate), interval(arm.interval))
        table.add_row(*(Text(one_line(cell)) for cell in (*row, str(arm.errors), str(arm.missing), arm.source)))
    return table


def _effects(two: TwoArms) -> Table:
    table = _table("task", two.a, two.b, "A − B, points", "interval", "only A", "only B", "p")
    for group in two.tasks if len(two.tasks) > 1 else ():
        table.add_row(*_cells(group.name, group.effect))
    table.add_section()
    table.add_row(*_cells(f"overall: {two.overall.test}", two.overall), style="bold")
    for group in two.cells:
        table.add_row(*_cells(group.name, group.effect))
    return table


def _cells(name: str, effect: Effect) -> list[Text]:
    counts = ["–" if count is None else str(count) for count in (effect.only_a, effect.only_b)]
    difference = "–" if effect.difference is None else f"{100 * effect.difference:+.1f}"
    cells = [percent(effect.rate_a), percent(effect.rate_b), difference, span(effect.interval), *counts]
    return [Text(one_line(cell)) for cell in (name, *cells, p_text(effect.p_value))]


def _ranks(found: Comparison) -> Table:
    table = _table("policy", "rank")
    for rank in found.ranks:
        table.add_row(
            Text(one_line(rank.label)), str(rank.low) if rank.low == rank.high else f"{rank.low} to {rank.high}"
        )
    return table


def _table(*names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, name in enumerate(names):
        table.add_column(Text(one_line(name)), justify="right" if number else "left", overflow="fold")
    return table


def _plain(line: str) -> Text:
    return Text(one_line(line, 1000))


def _marked(mark: str, line: str) -> Text:
    styles = {"note": "dim", "warning": "bold yellow", "FAILS": "bold red", "holds": "bold green"}
    return Text(f"{mark}: ", style=styles[mark]).append(one_line(line, 1000), style="not bold")
