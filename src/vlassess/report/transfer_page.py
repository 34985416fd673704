"""A transfer study as one HTML file: every figure says what was varied, against what, and what may be concluded.

The page needs no network and runs no script.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vlassess.report import transfer_text as text
from vlassess.report.comparison import p_text, points, span
from vlassess.report.plots import SERIES
from vlassess.report.text import interval, number, percent, printable, shortened
from vlassess.report.transfer_curves import curves_plot, tradeoff_plot
from vlassess.report.transfer_plots import bars_plot, heat_map, help_plot, reality_plot
from vlassess.schema.transfer import StudyFacts, TransferAnalysis

LONGEST = 20_000
TRADED = ("success on the target task", "success on the seen suite")
"""What the two colours of gain and loss are."""


class Figure(NamedTuple):
    """A figure with its caption.

    Attributes:
        name: Which it is, for the template.
        title: What it shows.
        plots: From top to bottom.
        caption: What it says by itself.
        legend: What its colours are, in their order; empty where it says so itself.
    """

    name: str
    title: str
    plots: tuple[Markup, ...]
    caption: text.Caption
    legend: tuple[str, ...]


class Section(NamedTuple):
    """One set of trials on the page.

    Attributes:
        title: Heading; empty for a page with one set.
        found: What they came to.
        invalid: (policy, cell) whose audit is violated.
        figures: In order.
    """

    title: str
    found: TransferAnalysis
    invalid: text.Invalid
    figures: tuple[Figure, ...]


def write_transfer(path: Path, found: TransferAnalysis, facts: StudyFacts) -> None:
    """Write the page to ``path``, whole or not at all.

    Raises:
        OSError: the file cannot be written; a file that was there is untouched.
    """
    page = render_transfer_page(found, facts)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(page, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def render_transfer_page(found: TransferAnalysis, facts: StudyFacts) -> str:
    """Return the page's HTML."""
    environment = Environment(
        loader=PackageLoader("vlassess.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_showable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, interval=interval, points=points, span=span, p=p_text, number=number)
    environment.filters.update(parameter=text.parameter, tau=text.tau_text, plain=text.plain)
    environment.globals.update(series=SERIES)
    invalid = frozenset((line.policy, line.cell) for line in facts.audits if line.verdict == "violated")
    sections = [_section("In simulation" if found.real is not None else "", found, invalid)]
    if found.real is not None:
        sections.append(_section("On the robot", found.real, frozenset()))
    return environment.get_template("transfer.html.jinja").render(
        facts=facts,
        found=found,
        sections=sections,
        reality=_reality(found),
        headlines=text.headlines(found, invalid),
        ranking_sentences=text.ranking_sentences,
    )


def _section(title: str, found: TransferAnalysis, invalid: text.Invalid) -> Section:
    every, rules = found.every, found.rules
    figures = []
    if every.cells:
        plots = heat_map(every, invalid), bars_plot(every, invalid)
        caption, legend = text.cells_caption(every, rules, invalid), _policies([cell.policy for cell in every.cells])
        figures.append(Figure("cells", "What breaks the policy: one factor at a time", plots, caption, legend))
    if every.curves:
        caption = text.curves_caption(every.curves, rules)
        title_it = "How many demonstrations mend it"
        figures.append(Figure("curves", title_it, (curves_plot(every.curves),), caption, ()))
    if every.retention:
        caption = text.retention_caption(every.retention, every.curves)
        plot = tradeoff_plot(every.curves, every.retention)
        figures.append(Figure("retention", "What is gained, and what is forgotten", (plot,), caption, TRADED))
    if every.interventions:
        caption = text.help_caption(every.interventions)
        legend = _policies([row.policy for row in every.interventions])
        figures.append(
            Figure("help", "How often somebody had to help", (help_plot(every.interventions),), caption, legend)
        )
    return Section(title, found, invalid, tuple(figures))


def _reality(found: TransferAnalysis) -> Figure | None:
    check = found.reality
    if check is None or not check.discrepancies:
        return None
    legend = _policies([row.policy for row in check.discrepancies])
    caption = text.reality_caption(check, found.rules)
    return Figure(
        "reality", "Does simulation rank policies as the robot does?", (reality_plot(check),), caption, legend
    )


def _policies(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _showable(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return shortened(printable(value), LONGEST)
