"""What a stopping rule cannot be followed in, and what it writes down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runs import FAILURE, POLICY, config_of, items_of, manifest_of, record_of
from vlassess.catalog import Catalog
from vlassess.pipeline import ResumeRefusedError, hold
from vlassess.pipeline.deciding import Deciding, deciding
from vlassess.pipeline.decisions import read_decision
from vlassess.records import RunDirectory, RunDirectoryError
from vlassess.schema.config import RunConfig
from vlassess.schema.events import SilentListener
from vlassess_link.errors import ContractError

RULE = {"test": "sequential", "stop_when_decided": True}
BOTH = {label: {"local": POLICY, "params": {"chunk": chunk}} for label, chunk in (("a", 1), ("b", 2))}


def racing(**changes: Any) -> RunConfig:
    return config_of(**{"policies": BOTH, "episodes": 20, "comparison": RULE, **changes})


def rule_of(config: RunConfig) -> Deciding:
    rule = deciding(config, items_of(config), None, "fake@1")
    assert rule is not None
    return rule


def test_a_run_without_a_rule_has_none() -> None:
    assert deciding(config_of(), items_of(), None, "fake@1") is None
    fixed = config_of(comparison={"alpha": 0.01})
    assert deciding(fixed, items_of(fixed), None, "fake@1") is None


def test_a_rule_needs_a_place_to_write_to() -> None:
    with pytest.raises(ContractError, match="keeps its decision in a file"):
        hold(racing(), Catalog.discover(), SilentListener())


def test_more_arms_than_two_are_refused() -> None:
    three = {**BOTH, "c": {"local": POLICY, "params": {"chunk": 3}}}
    with pytest.raises(ContractError, match="there are 3"):
        rule_of(racing(policies=three))


def test_every_look_is_written_and_a_decided_run_is_left_alone(tmp_path: Path) -> None:
    config = racing()
    items = items_of(config)
    run = RunDirectory.create(tmp_path / "x", manifest_of(config), items)
    records = [record_of(item) if item.policy == "a" else record_of(item, outcome=FAILURE) for item in items]
    rule = rule_of(config)
    rule.keep(run)
    empty = read_decision(run.path)
    assert empty is not None
    assert (empty.decided_at, empty.looks) == (None, ())
    for record in records:
        rule.learn(record)
    assert rule.decision is not None
    rule.keep(run)
    kept = read_decision(run.path)
    assert kept is not None
    assert kept.sentence == rule.sentence
    assert [look.block for look in kept.looks] == list(range(1, 21))
    assert kept.looks[kept.decided_at - 1].log_e >= 2.99 if kept.decided_at else False
    assert (kept.a, kept.b, kept.rival) == ("a", "b", "fakes-1:b")

    with pytest.raises(ResumeRefusedError, match="No further episode is needed"):
        rule_of(config).recall(run.path, records, go_on=False)
    going_on = rule_of(config)
    going_on.recall(run.path, records, go_on=True)
    assert going_on.decided
    assert going_on.decision is None
    going_on.keep(run)
    again = read_decision(run.path)
    assert again is not None
    assert [one.blocks for one in again.continued] == [20]
    # Once it was told to go on, an interruption needs no second word.
    rule_of(config).recall(run.path, records, go_on=False)


def test_a_broken_decision_is_named(tmp_path: Path) -> None:
    (tmp_path / "decision.json").write_text(json.dumps({"a": "x"}))
    with pytest.raises(RunDirectoryError, match=r"decision\.json: b: "):
        read_decision(tmp_path)
