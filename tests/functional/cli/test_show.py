from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.functional.cli.conftest import Invoke
from vlassess.config import bundled_configs, load_config
from vlassess.plan import make_plan, plan_hash
from vlassess_link.testing.fakes import FakeBenchmark


def test_a_plan_as_json_is_the_plan(invoke: Invoke) -> None:
    said = invoke("plan", "walk.yaml", "--json")
    items = make_plan(load_config("walk.yaml"), FakeBenchmark(image=0).spec)
    shown = json.loads(said.out)
    assert said.code == 0
    assert shown["plan_hash"] == plan_hash(items)
    assert [item["item_id"] for item in shown["items"]] == [item.item_id for item in items]


def test_a_plan_as_a_table_has_a_line_for_each_episode(invoke: Invoke) -> None:
    said = invoke("plan", "tabletop-quick", "--set", "episodes=2", "--set", "suites=[pick]")
    assert said.code == 0
    assert said.out.count("pick/red_block") == 6
    assert said.out.count(" control ") == 18
    assert "18 items: 6 episodes for each of 3 policies" in said.out


@pytest.mark.parametrize("name", sorted(bundled_configs()))
def test_every_bundled_config_has_a_plan(invoke: Invoke, name: str) -> None:
    said = invoke("plan", name, "--json")
    assert said.code == 0, said.err
    assert len(json.loads(said.out)["items"]) >= 25


def test_the_demo_shows_a_policy_that_sees_on_two_suites_and_one_cell(invoke: Invoke) -> None:
    items = json.loads(invoke("plan", "tabletop-demo", "--json").out)["items"]
    assert len(items) >= 60
    assert {item["policy"] for item in items} == {"expert", "mini-vla", "random"}
    assert {item["episode"]["suite"] for item in items} == {"pick", "place"}
    assert len({json.dumps(item["episode"]["perturbation"]) for item in items}) == 2


def test_a_plan_that_does_not_fit_names_every_mistake(invoke: Invoke) -> None:
    said = invoke("plan", "tabletop-quick", "--set", "suites=[pik]", "--set", "cells=[{axis: x, level: y}]")
    assert said.code == 2
    assert "2 mistakes" in said.err
    assert "did you mean 'pick'?" in said.err


def test_a_report_is_computed_from_the_records(invoke: Invoke, tmp_path: Path) -> None:
    invoke("run", "walk.yaml")
    (folder,) = tmp_path.glob("runs/walk-*")
    (folder / "report.html").unlink()
    said = invoke("report", folder)
    assert said.code == 0
    assert "overall (pooled)" in said.out
    assert "report.html" in said.out
    assert (folder / "report.html").is_file()
    assert json.loads(invoke("report", folder, "--json").out)["counts"]["success"] == 6
    rows = list(csv.DictReader(io.StringIO(invoke("report", folder, "--csv").out)))
    assert [row["success"] for row in rows if row["level"] == "overall"] == ["6"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "gone"], ["gone does not exist"]),
        (["report", ".", "--json", "--csv"], ["not both"]),
        (["list", "benchmark"], ["'benchmark' cannot be listed", "did you mean 'benchmarks'?"]),
        (["plan", "tabletop-quik"], ["did you mean 'tabletop-quick'?"]),
        (["serve", "randm"], ["no policy is called 'randm'", "did you mean 'random'?"]),
        (["serve", "expert"], ["reads the simulator"]),
        (["serve", "gone.py:C"], ["there is no file"]),
        (["serve", "random", "--set", "chunk"], ["PATH=VALUE"]),
        (["serve", "random", "--port", "70000"], ["--port"]),
    ],
)
def test_usage_errors(invoke: Invoke, arguments: list[str], words: list[str]) -> None:
    said = invoke(*arguments)
    assert (said.code, said.out) == (2, "")
    for word in words:
        assert word in " ".join(said.err.replace("│", " ").split())


def test_what_is_bundled_is_listed(invoke: Invoke) -> None:
    said = invoke("list")
    assert said.code == 0
    for word in ("tabletop-v1", "expert", "random", "do-nothing", "tabletop-quick", "privileged", "bundled"):
        assert word in said.out


@pytest.mark.parametrize("kind", ["benchmarks", "policies", "configs"])
def test_one_kind_can_be_listed_as_json(invoke: Invoke, kind: str) -> None:
    listed = json.loads(invoke("list", kind, "--json").out)
    assert list(listed) == [kind]
    assert all(entry["name"] for entry in listed[kind])


def test_benchmarks_are_listed_with_their_suites(invoke: Invoke) -> None:
    listed = json.loads(invoke("list", "benchmarks", "--json").out)["benchmarks"]
    suites = {entry["name"]: set(entry["suites"]) for entry in listed}
    assert {"pick", "place"} <= suites["tabletop-v1"]
    assert "mt50" in suites["metaworld-v1"]
