"""Plans, manifests and configs of small runs with the fakes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vlassess.plan import make_plan, plan_hash
from vlassess.schema.config import RunConfig
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest
from vlassess_link.benchmarks.attempt import Job, unstarted_record
from vlassess_link.data import EpisodeRecord, ErrorInfo, Outcome
from vlassess_link.jsonable import to_json
from vlassess_link.testing import FakeBenchmark

BENCHMARK = "vlassess_link.testing:FakeBenchmark"
POLICY = "vlassess_link.testing:FakePolicy"
SUCCESS = Outcome(True, "success", 1.0, 1.0, {"halfway": 2}, {"distance": 0.0}, 4)
FAILURE = Outcome(False, "limit", 0.5, 0.25)


def config_of(output: Path = Path("runs"), **changes: Any) -> RunConfig:
    """A run of the fakes."""
    given: dict[str, Any] = {
        "name": "fakes",
        "benchmark": {"target": BENCHMARK, "params": changes.pop("benchmark_params", {})},
        "policies": {"main": {"local": POLICY, "params": {"chunk": 2}}},
        "episodes": 3,
        "output": output,
        **changes,
    }
    return RunConfig.model_validate(given)


def items_of(config: RunConfig | None = None) -> tuple[WorkItem, ...]:
    """Its plan."""
    whole = config or config_of()
    return make_plan(whole, FakeBenchmark(**whole.benchmark.params).spec)


def manifest_of(config: RunConfig | None = None, **changes: Any) -> RunManifest:
    """What its ``run.json`` says."""
    whole = config or config_of()
    items = items_of(whole)
    given: dict[str, Any] = {
        "run_id": "fakes-1",
        "created": "2026-03-01T12:00:00+00:00",
        "config": whole,
        "plan_hash": plan_hash(items),
        "items": len(items),
        "benchmark_spec": to_json(FakeBenchmark(**whole.benchmark.params).spec),
        **changes,
    }
    return RunManifest(**given)


def record_of(item: WorkItem, attempt: int = 1, **ending: Any) -> EpisodeRecord:
    """One attempt, a success unless told otherwise."""
    job = Job(item.item_id, attempt, item.policy, item.episode)
    return unstarted_record(job, **(ending or {"outcome": SUCCESS}))


def error_of(origin: str = "benchmark", phase: str = "step", kind: str = "ValueError") -> ErrorInfo:
    """An error."""
    return ErrorInfo(origin, phase, kind, "it broke")


def records_of(items: Sequence[WorkItem]) -> list[EpisodeRecord]:
    """A success for each item."""
    return [record_of(item) for item in items]
