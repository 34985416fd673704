"""The gaps of cells as a plot: one row a cell, one mark a policy, and what is invalid crossed out."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vlassess.report.plots import MUTED, NAME, WIDTH, colour, page_style, svg
from vlassess.report.text import label
from vlassess.schema.summary import CellResult, PolicySummary


def gaps_plot(policies: Sequence[PolicySummary]) -> Markup:
    """Return each cell's gap with its interval; a cell whose audit is violated is a cross without an interval.

    Args:
        policies: With cells; all have the same ones.
    """
    names = [label(cell.name, NAME) for cell in policies[0].factors]
    offsets = [0.6 * ((i + 0.5) / len(policies) - 0.5) for i in range(len(policies))]
    with page_style():
        height = 0.9 + len(names) * max(0.3, 0.16 * len(policies))
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(0.0, color=MUTED, linewidth=0.8)
        for index, (policy, offset) in enumerate(zip(policies, offsets, strict=True)):
            _draw(axes, policy.factors, offset, colour(index))
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="success of the cell minus that of its control (points)")
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        return svg(figure, "Gaps of cells against their controls with their intervals")


def _draw(axes: Axes, cells: Sequence[CellResult], offset: float, shade: str) -> None:
    for row, cell in enumerate(cells):
        at = row + offset
        if cell.verdict == "invalid":
            axes.plot(100 * (cell.gap or 0.0), at, marker="x", markersize=7, color=MUTED)
        elif cell.gap is not None:
            if cell.interval is not None:
                axes.hlines(
                    at, 100 * cell.interval.low, 100 * cell.interval.high, color=shade, linewidth=2.2, alpha=0.6
                )
            unseen = cell.audit.verdict != "ok"
            axes.plot(
                100 * cell.gap, at, marker="o", markersize=5.5, color=shade, markerfacecolor="none" if unseen else shade
            )
