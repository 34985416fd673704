"""What every tracker is told, in the types that all of them take: numbers by name, and texts by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlassess.schema.config import RunConfig
from vlassess.schema.summary import GroupSummary, Summary


@dataclass(frozen=True)
class Entry:
    """The result of one run.

    Attributes:
        run_id: The run's name.
        numbers: Metric -> number; what is undefined is left out, never 0.
        texts: Facts for people: benchmark, plan hash, whether it is complete, where the run and its recordings are.
        config: The resolved config, of JSON types.
        run_dir: Where it lies, None for a run in memory.
    """

    run_id: str
    numbers: Mapping[str, float]
    texts: Mapping[str, str]
    config: Mapping[str, Any]
    run_dir: Path | None


def entry_of(summary: Summary, config: RunConfig, run_dir: Path | None) -> Entry:
    """Return what trackers are told of a run.

    Numbers are ``POLICY/success_rate`` with ``_low`` and ``_high`` (95 % exact), ``POLICY/n``, counts, progress and
    steps, and ``POLICY/SUITE/TASK/success_rate`` with its n; the run's own counts stand under ``run/``.
    """
    numbers: dict[str, float] = {f"run/{name}": count for name, count in summary.counts.model_dump().items()}
    for policy in summary.policies:
        numbers.update(_group(metric_name(policy.label), policy.overall, whole=True))
        for task in policy.tasks:
            numbers.update(_group(metric_name(policy.label, task.suite or "", task.task or ""), task, whole=False))
        for cell in policy.cells:
            name = "+".join(f"{axis}-{level}" for axis, level in cell.perturbation.items())
            numbers.update(_group(metric_name(policy.label, "cell", name), cell, whole=False))
    texts = {
        "benchmark": summary.benchmark,
        "plan_hash": summary.plan_hash,
        "complete": "yes" if summary.counts.complete else "no",
        "vlassess_run": summary.run_id,
        **_places(run_dir),
    }
    return Entry(summary.run_id, numbers, texts, config.model_dump(mode="json"), run_dir)


def metric_name(*parts: str) -> str:
    """Return a name that every tracker takes: parts joined by "/", of letters, digits, "_", "-" and "."."""
    return "/".join(re.sub(r"[^0-9A-Za-z_.-]+", "_", part)[:60] or "_" for part in parts)


def _group(name: str, group: GroupSummary, whole: bool) -> Iterator[tuple[str, float]]:
    rate = group.rate
    found: dict[str, float | None] = {"success_rate": rate.value, "n": rate.n}
    if rate.clopper_pearson is not None:
        found |= {"success_rate_low": rate.clopper_pearson.low, "success_rate_high": rate.clopper_pearson.high}
    if whole:
        counts = group.counts
        found |= {"policy_errors": counts.policy_error, "errors": counts.error, "missing": counts.missing}
        found |= {"progress": group.progress.value, "steps_mean": group.steps.mean}
    return ((f"{name}/{key}", float(value)) for key, value in found.items() if value is not None)


def _places(run_dir: Path | None) -> dict[str, str]:
    if run_dir is None:
        return {}
    places = {"run_dir": str(run_dir), "report": str(run_dir / "report.html")}
    artifacts = run_dir / "artifacts"
    return {**places, "artifacts": str(artifacts)} if artifacts.is_dir() else places
