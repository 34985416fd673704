"""What people read of cells beside their controls."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from vlassess.report.comparison import p_text, span
from vlassess.report.findings import note, some, warning
from vlassess.report.text import interval, one_line, percent
from vlassess.schema.summary import CellResult, ComponentChange, GroupSummary, Notice, PolicySummary, Rate

MARKS = {"ok": "ok", "violated": "VIOLATED", "not witnessed": "not witnessed", "not audited": "not audited"}
STYLES = {"ok": "green", "violated": "bold red", "not witnessed": "yellow", "not audited": "yellow"}
SHORT = {"no difference found": "not shown", "nothing to compare": "no data"}
"""Verdicts as a terminal has room for."""
COLUMNS = (
    "control",
    "n",
    "rate",
    "rate's\n95 %",
    "control\nrate",
    "gap,\npoints",
    "gap's\n95 %",
    "p\n(Holm)",
    "verdict",
    "audit",
)
NARROW = {
    "control": "control\nrate",
    "n": "",
    "rate": "rate's\n95 %",
    "gap,\npoints": "gap's\n95 %",
    "verdict": "p\n(Holm)",
    "audit": "",
}
"""Columns where there is little room -> what stands below their values."""
WORDS = {"cell": 12, "control": 8, "verdict": 9, "audit": 8}
"""Columns that may be folded, and how narrow they may become."""
ENDLESS = 10_000
"""Columns of a terminal that holds any table."""
CELL = 16
"""How narrow a cell's name may become where there is room."""


def cell_notices(policy: PolicySummary) -> Iterator[Notice]:
    """Yield what a reader must know of a policy's cells: those that are invalid, and those that nobody saw."""
    for cell in policy.factors:
        audit = cell.audit
        if audit.verdict == "violated":
            reasons = "; ".join(one_line(reason, 300) for reason in audit.reasons)
            yield warning(
                "cell_violated",
                policy.label,
                f"The cell {one_line(cell.name)} is invalid, and its rate says nothing about {one_line(cell.axis)}: "
                f"{reasons}.",
            )
    unseen = [cell for cell in policy.factors if cell.audit.verdict in ("not witnessed", "not audited")]
    for reason in dict.fromkeys(cell.audit.reasons for cell in unseen):
        names = [one_line(cell.name) for cell in unseen if cell.audit.reasons == reason]
        yield warning(
            "cell_not_witnessed",
            policy.label,
            f"Whether the factor was delivered is not known of {some(len(names), 'cell')} ({', '.join(names[:5])}"
            f"{', ...' if len(names) > 5 else ''}): {'; '.join(one_line(one, 300) for one in reason)}.",
        )
    unpaired = [one_line(cell.name) for cell in policy.factors if not cell.paired]
    if unpaired:
        yield note(
            "cells_unpaired",
            policy.label,
            f"{', '.join(unpaired[:5])}{', ...' if len(unpaired) > 5 else ''}: the axis changes the start itself, so "
            "the gap is a difference of independent rates.",
        )


def factor_of(policy: PolicySummary, group: GroupSummary) -> CellResult | None:
    """Return what is said of a group's cell; None for the control, and where the config names no such cell."""
    for cell in policy.factors:
        if {cell.axis: cell.level, **cell.within} == group.perturbation:
            return cell
    return None


def audit_mark(cell: CellResult) -> str:
    """Return the audit's verdict as a table has it, with in how many pairs the factor shows where that was seen."""
    audit = cell.audit
    seen = f" {audit.changed}/{audit.pairs}" if audit.verdict in ("ok", "violated") else ""
    return MARKS[audit.verdict] + seen


