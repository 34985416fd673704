"""A summary in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vlassess.report.cells import CellsTable
from vlassess.report.exports import cell_name
from vlassess.report.grounded import grounding_table
from vlassess.report.text import interval, number, percent
from vlassess.schema.summary import GroupSummary, PolicySummary, Summary
from vlassess.stats import Interval


def render_table(summary: Summary) -> Group:
    """Return one table per policy and the notices below; texts are shown as they are, never as markup.

    A rate stands beside its n and, while episodes are missing, beside their number.
    """
    parts: list[RenderableType] = []
    for policy in summary.policies:
        parts += [_table(policy, summary), *([CellsTable(policy)] if policy.factors else [])]
        parts += [grounding_table(policy)] if policy.grounding else []
    return Group(*parts, *_notices(summary))


def _table(policy: PolicySummary, summary: Summary) -> Table:
    title = Text(policy.label, style="bold")
    if policy.privileged:
        title.append("  privileged: an upper bound only", style="yellow")
    columns = _columns(policy, summary.primary_metric)
    table = Table(
        title=title,
        title_justify="left",
        caption=_caption(policy),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("task", overflow="fold", min_width=12)
    for name in columns:
        table.add_column(Text(name), justify="right", overflow="fold")
    for suite in policy.suites:
        for task in (task for task in policy.tasks if task.suite == suite.suite):
            table.add_row(*_row(f"{task.suite}/{task.task}", task, columns))
        if len(policy.suites) > 1:
            table.add_row(*_row(f"{suite.suite} (pooled)", suite, columns), style="bold", end_section=True)
    table.add_section()
    name = "control (pooled)" if policy.basis == "control" else "overall (pooled)"
    table.add_row(*_row(name, policy.overall, columns), style="bold", end_section=True)
    for cell in () if policy.factors else policy.cells:
        table.add_row(*_row(f"{cell_name(cell)} (pooled)", cell, columns))
    return table


def _columns(policy: PolicySummary, metric: str) -> list[str]:
    """Return the columns that have something to say: a terminal is narrow."""
    counts = policy.counts
    columns = [
        "success",
        "rate",
        "missing" if counts.missing else "",
        "exact\n95 %",
        "Wilson\n95 %",
        "failed",
        "policy\nerrors" if counts.policy_error else "",
        "errors" if counts.error else "",
        "progress",
        "steps",
        metric if metric != "success" else "",
    ]
    return [column for column in columns if column]


def _row(name: str, group: GroupSummary, columns: list[str]) -> list[Text]:
    counts = group.counts
    cells = {
        "success": f"{counts.success}/{counts.scored}",
        "rate": percent(group.rate.value),
        "missing": str(counts.missing),
        "exact\n95 %": _compact(group.rate.clopper_pearson),
        "Wilson\n95 %": _compact(group.rate.wilson),
        "failed": str(counts.failure),
        "policy\nerrors": str(counts.policy_error),
        "errors": str(counts.error),
        "progress": percent(group.progress.value),
        "steps": number(group.steps.mean),
    }
    metric = number(group.primary_metric.value if group.primary_metric else None)
    return [Text(name), *(Text(cells.get(column, metric)) for column in columns)]


def _compact(found: Interval | None) -> str:
    return interval(found).removesuffix(" %").replace(" ", "")


def _caption(policy: PolicySummary) -> Text:
    overall = policy.overall
    lines = ["Rates are pooled over episodes; policy errors are among the failed, errors in no rate."]
    if overall.task_mean is not None and overall.task_mean.n > 1:
        lines.append(f"Mean of {overall.task_mean.n} task rates: {percent(overall.task_mean.value)}.")
    if overall.counts.error:
        rate = overall.rate
        lines.append(f"If errors fail: {percent(rate.errors_fail)}; if they succeed: {percent(rate.errors_succeed)}.")
    speed = policy.throughput.episodes_per_minute
    if speed is not None:
        lines.append(f"{number(speed)} episodes/min.")
    return Text("\n".join(lines), style="dim")


def _notices(summary: Summary) -> list[Text]:
    shown = []
    for notice in summary.notices:
        line = Text(f"{notice.severity}: ", style="bold yellow" if notice.severity == "warning" else "dim")
        line.append(f"{notice.policy}: " if notice.policy else "", style="bold")
        line.append(notice.message, style="not bold")
        shown.append(line)
    return shown
