"""``report.html``: one file that shows a run without a network, in light and dark.

Every value goes through the template's escaping and `printable`; the only markup that is put in as it is
comes from `plots`. The page holds no script, and its policy forbids any.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vlassess.report import failures, plots
from vlassess.report.counting import by_item, counting
from vlassess.report.exports import cell_name
from vlassess.report.text import duration, interval, number, one_line, percent, printable, shortened
from vlassess.schema.manifest import RunManifest
from vlassess.schema.summary import PolicySummary, Summary
from vlassess_link.data import EpisodeRecord

INSTRUCTION = 120
"""Characters of an instruction in the table."""
LONGEST = 20_000
"""Characters of any one value on the page."""
BENCHMARK_FIELDS = ("control_rate_hz", "settling_steps", "success", "primary_metric", "licence")
POLICY_FIELDS = ("chunk", "horizon", "observe", "history", "stochastic", "uses_noise_seed", "privileged")


def write_report(path: Path, manifest: RunManifest, summary: Summary, records: Iterable[EpisodeRecord]) -> None:
    """Write the report to ``path``, whole or not at all.

    Args:
        path: The file; replaced if it is there.
        manifest: What ``run.json`` says.
        summary: Of the same plan and records.
        records: Every attempt, in the order of the file.

    Raises:
        OSError: the file cannot be written; a file that was there is untouched.
    """
    text = render_report(manifest, summary, records)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def render_report(manifest: RunManifest, summary: Summary, records: Iterable[EpisodeRecord]) -> str:
    """Return the report's HTML. The arguments are those of `write_report`."""
    attempts = tuple(records)
    counted = [last for tries in by_item(attempts).values() if (last := counting(tries)) is not None]
    groups = failures.error_groups(attempts)
    template = _environment().get_template("report.html.jinja")
    return template.render(
        manifest=manifest,
        summary=summary,
        plots=_plots(summary, counted),
        errors=groups[: failures.SHOWN],
        errors_unshown=len(groups) - len(groups[: failures.SHOWN]),
        instructions=_instructions(counted),
        config=yaml.safe_dump(manifest.config.model_dump(mode="json"), sort_keys=False, allow_unicode=True),
        benchmark=_chosen(manifest.benchmark_spec, BENCHMARK_FIELDS),
        policy_facts={one_line(label): _policy_facts(spec) for label, spec in manifest.policy_specs.items()},
    )


class PhaseTime(NamedTuple):
    """Wall time of one phase: seconds, and its share of all attempts' time in percent."""

    phase: str
    seconds: float
    share: float


def time_spent(policy: PolicySummary) -> list[PhaseTime]:
    """Return the time of each phase over all attempts of a policy, longest first; what no phase claims is "other"."""
    spent: Counter[str] = Counter()
    for group in (policy.overall, *(policy.cells if policy.basis == "control" else ())):
        spent.update(group.seconds)
    phases = {phase: seconds for phase, seconds in spent.items() if phase != "total"}
    whole = max(spent["total"], sum(phases.values()))
    if not whole:
        return []
    phases["other"] = whole - sum(phases.values())
    return [PhaseTime(phase, took, 100 * took / whole) for phase, took in sorted(phases.items(), key=lambda x: -x[1])]


def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("vlassess.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_showable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(percent=percent, number=number, duration=duration, cell_name=cell_name, interval=interval)
    found.filters["combine"] = lambda first, second: {**first, **second}
    found.globals.update(series=plots.SERIES, seconds=time_spent)
    return found


def _showable(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return shortened(printable(value), LONGEST)


def _plots(summary: Summary, counted: Sequence[EpisodeRecord]) -> dict[str, Markup]:
    if not summary.policies:
        return {}
    found = {"rates": plots.rates_plot(summary)}
    if any(record.outcome for record in counted):
        found["steps"] = plots.steps_plot(summary, counted)
        found["progress"] = plots.progress_plot(summary, counted)
    return found


def _instructions(counted: Iterable[EpisodeRecord]) -> dict[tuple[str, str], str]:
    wordings: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for record in counted:
        if record.instruction is not None:
            wordings[one_line(record.suite), one_line(record.task)][record.instruction] = None
    return {task: _wording(list(found)) for task, found in wordings.items()}


def _wording(found: Sequence[str]) -> str:
    more = f" (and {len(found) - 1} other wordings)" if len(found) > 1 else ""
    return one_line(found[0], INSTRUCTION) + more


def _policy_facts(spec: Mapping[str, Any]) -> dict[str, str]:
    identity = {str(name): str(value) for name, value in spec.get("identity", {}).items()}
    return identity | _chosen(spec, POLICY_FIELDS)


def _chosen(spec: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {name: str(spec[name]) for name in names if name in spec}
