"""Runs of `tests.factors` in this process: no worker, no file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.factors import Factors, Sighted
from vlassess.pipeline.factors import summary_of
from vlassess.plan import make_plan, plan_hash
from vlassess.schema.config import RunConfig
from vlassess.schema.manifest import RunManifest
from vlassess.schema.summary import CellResult, Summary
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import EpisodeRecord
from vlassess_link.jsonable import to_json
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import InProcessPolicy

Change = Callable[[EpisodeRecord], EpisodeRecord]


@dataclasses.dataclass(frozen=True)
class Planned:
    """What is run."""

    cells: Sequence[Any]
    broken: str | None = None
    same_templates: bool = False
    policy: Policy | None = None
    change: Change = lambda record: record
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    tasks: int = 1


def summary_from(planned: Planned) -> Summary:
    """Run it and sum it up."""
    benchmark = Factors(planned.broken, planned.same_templates, tasks=planned.tasks)
    policy = planned.policy or InProcessPolicy(Sighted())
    given: dict[str, Any] = {
        "name": "factors",
        "benchmark": {"target": "tests.factors:Factors"},
        "policies": {"main": {"local": "tests.factors:Sighted"}},
        "episodes": 6,
        "cells": planned.cells,
        "output": Path("runs"),
        **planned.config,
    }
    config = RunConfig.model_validate(given)
    items = make_plan(config, benchmark.spec)
    records = [
        planned.change(Attempt(Job(item.item_id, 1, item.policy, item.episode), benchmark, policy, Monitor()).run())
        for item in items
    ]
    manifest = RunManifest(
        run_id="factors-1",
        created="2026-03-01T12:00:00+00:00",
        config=config,
        plan_hash=plan_hash(items),
        items=len(items),
        benchmark_spec=to_json(benchmark.spec),
        policy_specs={"main": to_json(policy.spec)},
    )
    return summary_of(items, records, manifest)


def cell(axis: str, level: str, **within: str) -> dict[str, Any]:
    """A cell as a config has it."""
    return {"axis": axis, "level": level, "within": within}


def result_of(axis: str, level: str, broken: str | None = None, **changes: Any) -> CellResult:
    """The only cell of a run that has one."""
    within = changes.pop("within", {})
    (found,) = summary_from(Planned((cell(axis, level, **within),), broken, **changes)).policies[0].factors
    return found
