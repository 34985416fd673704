"""``vlassess transfer`` from the command line: what it prints, JSON alone, exit codes, mistakes in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.functional.cli.conftest import Invoke
from vlassess_link.jsonable import from_json
from vlassess_link.specs import BenchmarkSpec

FACTORS = Path(__file__).parents[2] / "factors.py"


def study(folder: Path, **fields: Any) -> str:
    """Write a study of `tests.factors` and return its path."""
    values = {
        "name": "small",
        "benchmark": {"target": f"{FACTORS}:Factors"},
        "policies": {"main": {"local": f"{FACTORS}:Sighted"}},
        "cells": ["light=*", "camera_pose=near within light=dim"],
        "starts": 3,
        "execution": {"workers": 1},
        "seconds_per_trial": 90,
        **fields,
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(values), encoding="utf-8")
    return str(path)


def test_a_plan_says_checks_price_and_claims(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke("transfer", "plan", study(tmp_path))
    assert said.code == 0, said.err
    told = " ".join(said.out.split())
    assert "3 cells differ from their controls in one axis each" in told
    assert "12 simulated trials, 0.3 hours" in told
    assert "This is a pilot" in told
    assert not (tmp_path / "studies").exists()


def test_from_plan_to_report_every_command_prints_json_alone(invoke: Invoke, tmp_path: Path) -> None:
    file = study(tmp_path, real={"starts": 1})
    planned = json.loads(invoke("transfer", "plan", file, "--json").out)
    assert planned["parts"][0]["items"] == 12
    assert planned["budget"]["by_hand"] == 4  # light=dim is a cell and the control of another
    locked = json.loads(invoke("transfer", "lock", file, "--json").out)
    folder = Path(locked["folder"])
    assert from_json(BenchmarkSpec, json.loads((folder / "study.json").read_text())["benchmark_spec"]).id == "fake"
    ran = invoke("transfer", "run", folder, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["parts"][0]["finished"] == 12
    found = invoke("transfer", "analyse", folder, "--json")
    assert found.code == 3  # nothing is entered by hand yet
    cells = json.loads(found.out)["analysis"]["every"]["cells"]
    assert {cell["control"] for cell in cells} == {"control", "light=dim"}
    report = json.loads(invoke("transfer", "report", folder, "--json").out)["report"]
    assert Path(report).is_file()
    amended = invoke("transfer", "amend", folder, "--set", "alpha=0.01", "--reason", "stricter", "--json")
    assert json.loads(amended.out)["amendment"] == 1
    status = json.loads(invoke("transfer", "status", folder, "--json").out)
    assert [one["reason"] for one in status["amendments"]] == ["stricter"]
    assert status["by_hand"] == {"done": 0, "planned": 4}
    again = invoke("transfer", "plan", folder, "--set", "starts=4", "--json")
    assert json.loads(again.out)["starts"] == 4


def test_trials_by_hand_from_the_command_line(invoke: Invoke, tmp_path: Path) -> None:
    file = study(tmp_path, benchmark=None, starts=1, cells=["object=mug"], real={"starts": 1})
    file = str(_without(tmp_path / "study.yaml", "benchmark"))
    folder = Path(json.loads(invoke("transfer", "lock", file, "--json").out)["folder"])
    sheet = json.loads(invoke("transfer", "sheet", folder, "--output", "sheet", "--json").out)["files"]
    rows = Path(sheet[0]).read_text(encoding="utf-8").splitlines()
    Path("trials.csv").write_text("\n".join([rows[0], rows[1].replace(",,,,,,", ",2,yes,0,75,,")]), encoding="utf-8")
    entered = invoke("transfer", "import", folder, "trials.csv")
    assert entered.code == 3
    assert "1 results entered; 1 of 2 trials are done" in entered.out
    assert "missing" in entered.out
    assert "main" in invoke("transfer", "unblind", folder).out
    shown = invoke("transfer", "status", folder).out
    assert "unblind, " in shown


def _without(path: Path, key: str) -> Path:
    values = json.loads(path.read_text(encoding="utf-8"))
    del values[key]
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("plan", "nowhere.yaml"), "there is no file"),
        (("plan", "tabeltop"), "did you mean 'tabletop'?"),
        (("plan", "study.yaml", "--set", "cells=[light=dimm]"), "did you mean 'dim'?"),
        (("plan", "study.yaml", "--set", "startz=3"), "did you mean 'starts'?"),
        (("plan", "study.yaml", "--set", "policies={a: nobody}"), "nobody"),
        (("run", "study.yaml"), "is no folder"),
        (("analyse", "nowhere"), "does not exist"),
        (("amend", "nowhere", "--reason", "x"), "say what changes"),
        (("import", "nowhere", "trials.csv"), "does not exist"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(invoke: Invoke, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    study(tmp_path)
    said = invoke("transfer", *arguments)
    assert said.code == 2
    assert told in " ".join(said.err.split())
    assert "Traceback" not in said.err
    assert said.out == ""


def test_a_broken_rule_is_exit_code_four_and_no_lock(invoke: Invoke, tmp_path: Path) -> None:
    few = {
        "policy": "main",
        "cell": "light=dark",
        "checkpoints": [{"k": 1, "method": "full", "policy": {"local": f"{FACTORS}:Sighted"}}],
        "objects": ["mug 1"],
        "demonstrations": {"objects": ["mug 1"]},
    }
    file = study(tmp_path, few_shot=few)
    assert invoke("transfer", "plan", file).code == 4
    said = invoke("transfer", "lock", file)
    assert said.code == 2
    assert "mug 1: in the demonstrations and in the evaluation" in said.err


def test_an_amendment_needs_a_reason_and_a_change(invoke: Invoke, tmp_path: Path) -> None:
    folder = json.loads(invoke("transfer", "lock", study(tmp_path), "--json").out)["folder"]
    assert "say why" in invoke("transfer", "amend", folder, "--set", "starts=6", "--reason", " ").err
    assert "says already" in invoke("transfer", "amend", folder, "--set", "starts=3", "--reason", "same").err
    assert "keeps its name" in invoke("transfer", "amend", folder, "--set", "name=other", "--reason", "rename").err
