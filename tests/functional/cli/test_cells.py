"""Runs with cells from the command line: rows, exit codes, what a violated cell looks like everywhere."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.functional.cli.conftest import Invoke

FACTORS = Path(__file__).parents[2] / "factors.py"


def config(folder: Path, broken: str | None = None, **fields: Any) -> str:
    """Write a config of `tests.factors` and return its path."""
    params = {} if broken is None else {"broken": broken}
    whole = {
        "name": "factors",
        "benchmark": {"target": f"{FACTORS}:Factors", "params": params},
        "episodes": 8,
        "cells": ["light=*", "language=paraphrase", "object=mug", "start=far", "camera_pose=near within light=dim"],
        "policies": {"main": {"local": f"{FACTORS}:Sighted"}},
        "execution": {"workers": 1},
        **fields,
    }
    path = folder / "factors.json.yaml"
    path.write_text(json.dumps(whole), encoding="utf-8")
    return str(path)


def test_a_run_prints_a_row_a_cell_with_control_gap_verdict_and_audit(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    said = invoke("run", config(tmp_path))
    assert said.code == 0, said.err
    rows = {line.split()[0]: line.split() for line in said.out.splitlines() if "=" in line[:12]}
    assert rows["light=dim"][1:7] == ["control", "8", "100.0", "63.1–100.0", "100.0", "+0.0"]
    assert rows["light=dim"][7:] == ["-32.4…+32.4", "1", "not", "shown", "ok", "8/8"]
    assert rows["light=dark"][2:7] == ["8", "0.0", "0.0–36.9", "100.0", "-100.0"]
    assert rows["light=dark"][-3:] == ["worse", "ok", "8/8"]
    assert "+0.0*" in rows["start=far"]
    assert "added: control, the control of light=dim and 4 more" in said.out
    assert "over 6 valid cells at alpha = 0.05 (Holm)" in " ".join(said.out.split())
    (run,) = tmp_path.glob("runs/factors-*")
    monkeypatch.setenv("COLUMNS", "50")
    narrow = invoke("report", run).out
    assert narrow.split().count("ok") == 6, "the audit is there in a narrow terminal, too"
    assert "what the policy was given" in " ".join(narrow.split())


BROKEN = {
    "level_in_prompt": ("language=paraphrase", "leak"),
    "not_in_observation": ("object=mug", "instruction not delivered"),
    "moves_too": ("light=dim", "second factor"),
    "no_op": ("light=dim", "no-op"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_violated_cell_is_invalid_in_exit_code_and_report(invoke: Invoke, tmp_path: Path, broken: str) -> None:
    cell, word = BROKEN[broken]
    said = invoke("run", config(tmp_path, broken, cells=[cell]))
    assert said.code == 5
    assert f"cell {cell} of policy 'main' is invalid: {word}" in said.err
    assert "VIOLATED" in said.out
    (run,) = tmp_path.glob("runs/factors-*")
    page = (run / "report.html").read_text(encoding="utf-8")
    assert '<tr class="invalid">' in page
    assert word in page


def test_arrays_say_by_how_much(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke("run", config(tmp_path, "moves_too", cells=["light=dim"]), "--audit", "arrays")
    assert said.code == 5
    (run,) = tmp_path.glob("runs/factors-*")
    (found,) = json.loads(invoke("report", run, "--json").out)["policies"][0]["factors"]
    sizes = {one["name"]: one["largest"] for one in found["audit"]["components"]}
    assert sizes["state:x"] == pytest.approx(0.25, abs=1e-6)
    assert sizes["camera:front"] == 40.0
    assert found["audit"]["notes"] == ["state:x differs by up to 0.25"]
    assert (found["verdict"], found["audit"]["verdict"]) == ("invalid", "violated")
    (row,) = [row for row in csv.DictReader(io.StringIO(invoke("report", run, "--csv").out)) if row["level"] == "cell"]
    assert (row["verdict"], row["audit"], row["perturbation"]) == ("invalid", "violated", "light=dim")
    assert invoke("run", "--resume", run).code == 5


def test_a_blind_policy_leaves_cells_unwitnessed_and_the_exit_code_alone(invoke: Invoke, tmp_path: Path) -> None:
    blind = {"main": {"local": f"{FACTORS}:Sighted", "params": {"cameras": []}}}
    said = invoke("run", config(tmp_path, policies=blind, cells=["light=dim", "language=paraphrase"]))
    assert said.code == 0
    assert "not witnessed" in said.out
    assert "the policy looks at none of camera:front, camera:side" in " ".join(said.out.split())


def test_one_episode_of_a_run_with_cells_can_be_rerun(invoke: Invoke, tmp_path: Path) -> None:
    invoke("run", config(tmp_path, cells=["light=dim"], episodes=1))
    (run,) = tmp_path.glob("runs/factors-*")
    last = json.loads((run / "episodes.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert invoke("rerun", run, last["item_id"]).code == 0


def test_a_plan_says_which_controls_it_adds(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke("plan", config(tmp_path, cells=["camera_pose=near within light=dim"]))
    assert "added: light=dim, the control of camera_pose=near within light=dim" in said.out
    assert "24 items: 24 episodes" in said.out


def test_states_are_shown_as_pictures_a_sheet_and_a_page(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke("states", "show", config(tmp_path), "--episodes", "2", "--output", tmp_path / "sheet")
    assert said.code == 0, said.err
    assert "14 starts of fake@1 through front, side" in said.out
    assert "14 starts to show" in said.err
    assert sorted(path.name for path in (tmp_path / "sheet").iterdir()) == [
        "sheet-1.png",
        *(f"start-{number:04d}.png" for number in range(1, 15)),
        "states.html",
    ]
    first = np.asarray(Image.open(tmp_path / "sheet" / "start-0001.png"))
    assert first.shape == (4, 12, 3)
    assert not list(tmp_path.glob("runs"))
    page = (tmp_path / "sheet" / "states.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 14
    assert "http" not in page.replace("http-equiv", "")
    assert "camera_pose=near, light=dim" in page


def test_states_of_a_run_are_those_that_it_was_run_with(invoke: Invoke, tmp_path: Path) -> None:
    invoke("run", config(tmp_path, repeats=2, seed=7))
    (run,) = tmp_path.glob("runs/factors-*")
    shown = json.loads(invoke("states", "show", run, "--episodes", "1", "--camera", "side", "--json").out)
    recorded = {
        record["episode_id"]: (record["state_digest"], record["instruction"])
        for record in map(json.loads, (run / "episodes.jsonl").read_text(encoding="utf-8").splitlines())
    }
    assert len(shown["starts"]) == 7
    for start in shown["starts"]:
        assert recorded[start["episode_id"]] == (start["state_digest"], start["instruction"])
    assert invoke("states", "show", run, "--set", "seed=1").code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--camera", "top"], "has no camera 'top'; it has front, side"), (["--set", "cells=[light=of]"], "light=of")],
)
def test_states_that_cannot_be_shown_are_a_sentence(
    invoke: Invoke, tmp_path: Path, arguments: list[str], words: str
) -> None:
    said = invoke("states", "show", config(tmp_path), *arguments)
    assert said.code == 2
    assert words in said.err


def test_a_start_that_cannot_be_made_is_named_and_the_others_are_shown(invoke: Invoke, tmp_path: Path) -> None:
    target = {"target": f"{FACTORS}:Factors", "params": {"fault": "reset_raises", "fault_indices": [1]}}
    path = config(tmp_path, benchmark=target, cells=[], execution={"workers": 1, "retries": 0})
    said = invoke("states", "show", path, "--episodes", "2", "--output", tmp_path / "sheet")
    assert said.code == 3
    assert (
        "warning: start 2 (walk/to-4 #1, control) has no picture: ValueError: the fake was told to raise in reset"
        in said.err
    )
    assert (tmp_path / "sheet" / "start-0001.png").is_file()
    assert not (tmp_path / "sheet" / "start-0002.png").exists()
