"""Plots as SVG fragments that sit inside a page and take their colours from it.

matplotlib lays them out with placeholder colours, which become CSS variables: one picture serves a light
and a dark page. Text stays text, so that the browser's fonts show every script. The same data give the
same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vlassess.report.cells import factor_of
from vlassess.report.exports import cell_name
from vlassess.report.text import label, one_line
from vlassess.schema.summary import GroupSummary, PolicySummary, Summary
from vlassess_link.data import EpisodeRecord

ROWS = 120
"""Most tasks that the plot of rates names; beyond, it shows suites."""
NAME = 56
"""Characters of a row's name."""
SERIES = 6
"""Colours before they repeat."""
INK, MUTED, GRID = "#010101", "#010102", "#010103"
VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--line"}
VARIABLES |= {f"#01010{4 + i}": f"--series-{i + 1}" for i in range(SERIES)}
"""Placeholder colour -> CSS variable of the page."""

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "vlassess",
    "text.parse_math": False,
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}

WIDTH = 10.5
"""Inches; a page scales it."""

Values = Callable[[EpisodeRecord], float | None]


def colour(index: int) -> str:
    """Return the placeholder colour of the policy at a position."""
    return f"#01010{4 + index % SERIES}"


def rates_plot(summary: Summary) -> Markup:
    """Return success rates with their exact intervals: one row a task (or suite), then overall and cells."""
    policies = summary.policies
    rows = _rows(policies[0])
    names = [_row_name(row, policies[0]) for row in rows]
    offsets = [0.6 * ((i + 0.5) / len(policies) - 0.5) for i in range(len(policies))]
    with page_style():
        height = 0.9 + len(rows) * max(0.3, 0.16 * len(policies))
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        for index, (policy, offset) in enumerate(zip(policies, offsets, strict=True)):
            _draw_rates(axes, _rows(policy), offset, colour(index))
        axes.axhline(len(rows) - len(policies[0].cells) - 1.5, color=MUTED, linewidth=0.8)
        axes.set(xlim=(-2, 102), ylim=(len(rows) - 0.5, -0.5), xlabel="success rate (%), 95 % interval")
        axes.set_yticks(range(len(rows)), names)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        return svg(figure, "Success rates with 95 % intervals")


def steps_plot(summary: Summary, records: Sequence[EpisodeRecord]) -> Markup:
    """Return the distribution of executed steps of each policy, successes and failures apart."""
    top = max((record.steps for record in records if record.outcome), default=1)
    edges = _edges(1, max(top, 2), 30)
    return _distribution(summary, records, edges, "control steps", lambda record: record.steps)


def progress_plot(summary: Summary, records: Sequence[EpisodeRecord]) -> Markup:
    """Return the distribution of best progress of each policy, successes and failures apart."""
    edges = [(i - 0.5) / 20 for i in range(22)]
    return _distribution(
        summary, records, edges, "best progress", lambda record: record.outcome.progress if record.outcome else None
    )


def _rows(policy: PolicySummary) -> tuple[GroupSummary, ...]:
    return (*(policy.tasks if len(policy.tasks) <= ROWS else policy.suites), policy.overall, *policy.cells)


def _row_name(group: GroupSummary, policy: PolicySummary) -> str:
    if group.level == "overall":
        return "overall" if policy.basis == "all" else "overall (control)"
    if group.level == "cell":
        factor = factor_of(policy, group)
        invalid = " (invalid)" if factor is not None and factor.verdict == "invalid" else ""
        return label(cell_name(group), NAME - len(invalid)) + invalid
    parts = [group.suite if len(policy.suites) > 1 or group.task is None else None, group.task]
    return label("/".join(part for part in parts if part is not None), NAME)


def _draw_rates(axes: Axes, rows: Sequence[GroupSummary], offset: float, shade: str) -> None:
    found = [
        (row + offset, 100 * interval.low, 100 * interval.high, 100 * value)
        for row, group in enumerate(rows)
        if (value := group.rate.value) is not None and (interval := group.rate.clopper_pearson) is not None
    ]
    if found:
        at, low, high, point = zip(*found, strict=True)
        axes.hlines(at, low, high, color=shade, linewidth=2.2, alpha=0.6)
        axes.plot(point, at, marker="o", markersize=5.5, color=shade, linestyle="none")


def _edges(low: int, high: int, bins: int) -> list[float]:
    # Whole widths, so that every bin holds equally many step counts.
    width = max(1, -(-(high - low + 1) // bins))
    return [low - 0.5 + width * i for i in range(-(-(high - low + 1) // width) + 1)]


def _distribution(
    summary: Summary, records: Sequence[EpisodeRecord], edges: Sequence[float], quantity: str, value: Values
) -> Markup:
    policies = summary.policies
    with page_style():
        figure = Figure(figsize=(5.4, 0.55 + 1.35 * len(policies)), layout="constrained")
        grid = figure.subplots(len(policies), 1, sharex=True, squeeze=False)
        for index, policy in enumerate(policies):
            own = [record for record in records if record.outcome and one_line(record.policy) == policy.label]
            parts = [
                [found for record in own if record.counts_as == end and (found := value(record)) is not None]
                for end in ("success", "failure")
            ]
            axes = grid[index][0]
            axes.hist(parts, bins=list(edges), stacked=True, color=[colour(index), MUTED], label=["success", "failure"])
            axes.set_title(one_line(policy.label, 60), loc="left", fontsize=11)
            axes.yaxis.get_major_locator().set_params(integer=True, nbins=4)
            axes.set_ylabel("episodes")
            axes.grid(axis="y")
        grid[-1][0].set_xlabel(quantity)
        return svg(figure, f"Distribution of {quantity}")


@contextmanager
def page_style() -> Iterator[None]:
    """Draw as the pages want it, whatever matplotlib's settings are."""
    # matplotlib's settings are the process's own; a user's matplotlibrc must not change a report.
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


_COLOUR = re.compile(r"(fill|stroke): (#01010\w)")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_GROUP_ID = re.compile(r'<g id="[^"]*">')
_SIZE = re.compile(r'width="[\d.]+pt" height="[\d.]+pt"')


def svg(figure: Figure, title: str) -> Markup:
    """Return a figure as a fragment that takes its colours from the page; ``title`` is what it is called aloud."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = _METADATA.sub("", text[text.index("<svg") :])
    text = _GROUP_ID.sub("<g>", text)
    text = _SIZE.sub(f'role="img" aria-label="{title}"', text, count=1)
    return Markup(_COLOUR.sub(lambda match: f"{match[1]}: var({VARIABLES[match[2]]})", text))
