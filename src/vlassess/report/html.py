"""``report.html``: one file that shows a run without a network, in light and dark.

Every value goes through the template's escaping and `printable`; the only markup that is put in as it is
comes from `plots` and `episodes`. The page holds one script, which shows the episodes; its policy forbids any
other, by the hash of that one.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vlassess.report import failures, plots
from vlassess.report.budget import policy_budget, time_budget
from vlassess.report.cell_plots import gaps_plot
from vlassess.report.cells import audit_mark, caption_of, component_text, episodes_text, factor_of, gap_text
from vlassess.report.comparison import p_text, span
from vlassess.report.episodes import episodes_json
from vlassess.report.exports import cell_name
from vlassess.report.grounded import averages, bias_text, named, points, sentences, share_text
from vlassess.report.grounded import span as score_span
from vlassess.report.grounded_plots import bias_plot, scene_plot
from vlassess.report.text import duration, interval, number, one_line, percent, printable, shortened
from vlassess.schema.attempts import by_item, counting
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest
from vlassess.schema.summary import Summary
from vlassess_link.data import EpisodeRecord

INSTRUCTION = 120
"""Characters of an instruction in the table."""
LONGEST = 20_000
"""Characters of any one value on the page."""
PHASE_COLOURS = {
    "simulation": "series-1",
    "rendering": "series-3",
    "inference": "series-2",
    "recording": "series-5",
    "reset": "series-4",
    "waiting": "line",
    "other": "muted",
}
"""What the time went to -> a CSS variable of the page."""
BENCHMARK_FIELDS = ("control_rate_hz", "settling_steps", "success", "primary_metric", "licence")
POLICY_FIELDS = ("chunk", "horizon", "observe", "history", "stochastic", "uses_noise_seed", "privileged")


def write_report(
    path: Path,
    manifest: RunManifest,
    summary: Summary,
    records: Iterable[EpisodeRecord],
    items: Sequence[WorkItem] = (),
) -> None:
    """Write the report to ``path``, whole or not at all.

    Args:
        path: The file; replaced if it is there.
        manifest: What ``run.json`` says.
        summary: Of the same plan and records.
        records: Every attempt, in the order of the file.
        items: The plan, so that missing episodes are listed too; its folder is searched for recordings.

    Raises:
        OSError: the file cannot be written; a file that was there is untouched.
    """
    text = render_report(manifest, summary, records, items, path.parent)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def render_report(
    manifest: RunManifest,
    summary: Summary,
    records: Iterable[EpisodeRecord],
    items: Sequence[WorkItem] = (),
    folder: Path | None = None,
) -> str:
    """Return the report's HTML. The arguments are those of `write_report`; ``folder`` is the run directory."""
    attempts = tuple(records)
    counted = [last for tries in by_item(attempts).values() if (last := counting(tries)) is not None]
    groups = failures.error_groups(attempts)
    environment = _environment()
    script = environment.get_template("report.js").render()
    return environment.get_template("report.html.jinja").render(
        manifest=manifest,
        summary=summary,
        plots=_plots(summary, counted),
        errors=groups[: failures.SHOWN],
        errors_unshown=len(groups) - len(groups[: failures.SHOWN]),
        instructions=_instructions(counted),
        config=yaml.safe_dump(manifest.config.model_dump(mode="json"), sort_keys=False, allow_unicode=True),
        benchmark=_chosen(manifest.benchmark_spec, BENCHMARK_FIELDS),
        episodes=episodes_json(items, attempts, folder),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        budget=time_budget(attempts),
        videos=_videos(summary, folder),
        policy_facts={one_line(label): _policy_facts(spec) for label, spec in manifest.policy_specs.items()},
    )


def _videos(summary: Summary, folder: Path | None) -> frozenset[str]:
    """Return which examples of grounding errors have a video."""
    errors = [error for policy in summary.policies for suite in policy.grounding for error in suite.errors]
    named = {error.example for error in errors if error.example is not None and error.example.isalnum()}
    return frozenset(
        name for name in named if folder is not None and (folder / "artifacts" / name / "video.mp4").is_file()
    )


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
    found.filters.update(
        span=span,
        p_text=p_text,
        audit_mark=audit_mark,
        episodes_text=episodes_text,
        gap_text=gap_text,
        component_text=component_text,
        caption_of=caption_of,
        factor_of=factor_of,
    )
    found.filters.update(points=points, score_span=score_span, share_text=share_text, bias_text=bias_text)
    found.filters.update(suite_name=named, suite_sentences=sentences, scene_plot=scene_plot, suite_means=averages)
    found.filters.update(bias_plot=bias_plot)
    found.filters["combine"] = lambda first, second: {**first, **second}
    found.globals.update(series=plots.SERIES, seconds=policy_budget, phase_colours=PHASE_COLOURS)
    return found


def _showable(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return shortened(printable(value), LONGEST)


def _plots(summary: Summary, counted: Sequence[EpisodeRecord]) -> dict[str, Markup]:
    if not summary.policies:
        return {}
    found = {"rates": plots.rates_plot(summary)}
    with_cells = [policy for policy in summary.policies if policy.factors]
    if with_cells:
        found["gaps"] = gaps_plot(with_cells)
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
