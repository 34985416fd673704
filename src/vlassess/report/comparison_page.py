"""A comparison as one HTML file: forest plot, what was paired and why, discordant episodes side by side.

The page needs no network and runs no script; videos are linked where the runs keep them, relative to the page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vlassess.report.comparison import p_text, points, sentences, span
from vlassess.report.text import interval, label, percent, printable, shortened
from vlassess.schema.comparison import Comparison, Effect, TwoArms

LONGEST = 20_000
SHOWN = 200
"""Most discordant episodes that a page lists of two arms."""
ROW, LEFT, WIDTH, RIGHT = 26, 250, 420, 190
"""Height of a row, and widths of names, plot and numbers, in the plot's own units."""


class Row(NamedTuple):
    """One line of a forest plot, in the plot's units; None where it is undefined."""

    name: str
    y: int
    point: float | None
    low: float | None
    high: float | None
    text: str
    pooled: bool


class Forest(NamedTuple):
    """A forest plot: its rows, its ticks (position, text) and its size."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    zero: float
    width: int
    height: int


def write_comparison(path: Path, found: Comparison) -> None:
    """Write the page to ``path``, whole or not at all.

    Raises:
        OSError: the file cannot be written; a file that was there is untouched.
    """
    text = render_comparison_page(found, path.absolute().parent)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def render_comparison_page(found: Comparison, folder: Path) -> str:
    """Return the page's HTML; videos are linked relative to ``folder``."""

    def link(video: str) -> str:
        return quote(os.path.relpath(video, folder))

    environment = Environment(
        loader=PackageLoader("vlassess.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_showable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, interval=interval, points=points, span=span, p=p_text, link=link)
    environment.filters.update(sentences=sentences, forest=forest)
    return environment.get_template("comparison.html.jinja").render(found=found, shown=SHOWN)


def forest(two: TwoArms) -> Forest:
    """Return the forest plot of two arms: each task, then the whole, then perturbed cells."""
    named: list[tuple[str, Effect, bool]] = [(group.name, group.effect, False) for group in two.tasks]
    named += [("overall", two.overall, True)] + [(group.name, group.effect, False) for group in two.cells]
    reach = _reach([effect for _, effect, _ in named])
    rows = tuple(_row(number, *entry, reach) for number, entry in enumerate(named))
    ticks = tuple(
        (_x(at * reach, reach), f"{100 * at * reach:+g}" if at else "0") for at in (-1.0, -0.5, 0.0, 0.5, 1.0)
    )
    return Forest(rows, ticks, _x(0.0, reach), LEFT + WIDTH + RIGHT, ROW * len(rows) + 44)


def _row(number: int, name: str, effect: Effect, pooled: bool, reach: float) -> Row:
    known = effect.interval
    return Row(
        label(name, 34),
        ROW * number + ROW // 2 + 4,
        None if effect.difference is None else _x(effect.difference, reach),
        None if known is None else _x(known.low, reach),
        None if known is None else _x(known.high, reach),
        "–" if effect.difference is None else f"{100 * effect.difference:+.1f} {span(known)}",
        pooled,
    )


def _reach(effects: Sequence[Effect]) -> float:
    """Return the largest difference of the axis: a round one that holds every interval."""
    ends = [abs(end) for effect in effects for end in (effect.interval or (effect.difference or 0.0,))]
    return next((reach for reach in (0.1, 0.2, 0.4, 0.6) if reach >= max(ends, default=1.0)), 1.0)


def _x(value: float, reach: float) -> float:
    return round(LEFT + WIDTH * (value + reach) / (2 * reach), 1)


def _showable(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return shortened(printable(value), LONGEST)
