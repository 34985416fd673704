"""What the page on the tabletop shows is run, and its tables are what the benchmarks declare."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.docs.test_examples import ROOT, blocks
from tests.docs.test_more_examples import run

PAGE = ROOT / "docs" / "reference" / "tabletop.md"
BENCHMARKS = ROOT / "src" / "vlassess" / "benchmarks"


def records(folder: Path) -> list[dict[str, object]]:
    (file,) = folder.glob("runs/*/episodes.jsonl")
    return [json.loads(line)["outcome"] for line in file.read_text(encoding="utf-8").splitlines()]


def test_what_it_shows_runs(tmp_path: Path) -> None:
    both, own = (block["body"][2:].strip() for block in blocks(PAGE) if block["language"] == "console")
    for name in ("both", "own"):
        (tmp_path / name).mkdir()
    for block in blocks(PAGE):
        if block["title"]:
            (tmp_path / "own" / block["title"]).write_text(block["body"], encoding="utf-8")
    run(["bash", "-c", both], tmp_path / "both")
    assert [outcome["success"] for outcome in records(tmp_path / "both")] == [True] * 15
    run(["bash", "-c", own], tmp_path / "own")
    successes = [bool(outcome["success"]) for outcome in records(tmp_path / "own")]
    assert len(successes) == 12
    assert 0 < sum(successes) < 12, "the nearest block is the named one now and then"


def test_its_tables_are_the_specs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    specs = [
        json.loads((BENCHMARKS / name / "spec.json").read_text(encoding="utf-8"))
        for name in ("tabletop", "tabletop_bimanual")
    ]
    (cameras,) = re.findall(r"^\| cameras \| (.+) \| (.+) \|$", text, re.M)
    for shown, spec in zip(cameras, specs, strict=True):
        assert re.findall(r"`(\w+)`", shown) == [camera["name"] for camera in spec["cameras"]]
        tasks = [task["suite"] for task in spec["tasks"]]
        assert {suite: tasks.count(suite) for suite in tasks} == {
            suite: int(count) for suite, count in re.findall(r"^\| `(\w+)` \| (\d) \|", text, re.M)
        }
