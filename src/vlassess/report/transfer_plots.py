"""The figures of a transfer study: heat map, bars with intervals, help that was needed, simulation beside reality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from vlassess.report.plots import INK, MUTED, WIDTH, colour, page_style, svg
from vlassess.report.text import label
from vlassess.report.transfer_text import Invalid
from vlassess.schema.findings import CellFinding, Findings, InterventionFinding, Share
from vlassess.schema.transfer import RealityCheck

NAME = 34
"""Characters of a row's name."""
TILE, LETTER = 0.56, 0.082
"""Height of a tile, and width of a letter, inches."""
INVALID = "invalid"


def heat_map(found: Findings, invalid: Invalid) -> Markup:
    """Return success and gap in points by axis (rows) and level (tiles), the control first; one panel a policy.

    Args:
        found: With at least one cell.
        invalid: (policy, cell) whose audit is violated: crossed out.
    """
    by_policy = _by_policy(found.cells)
    rows = list(dict.fromkeys((cell.axis, cell.control) for cell in found.cells))
    several = len({control for _, control in rows}) > 1
    columns = 1 + max(
        sum((cell.axis, cell.control) == row for cell in own) for own in by_policy.values() for row in rows
    )
    across = 2 if len(by_policy) > 1 and columns <= 4 else 1
    down = -(-len(by_policy) // across)
    with page_style():
        figure = Figure(figsize=(WIDTH, 0.2 + down * (0.35 + TILE * len(rows))), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for panel in panels[len(by_policy) :]:
            panel.set_axis_off()
        names = [label(f"{axis}, in {control}" if several else axis, NAME) for axis, control in rows]
        room = int((WIDTH / across - 0.3 - LETTER * max(map(len, names))) / columns / LETTER) - 2
        for panel, (policy, cells) in zip(panels, by_policy.items(), strict=False):
            for row, key in enumerate(rows):
                own = [cell for cell in cells if (cell.axis, cell.control) == key]
                _tiles(panel, row, [replace(cell, level=label(cell.level, max(4, room))) for cell in own], invalid)
            panel.set(xlim=(0, columns), ylim=(len(rows), 0), xticks=[])
            panel.set_yticks([row + 0.5 for row in range(len(rows))], names)
            panel.tick_params(axis="y", length=0)
            panel.spines[:].set_visible(False)
            panel.set_title(label(policy, NAME), loc="left", fontsize=11)
        return svg(figure, "Success by axis and level")


def bars_plot(found: Findings, invalid: Invalid) -> Markup:
    """Return each cell's success as a bar with its interval beside its control's, and the gap of the two."""
    by_policy = _by_policy(found.cells)
    names = list(dict.fromkeys(cell.cell for cell in found.cells))
    thick = 0.72 / len(by_policy)
    with page_style():
        height = 0.9 + len(names) * max(0.34, 0.2 * len(by_policy))
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        rates, gaps = figure.subplots(1, 2, sharey=True, width_ratios=(1.15, 1))
        gaps.axvline(0.0, color=MUTED, linewidth=0.8)
        for index, cells in enumerate(by_policy.values()):
            for cell in cells:
                at = names.index(cell.cell) + (index + 0.5) * thick - 0.36
                _bar(rates, at, cell.share, thick, colour(index))
                if cell.control_share.rate is not None:
                    control = 100 * cell.control_share.rate
                    rates.vlines(control, at - thick / 2, at + thick / 2, color=INK, linewidth=1.6)
                _gap(gaps, at, cell, colour(index), (cell.policy, cell.cell) in invalid)
        rates.set(xlim=(0, 102), ylim=(len(names) - 0.5, -0.5), xlabel="success (%); black: its control")
        rates.set_yticks(range(len(names)), [label(name, NAME) for name in names])
        gaps.set(xlabel="gap: cell minus control (points)")
        for axes in (rates, gaps):
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="x")
        return svg(figure, "Success of cells and their gaps to their controls, with intervals")


def help_plot(rows: Sequence[InterventionFinding]) -> Markup:
    """Return how often somebody had to help, with intervals, and how often it succeeded without help."""
    policies = list(dict.fromkeys(row.policy for row in rows))
    names = list(dict.fromkeys(row.cell for row in rows))
    thick = 0.72 / len(policies)
    with page_style():
        figure = Figure(figsize=(WIDTH, 0.9 + len(names) * max(0.34, 0.2 * len(policies))), layout="constrained")
        helped, alone = figure.subplots(1, 2, sharey=True)
        for row in rows:
            index = policies.index(row.policy)
            at = names.index(row.cell) + (index + 0.5) * thick - 0.36
            _bar(helped, at, row.intervened, thick, colour(index))
            _bar(alone, at, row.unaided, thick, colour(index))
        helped.set(xlabel="trials with an intervention (%)", ylim=(len(names) - 0.5, -0.5))
        helped.set_yticks(range(len(names)), [label(name, NAME) for name in names])
        alone.set(xlabel="successes without any intervention (%)")
        for axes in (helped, alone):
            axes.set_xlim(0, 102)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="x")
        return svg(figure, "Interventions, and successes without them")


