"""What two configs have to share before their episodes may lie in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.unit.runs import POLICY, config_of
from vlassess.pipeline.sameness import (
    BENCHMARK_FIELDS,
    POLICY_FIELDS,
    RUN_FIELDS,
    changes,
    conduct,
    side_conduct,
)
from vlassess.schema.config import BenchmarkSource, PolicySource, RunConfig


@pytest.mark.parametrize(
    ("model", "table"),
    [(RunConfig, RUN_FIELDS), (BenchmarkSource, BENCHMARK_FIELDS), (PolicySource, POLICY_FIELDS)],
)
def test_every_field_of_a_config_has_its_weight(model: type[BaseModel], table: dict[str, Any]) -> None:
    assert list(model.model_fields) == list(table)


def config(**source: Any) -> RunConfig:
    return config_of(Path("runs"), policies={"main": source or {"local": POLICY}})


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ({"url": "ws://a:1", "images": "raw"}, {"url": "ws://a:1", "images": "jpeg"}, "policies.main.images"),
        ({"local": POLICY}, {"url": "ws://a:1", "images": "jpeg"}, "policies.main.images"),
        ({"local": POLICY, "horizon": 1}, {"local": POLICY, "horizon": 2}, "policies.main.horizon"),
        ({"local": POLICY}, {"local": POLICY, "ensemble": "ema"}, "policies.main.ensemble"),
        ({"local": POLICY, "params": {"a": 1}}, {"local": POLICY, "params": {"a": 2}}, "policies.main.params"),
    ],
)
def test_what_changes_an_episode_is_noticed(before: dict[str, Any], after: dict[str, Any], named: str) -> None:
    found = list(changes(conduct(config(**before)), conduct(config(**after))))
    assert [change.name for change in found] == [named]


@pytest.mark.parametrize(
    "after",
    [
        {"url": "ws://b:2"},
        {"url": ["ws://a:1", "ws://b:2"]},
        {"url": "ws://a:1", "images": "png"},
        {"local": POLICY, "params": {"chunk": 2}},
        {"serve": POLICY, "replicas": 2, "max_batch": 4},
    ],
)
def test_where_a_policy_is_reached_is_no_change(after: dict[str, Any]) -> None:
    assert not list(changes(conduct(config(url="ws://a:1")), conduct(config(**after))))


def test_environment_and_parameters_of_the_benchmark_are_noticed_and_noted() -> None:
    plain = config_of(Path("runs"))
    other = plain.model_copy(update={"benchmark": plain.benchmark.model_copy(update={"env": {"DAMPING": "2"}})})
    assert [change.name for change in changes(conduct(plain), conduct(other))] == ["benchmark.env"]
    assert side_conduct(other, "main", None)["environment variable DAMPING"] == "2"
