"""A summary as JSON and as CSV: for programs, with full precision."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from vlassess.report.cells import factor_of
from vlassess.schema.summary import GroupSummary, PolicySummary, Summary
from vlassess.stats import Interval

CSV_COLUMNS = (
    "policy",
    "level",
    "suite",
    "task",
    "perturbation",
    "planned",
    "success",
    "failure",
    "policy_error",
    "benchmark_error",
    "infrastructure_error",
    "missing",
    "n",
    "rate",
    "clopper_pearson_low",
    "clopper_pearson_high",
    "wilson_low",
    "wilson_high",
    "errors_fail",
    "errors_succeed",
    "task_mean",
    "progress",
    "primary_metric",
    "steps_mean",
    "steps_median",
    "distinct_starts",
    "control",
    "gap",
    "gap_low",
    "gap_high",
    "gap_p_adjusted",
    "gap_paired",
    "verdict",
    "audit",
)
"""Columns of `summary_csv`, in order."""

Cell = str | int | float | None


def summary_json(summary: Summary) -> str:
    """Return the summary as strict JSON in ASCII, with a final line end; undefined is null, never NaN."""
    return json.dumps(summary.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"


def summary_csv(summary: Summary) -> str:
    """Return one row per policy and group, `CSV_COLUMNS` as header; undefined is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for policy in summary.policies:
        writer.writerows(_row(policy.label, group) | _gap(policy, group) for group in groups(policy))
    return out.getvalue()


def groups(policy: PolicySummary) -> Iterator[GroupSummary]:
    """Yield every group of a policy: tasks, suites, overall, then cells and their tasks."""
    yield from (*policy.tasks, *policy.suites, policy.overall, *policy.cells, *policy.cell_tasks)


def cell_name(group: GroupSummary) -> str:
    """Return a perturbation as the command line writes it ("camera_pose=far"), empty for none."""
    return " ".join(f"{axis}={level}" for axis, level in group.perturbation.items())


def _row(label: str, group: GroupSummary) -> dict[str, Cell]:
    counts, rate = group.counts, group.rate
    exact, score = rate.clopper_pearson, rate.wilson
    return {
        "policy": label,
        "level": group.level,
        "suite": group.suite,
        "task": group.task,
        "perturbation": cell_name(group),
        **counts.model_dump(),
        "n": rate.n,
        "rate": rate.value,
        **_ends("clopper_pearson", exact),
        **_ends("wilson", score),
        "errors_fail": rate.errors_fail,
        "errors_succeed": rate.errors_succeed,
        "task_mean": group.task_mean.value if group.task_mean else None,
        "progress": group.progress.value,
        "primary_metric": group.primary_metric.value if group.primary_metric else None,
        "steps_mean": group.steps.mean,
        "steps_median": group.steps.median,
        "distinct_starts": group.distinct_starts,
    }


def _gap(policy: PolicySummary, group: GroupSummary) -> dict[str, Cell]:
    """Return what is said of a whole cell: nothing of other groups; of its tasks, whether the audit is violated."""
    cell = factor_of(policy, group)
    if cell is None:
        return {}
    marks: dict[str, Cell] = {"control": cell.control, "audit": cell.audit.verdict}
    if group.level != "cell":
        return marks
    told: dict[str, Cell] = {"gap": cell.gap, **_ends("gap", cell.interval), "gap_p_adjusted": cell.adjusted_p}
    return {**marks, **told, "gap_paired": cell.paired, "verdict": cell.verdict}


def _ends(name: str, interval: Interval | None) -> dict[str, Cell]:
    return {f"{name}_low": interval.low if interval else None, f"{name}_high": interval.high if interval else None}
