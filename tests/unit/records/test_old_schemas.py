"""A run of every schema version that was ever written stays readable. The samples are never edited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vlassess.plan import make_plan, plan_hash
from vlassess.records import RunDirectory
from vlassess_link.data import RECORD_SCHEMA
from vlassess_link.jsonable import from_json
from vlassess_link.specs import BenchmarkSpec

SAMPLES = Path(__file__).parents[2] / "assets" / "records"


def test_every_schema_has_its_sample() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == {f"v{number}" for number in range(1, RECORD_SCHEMA + 1)}


@pytest.mark.parametrize("name", [f"v{number}" for number in range(1, RECORD_SCHEMA + 1)])
def test_a_sample_is_read_whole(name: str) -> None:
    run = RunDirectory.open(SAMPLES / name)
    records, torn = run.records()
    items = run.items()
    assert torn == 0
    assert len(records) == len((SAMPLES / name / "episodes.jsonl").read_text().splitlines())
    assert {record.schema for record in records} == {int(name[1:])}
    assert len(items) == run.manifest.items
    assert {record.item_id for record in records} == {item.item_id for item in items}
    assert plan_hash(items) == run.manifest.plan_hash


def test_schema_1_still_says_what_it_said() -> None:
    run = RunDirectory.open(SAMPLES / "v1")
    records = run.records().records
    assert [(record.policy, record.counts_as, record.attempt, record.steps) for record in records] == [
        ("main", "success", 1, 4),
        ("nan", "failure", 1, 2),
        ("main", "failure", 1, 5),
        ("main", "error", 1, 0),
        ("main", "error", 1, 0),
        ("main", "error", 2, 0),
        ("main", "error", 2, 0),
        ("nan", "failure", 1, 2),
        ("nan", "error", 1, 0),
        ("nan", "error", 1, 0),
        ("nan", "error", 2, 0),
        ("nan", "error", 2, 0),
    ]
    planned = {item.item_id: item.episode for item in run.items()}
    for record in records:
        episode = planned[record.item_id]
        assert (record.pair_key, record.seed) == (episode.pair_key, episode.seed)
        assert record.identity == run.manifest.policy_identities[record.policy]


def test_the_plan_of_schema_1_is_still_planned_alike() -> None:
    manifest = RunDirectory.open(SAMPLES / "v1").manifest
    spec = from_json(BenchmarkSpec, manifest.benchmark_spec)
    assert plan_hash(make_plan(manifest.config, spec)) == manifest.plan_hash


def test_the_samples_are_strict_json() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    for file in SAMPLES.rglob("*.json*"):
        for line in [file.read_text()] if file.suffix == ".json" else file.read_text().splitlines():
            json.loads(line, parse_constant=refuse)
