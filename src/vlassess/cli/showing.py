"""``vlassess plan``, ``vlassess report`` and ``vlassess list``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from vlassess.catalog import Catalog
from vlassess.cli.configs import planned_config
from vlassess.cli.options import ListOptions, PlanOptions, ReportOptions
from vlassess.cli.output import console, print_json, say
from vlassess.config import bundled_configs, load_config
from vlassess.schema.items import WorkItem
from vlassess.schema.problems import nearest
from vlassess_link.jsonable import to_json

KINDS = ("benchmarks", "policies", "configs")


def plan(options: PlanOptions) -> int:
    """Print every work item of a config."""
    from vlassess import pipeline
    from vlassess.plan import added_controls, plan_hash, planned_cells
    from vlassess.sharding import parse_shard

    config = planned_config(options)
    spec = pipeline.benchmark_spec(pipeline.resolve(config, Catalog.discover(), say), config)
    whole = pipeline.planned(config, spec)
    shard = None if options.shard is None else parse_shard(options.shard)
    items = pipeline.taken(whole, pipeline.part_of(whole, options.limit, shard))
    if options.json:
        print_json({"plan_hash": plan_hash(items), "items": to_json(items)})
        return 0
    header = ("item", "policy", "task", "start", "repeat", "cell", "seed", "steps")
    console().print(table(header, [_plan_row(item) for item in items]))
    episodes = len({item.episode.episode_id for item in items})
    if len(items) < len(whole):
        console().print(f"{len(items)} of the plan's {len(whole)} items: {episodes} episodes")
    else:
        console().print(f"{len(items)} items: {episodes} episodes for each of {len(config.policies)} policies")
    for sentence in added_controls(planned_cells(config, spec)):
        console().print(sentence)
    return 0


def report(options: ReportOptions) -> int:
    """Print the numbers of a run and write its report."""
    from vlassess import pipeline
    from vlassess.records import RunDirectory
    from vlassess.report import render_table, summary_csv, summary_json

    if options.json and options.csv:
        raise typer.BadParameter("give --json or --csv, not both", param_hint="--csv")
    path = pipeline.report(options.run_dir)
    summary = pipeline.summarise_run(RunDirectory.open(options.run_dir))
    if options.json or options.csv:
        sys.stdout.write(summary_json(summary) if options.json else summary_csv(summary))
        return 0
    out = console()
    out.print(render_table(summary))
    out.print(Text(f"report: {path}"), soft_wrap=True)
    return 0


def list_all(options: ListOptions) -> int:
    """Print what a config can name."""
    if options.kind is not None and options.kind not in KINDS:
        raise typer.BadParameter(
            f"{options.kind!r} cannot be listed; {nearest(options.kind, KINDS)}", param_hint="kind"
        )
    found = listing(Catalog.discover())
    chosen = {kind: found[kind] for kind in KINDS if options.kind in (None, kind)}
    if options.json:
        print_json(chosen)
        return 0
    out = console()
    for kind, entries in chosen.items():
        if entries:
            header = tuple(entries[0])
            out.print(table(header, [[_cell(entry[key]) for key in header] for entry in entries], title=kind))
        else:
            out.print(f"{kind}: none")
    return 0


def listing(catalog: Catalog) -> dict[str, list[dict[str, Any]]]:
    """Return what a config can name, as JSON types: kind -> entries with one set of keys."""
    served = [(entry.name, "served", "", entry.source) for entry in catalog.policies.values()]
    local = [
        (name, "privileged", benchmark.name, benchmark.source)
        for benchmark in catalog.benchmarks.values()
        for name in benchmark.policies
    ]
    configs = {name: load_config(name) for name in bundled_configs()}
    return {
        "benchmarks": [
            {
                "name": entry.name,
                "suites": list(entry.spec.suites) if entry.spec else [],
                "tasks": len(entry.spec.tasks) if entry.spec else None,
                "from": entry.source,
            }
            for entry in catalog.benchmarks.values()
        ],
        "policies": [dict(zip(("name", "kind", "benchmark", "from"), row, strict=True)) for row in [*local, *served]],
        "configs": [
            {
                "name": name,
                "benchmark": config.benchmark.name or config.benchmark.target,
                "policies": list(config.policies),
                "episodes per task": config.episodes,
            }
            for name, config in configs.items()
        ],
    }


def table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> Table:
    """Return a table whose cells are shown as they are, never as markup."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in header:
        made.add_column(name, overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def _plan_row(item: WorkItem) -> list[str]:
    episode = item.episode
    start = str(episode.index) if episode.initial_state is None else f"{episode.index} ({episode.initial_state})"
    cell = " ".join(f"{axis}={level}" for axis, level in episode.perturbation.items()) or "control"
    where = f"{episode.suite}/{episode.task}"
    numbers = (str(episode.repeat), cell, str(episode.seed), str(episode.step_limit))
    return [item.item_id[:8], item.policy, where, start, *numbers]


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "-"
    return "-" if value in (None, "") else str(value)
