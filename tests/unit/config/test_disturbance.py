"""The section ``disturbance`` of a config, and what it makes of a run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.unit.runs import config_of, items_of, manifest_of, records_of
from vlassess.config import ConfigError, load_config
from vlassess.pipeline.disturbing import check_disturbance, disturbance_of
from vlassess.pipeline.recording import check_camera_size
from vlassess.pipeline.sameness import conduct
from vlassess.report import summarise
from vlassess.schema.config import RunConfig
from vlassess_link.benchmarks.disturbed import Disturbance
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.spaces import Component, Layout
from vlassess_link.testing import FakeBenchmark


def loaded(folder: Path, text: str) -> RunConfig:
    (folder / "it.yaml").write_text(f"benchmark: tabletop-v1\npolicy: random\n{text}\n", encoding="utf-8")
    return load_config(str(folder / "it.yaml"))


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", None),
        ("disturbance: {noise: 0.1}", Disturbance(0.1)),
        ("disturbance: {push: {rate: 0.02}}", Disturbance(0.0, 0.02, 0.5, 6)),
        ("disturbance: {noise: 0.1, push: {rate: 1, size: 2, steps: 3}}", Disturbance(0.1, 1.0, 2.0, 3)),
    ],
)
def test_a_config_says_what_workers_are_told(tmp_path: Path, text: str, rules: Disturbance | None) -> None:
    config = loaded(tmp_path, text)
    assert disturbance_of(config) == rules
    if rules is not None:
        assert from_json(Disturbance, to_json(rules)) == rules
        assert conduct(config) != conduct(loaded(tmp_path, "")), "a resume with another one is another experiment"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("disturbance: {}", "give noise above 0, push, or both"),
        ("disturbance: {noise: -1}", "disturbance.noise"),
        ("disturbance: {push: {}}", "disturbance.push.rate"),
        ("disturbance: {push: {rate: 0}}", "disturbance.push.rate"),
        ("disturbance: {push: {rate: 0.1, steps: 0}}", "disturbance.push.steps"),
        ("disturbance: {nois: 1}", "noise"),
        ("artifacts: {camera_size: [96]}", "artifacts.camera_size"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert says in str(caught.value)


def test_what_a_benchmark_cannot_do_is_refused_before_the_first_episode() -> None:
    spec = FakeBenchmark().spec
    disturbed = config_of(disturbance={"noise": 0.1})
    check_disturbance(spec, disturbed)
    gripper = Layout((Component("gripper", "gripper", 1),))
    with pytest.raises(ContractError, match="no action component can be disturbed"):
        check_disturbance(dataclasses.replace(spec, action=gripper, hold_action=None), disturbed)
    check_camera_size(spec, config_of(artifacts={"camera_size": [4, 4]}))
    with pytest.raises(ContractError, match=r"camera_size is \[5, 4\], but camera 'front' .* renders at \[4, 4\]"):
        check_camera_size(spec, config_of(artifacts={"camera_size": [5, 4]}))


def test_a_disturbed_run_is_never_taken_for_the_policys_own() -> None:
    config = config_of(disturbance={"noise": 0.1})
    records = [dataclasses.replace(record, steps=10, disturbed=9) for record in records_of(items_of(config))]

    noted = summarise(items_of(config), records, manifest_of(config)).notices
    plain = summarise(items_of(), records_of(items_of()), manifest_of()).notices

    (found,) = [notice for notice in noted if notice.code == "disturbed"]
    assert found.severity == "warning"
    assert "disturbed in 90 % of 60 steps" in found.message
    assert not [notice for notice in plain if notice.code == "disturbed"]