class CellsTable:
    """One row a cell: its control, both rates, their gap, what may be said of it, and the audit's verdict.

    An invalid cell's rate is struck through, and nothing is said of its gap. Where there is little room, intervals
    stand below what they are of, and the control's rate below its name.
    """

    def __init__(self, policy: PolicySummary) -> None:
        self._policy = policy

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table."""
        wide = self._table(wide=True)
        least = Measurement.get(console, options.update(max_width=ENDLESS), wide).minimum
        yield wide if least <= options.max_width else self._table(wide=False)

    def _table(self, wide: bool) -> Table:
        table = Table(
            title=Text(f"{self._policy.label}: cells against their controls", style="bold"),
            title_justify="left",
            caption=Text(caption_of(self._policy), style="dim"),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
        )
        room = CELL if wide else WORDS["cell"]
        for name in ("cell", *(COLUMNS if wide else NARROW)):
            words = name in WORDS
            table.add_column(
                Text(name),
                justify="left" if words else "right",
                overflow="fold",
                no_wrap=not words,
                min_width=room if name == "cell" else WORDS.get(name),
            )
        for cell in self._policy.factors:
            parts = _row(cell)
            joined = parts if wide else {name: _below(parts, name) for name in NARROW}
            table.add_row(Text(broken(one_line(cell.name), room)), *joined.values())
        return table


def broken(name: str, room: int) -> str:
    """Return a cell's name with a new line behind the axis of each pair that is longer than there is room for."""
    return " ".join(pair.replace("=", "=\n", 1) if len(pair) > room else pair for pair in name.split(" "))


def _below(parts: dict[str, Text], name: str) -> Text:
    below = NARROW[name]
    return Text("\n").join([parts[name], parts[below]]) if below else parts[name]


def caption_of(policy: PolicySummary) -> str:
    """Return how the numbers of a policy's cells are to be read."""
    tested = sum(cell.adjusted_p is not None for cell in policy.factors)
    alpha = policy.factors[0].alpha
    unpaired = " * not paired." if any(not cell.paired for cell in policy.factors) else ""
    return (
        f"gap: success of the cell minus that of its control, over pairs of one start.{unpaired} Verdicts hold "
        f"together over {some(tested, 'valid cell')} at alpha = {alpha:g} (Holm). audit: in how many pairs the factor "
        "shows in what the policy was given."
    )


def episodes_text(cell: CellResult) -> str:
    """Return a cell's episodes with a result; before them, where they are fewer, those that its gap is over."""
    return f"{cell.rate.n}" if cell.n == cell.rate.n else f"{cell.n} of {cell.rate.n}"


def component_text(one: ComponentChange) -> str:
    """Return how often a component differed, and by how much where that is known."""
    size = "" if one.largest is None else f", by up to {one.largest:.3g}"
    steady = "" if one.repeatable else ", not repeatable"
    return f"{one.changed} of {one.pairs}{size}{steady}"


def rate_text(rate: Rate) -> str:
    """Return a rate without its sign."""
    return percent(rate.value).removesuffix(" %")


def gap_text(cell: CellResult) -> str:
    """Return a gap in points, marked where it is not over pairs."""
    return "–" if cell.gap is None else f"{100 * cell.gap:+.1f}{'' if cell.paired else '*'}"


def _row(cell: CellResult) -> dict[str, Text]:
    invalid = "strike dim" if cell.verdict == "invalid" else ""
    exact = interval(cell.rate.clopper_pearson).removesuffix(" %").replace(" ", "")
    verdict = {"worse": "bold red", "better": "bold green"}.get(cell.verdict, invalid and "bold red")
    values = (
        Text(one_line(cell.control)),
        Text(episodes_text(cell)),
        Text(rate_text(cell.rate), style=invalid),
        Text(exact, style=invalid),
        Text(rate_text(cell.control_rate)),
        Text(gap_text(cell), style=invalid),
        Text(span(cell.interval).strip("()").replace(" to ", "…"), style=invalid),
        Text(p_text(cell.adjusted_p)),
        Text(SHORT.get(cell.verdict, cell.verdict), style=verdict),
        Text(audit_mark(cell), style=STYLES[cell.audit.verdict]),
    )
    return dict(zip(COLUMNS, values, strict=True))
