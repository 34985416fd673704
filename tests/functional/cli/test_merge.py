from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.functional.cli.conftest import Invoke


@pytest.fixture
def shards(invoke: Invoke) -> list[Path]:
    """Two shards of three, in the folder where commands run."""
    said = [json.loads(invoke("run", "walk.yaml", "--shard", f"{number}/3", "--json").out) for number in (1, 2)]
    return [Path(each["run_dir"]) for each in said]


def test_shards_are_merged_as_the_messages_say(invoke: Invoke, shards: list[Path]) -> None:
    said = invoke("merge", *shards, shards[0], "--output", "whole")
    assert said.code == 3, said.err
    assert "6 records of 3 runs, 2 of them duplicates, which were dropped" in said.out
    assert "merged: whole" in said.out
    assert "2 items of shard 3/3 have no result; to run them: vlassess run walk.yaml --shard 3/3" in said.err
    assert "or all of them here: vlassess run --resume whole" in said.err
    last = json.loads(invoke("run", "walk.yaml", "--shard", "3/3", "--json").out)
    assert "part of its plan, shard 3/3 of the plan's 6 items" in json.dumps(last["summary"]["notices"])
    merged = json.loads(invoke("merge", "whole", last["run_dir"], "--output", "all", "--json").out)
    assert (merged["exit_code"], merged["complete"], merged["remaining"], merged["notes"]) == (0, True, [], [])
    assert [source["run_id"] for source in merged["sources"]] == ["whole", Path(last["run_dir"]).name]
    assert invoke("report", "all").code == 0


def test_a_merged_run_can_be_resumed(invoke: Invoke, shards: list[Path]) -> None:
    invoke("merge", *shards, "--output", "whole")
    said = invoke("run", "--resume", "whole")
    assert said.code == 0, said.err
    assert "6 episodes, 4 of them finished before" in said.out
    rows = list(csv.DictReader(io.StringIO(invoke("export", "whole").out)))
    assert [row["ended_as"] for row in rows] == ["success"] * 6


def test_what_cannot_be_merged_is_refused_and_leaves_nothing(
    invoke: Invoke, shards: list[Path], tmp_path: Path
) -> None:
    other = json.loads(invoke("run", "walk.yaml", "--set", "seed=1", "--limit", "2", "--json").out)["run_dir"]
    said = invoke("merge", shards[0], other, "--output", "whole")
    assert (said.code, said.out) == (2, "")
    assert "cannot be merged: the plan is not the same (seed: 0 and 1)" in said.err
    assert not (tmp_path / "whole").exists()


def test_a_limited_run_says_that_it_is_not_the_whole(invoke: Invoke) -> None:
    said = invoke("run", "walk.yaml", "--limit", "2")
    assert said.code == 0, said.err
    assert "this run is a part of its plan: 2 items that stand for the plan's 6" in said.out
    assert "its rates are those of 2 of 6 items" in " ".join(said.out.split())
    assert "2/2 episodes" in said.out


def test_a_plan_can_be_shown_in_part(invoke: Invoke) -> None:
    whole = json.loads(invoke("plan", "walk.yaml", "--json").out)["items"]
    parts = [json.loads(invoke("plan", "walk.yaml", "--shard", f"{n}/2", "--json").out)["items"] for n in (1, 2)]
    assert sorted(item["item_id"] for part in parts for item in part) == sorted(item["item_id"] for item in whole)
    assert "4 of the plan's 6 items" in invoke("plan", "walk.yaml", "--limit", "4").out


def test_an_export_goes_to_a_file_by_its_name(invoke: Invoke, shards: list[Path], tmp_path: Path) -> None:
    for name in ("table.csv", "table.json", "table.parquet"):
        said = invoke("export", shards[0], "--output", name)
        assert (said.code, said.out, said.err) == (0, "", f"{name}: 2 rows\n")
        assert (tmp_path / name).stat().st_size > 0
    assert json.loads((tmp_path / "table.json").read_text())[0]["ended_as"] == "success"
    assert invoke("export", shards[0], "--format", "json", "--output", "any.txt").code == 0
    assert json.loads(invoke("export", shards[0], "--format", "json").out)[0]["success"] is True


def test_the_doctor_tells_programs_what_it_found(invoke: Invoke) -> None:
    said = invoke("doctor", "--json")
    found = json.loads(said.out)
    assert said.code == (0 if found["ready"] else 3)
    names = {check["name"] for check in found["checks"]}
    assert {"python", "packages", "disk", "loopback", "interpreters", "uv"} <= names
    assert found["ready"] == all(check["ok"] for check in found["checks"] if check["needed"])


def test_the_doctor_tells_people_how_to_mend(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    said = invoke("doctor")
    assert said.code == 3
    assert "FAILED    rendering" in said.out
    assert "mend: export MUJOCO_GL=" in said.out or "mend: set MUJOCO_GL to one of egl, osmesa, glfw" in said.out
    assert "This machine is not ready: mend what FAILED." in said.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "walk.yaml", "--shard", "8/7"], ["shard is '8/7'; the first number must be from 1 to the second"]),
        (["run", "walk.yaml", "--shard", "2"], ["shard is '2'; it must be I/N"]),
        (["run", "walk.yaml", "--shard", "1/9"], ["the plan has 6 items; take at most 6 shards"]),
        (["run", "walk.yaml", "--limit", "0"], ["--limit"]),
        (["run", "--resume", "gone", "--shard", "1/2"], ["leave --shard and --limit out"]),
        (["merge", "gone", "--output", "x"], ["gone does not exist"]),
        (["merge", "gone"], ["--output"]),
        (["merge", "gone", "--output", "walk.yaml"], ["walk.yaml exists"]),
        (["export", "gone"], ["gone does not exist"]),
        (["export", "gone", "--format", "xml"], ["--format"]),
        (["export", "gone", "--format", "parquet"], ["name a file with --output"]),
        (["export", "gone", "--output", "x.xlsx"], ["'x.xlsx' does not end in .csv, .json, .parquet"]),
    ],
)
def test_usage_errors(invoke: Invoke, arguments: list[str], words: list[str]) -> None:
    said = invoke(*arguments)
    assert (said.code, said.out) == (2, "")
    for word in words:
        assert word in " ".join(said.err.replace("│", " ").split())
    assert "Traceback" not in said.err
