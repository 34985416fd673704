"""A validation campaign as one HTML file, and as tables in a terminal.

The page needs no network and runs no script.
"""

from __future__ import annotations

import os
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vlassess.report.text import interval, number, percent, printable
from vlassess.schema.validation import DrawsRow, FamilySummary, PolicySummary, ValidationSummary


def write_validation(path: Path, found: ValidationSummary) -> None:
    """Write the page to ``path``, whole or not at all.

    Raises:
        OSError: the file cannot be written; a file that was there is untouched.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(render_validation_page(found), encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def render_validation_page(found: ValidationSummary) -> str:
    """Return the page's HTML."""
    environment = Environment(
        loader=PackageLoader("vlassess.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, number=number, interval=interval, radius=radius)
    return environment.get_template("validation.html.jinja").render(found=found)


def radius(value: float | None) -> str:
    """Return a radius for people; none of the list is a dash."""
    return "–" if value is None else f"{value:g}"


def render_validation(found: ValidationSummary) -> Group:
    """Return the tables of a campaign for a terminal, with what a robust verdict is conditional on."""
    parts: list[RenderableType] = []
    for policy in found.policies:
        parts += [_family(policy, family) for family in policy.families]
        parts.append(_costs(policy))
        parts += [_drawn(policy.draws)] if policy.draws else []
        parts.append(Text(policy.claim))
        parts += [Text(f"{policy.label}: {note}", style="yellow") for note in policy.notes]
    if not found.complete:
        parts.append(Text(f"{found.regions - found.finished} of {found.regions} regions have no verdict yet"))
    return Group(*parts)


def _family(policy: PolicySummary, family: FamilySummary) -> Table:
    cover = f", cover {family.cover:.2g}" if family.cover is not None else ""
    caption = (
        f"median observation: robust up to {radius(family.median_robust_to)}, a counterexample from "
        f"{radius(family.median_adversarial_from)}; {family.inherited} regions follow from others"
    )
    if family.withdrawn:
        caption += f"; {family.withdrawn} certificate(s) were contradicted and are withdrawn"
    table = _table(f"{policy.label}: {family.family} (N = {family.dimension}{cover})", caption)
    for name in ("radius", "robust", "adversarial", "unknown", "rate", "exact 95 %", "unknown either way"):
        table.add_column(Text(name), justify="left" if name == "radius" else "right", overflow="fold")
    for row in family.rows:
        bounds = f"{percent(row.low)} to {percent(row.high)}"
        counts = (str(row.robust), str(row.adversarial), str(row.unknown))
        table.add_row(Text(row.text), *counts, percent(row.rate), interval(row.interval), bounds)
    return table


def _costs(policy: PolicySummary) -> Table:
    table = _table(f"{policy.label}: queries by verdict", "regions with queries of their own")
    for name in ("verdict", "regions", "median", "mean", "all"):
        table.add_column(name, justify="left" if name == "verdict" else "right")
    for cost in policy.costs:
        table.add_row(cost.verdict, str(cost.regions), number(cost.median), number(cost.mean), str(cost.total))
    return table


def _drawn(rows: tuple[DrawsRow, ...]) -> Table:
    table = _table("what k random draws would have said", "expected number of decided regions")
    for name in ("k", "called robust", "wrongly", "share wrong"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(str(row.draws), number(row.called_robust), number(row.wrong), percent(row.share_wrong))
    return table


def _table(title: str, caption: str) -> Table:
    return Table(
        title=Text(title, style="bold"),
        title_justify="left",
        caption=Text(caption),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