def reality_plot(check: RealityCheck) -> Markup:
    """Return each policy's success in each cell, simulated against real, with both intervals."""
    policies = list(dict.fromkeys(row.policy for row in check.discrepancies))
    with page_style():
        figure = Figure(figsize=(5.4, 5.0), layout="constrained")
        axes = figure.add_subplot()
        axes.plot((0, 100), (0, 100), color=MUTED, linewidth=0.8, linestyle="dashed")
        for row in check.discrepancies:
            shade = colour(policies.index(row.policy))
            x, y = _percent(row.simulated), _percent(row.real)
            for share, draw, at in ((row.simulated, axes.hlines, y), (row.real, axes.vlines, x)):
                if share.interval is not None:
                    draw(at, 100 * share.interval.low, 100 * share.interval.high, color=shade, linewidth=1.2, alpha=0.4)
            differs = row.corrected <= 0.05
            axes.plot(x, y, marker="s" if differs else "o", markersize=5.5, color=shade, linestyle="none")
        axes.set(xlim=(-3, 103), ylim=(-3, 103), xlabel="success in simulation (%)", ylabel="success on the robot (%)")
        axes.grid()
        return svg(figure, "Success in simulation and on the robot")


def _percent(share: Share) -> float:
    return 100 * (share.rate or 0.0)


def _by_policy(cells: Sequence[CellFinding]) -> Mapping[str, list[CellFinding]]:
    found: dict[str, list[CellFinding]] = {}
    for cell in cells:
        found.setdefault(cell.policy, []).append(cell)
    return found


def _tiles(axes: Axes, row: int, cells: Sequence[CellFinding], invalid: Invalid) -> None:
    if not cells:
        return
    control = cells[0].control_share
    _tile(axes, (0, row), control, ("control", f"n = {control.n}"))
    for column, cell in enumerate(cells):
        crossed = (cell.policy, cell.cell) in invalid
        gap = cell.gap.difference
        told = INVALID if crossed else "no control" if gap is None else f"gap {100 * gap:+.0f}{_star(cell)}"
        _tile(axes, (column + 1, row), cell.share, (cell.level, told), crossed)


def _star(cell: CellFinding) -> str:
    return " *" if cell.verdict in ("worse", "better") else ""


def _tile(axes: Axes, at: tuple[int, int], share: Share, words: tuple[str, str], crossed: bool = False) -> None:
    column, row = at
    x, y = column + 0.03, row + 0.05
    known = share.rate is not None
    shade = 0.06 + 0.5 * (share.rate or 0.0)
    axes.add_patch(Rectangle((x, y), 0.94, 0.9, facecolor=colour(0) if known else MUTED, alpha=shade if known else 0.1))
    if crossed:
        axes.plot((x, x + 0.94), (y, y + 0.9), color=MUTED, linewidth=0.8)
    rate = "–" if share.rate is None else f"{100 * share.rate:.0f} %"
    axes.text(column + 0.09, row + 0.3, words[0], ha="left", va="center", fontsize=9, color=INK)
    axes.text(column + 0.09, row + 0.7, words[1], ha="left", va="center", fontsize=9, color=INK)
    axes.text(column + 0.91, row + 0.68, rate, ha="right", va="center", fontsize=11, color=INK)


def _bar(axes: Axes, at: float, share: Share, thick: float, shade: str) -> None:
    if share.rate is None or share.interval is None:
        return
    axes.barh(at, 100 * share.rate, height=thick * 0.86, color=shade, alpha=0.3)
    axes.hlines(at, 100 * share.interval.low, 100 * share.interval.high, color=shade, linewidth=2.0)


def _gap(axes: Axes, at: float, cell: CellFinding, shade: str, crossed: bool) -> None:
    gap = cell.gap
    if gap.difference is None:
        return
    if crossed:
        axes.plot(100 * gap.difference, at, marker="x", markersize=7, color=MUTED)
        return
    if gap.interval is not None:
        axes.hlines(at, 100 * gap.interval.low, 100 * gap.interval.high, color=shade, linewidth=2.0, alpha=0.6)
    filled = shade if _star(cell) else "none"
    axes.plot(100 * gap.difference, at, marker="o", markersize=5.5, color=shade, markerfacecolor=filled)
