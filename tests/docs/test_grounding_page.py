"""The page on grounding: its commands run as written, its suites and objects are those that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT, blocks
from tests.docs.test_how_to import run_page
from vlassess.config import config_of
from vlassess.grounding.instructions import OBJECTS
from vlassess.grounding.suites import LETTERS
from vlassess.schema.grounding import GroundingConfig

pytestmark = pytest.mark.timeout(300)
PAGE = ROOT / "docs" / "how-to" / "grounding.md"
SPEC = ROOT / "src" / "vlassess" / "benchmarks" / "tabletop_answers" / "spec.json"


def test_what_it_shows_runs(tmp_path: Path) -> None:
    for block in blocks(PAGE):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["body"], encoding="utf-8")
    said = run_page(PAGE, tmp_path)
    assert "oracle: semantic grounding" in said
    assert "3/3" in said
    assert "nothing was grasped in 2 episodes: nSG is undefined" in said
    (page,) = tmp_path.glob("runs/run-*/report.html")
    assert "asked without a robot, it answers" in page.read_text(encoding="utf-8")


def test_suites_objects_and_controls_are_those_that_there_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    suites = json.loads(SPEC.read_text(encoding="utf-8"))["tasks"]
    for suite in {task["suite"] for task in suites if task["suite"].startswith("rsb")}:
        assert f"`{suite}`" in text
    assert ", ".join(OBJECTS.values()) in text
    assert (LETTERS[0], LETTERS[-1], "J" in LETTERS) == ("A", "K", False)
    controls = re.findall(r"^\| `(\w+)` \|", text.partition("## Controls")[2].partition("## Ask")[0], re.M)
    for control in controls:
        GroundingConfig(control=control)
    assert len(controls) == 4


def test_the_files_of_questions_read_as_a_config() -> None:
    (shown,) = (block["body"] for block in blocks(PAGE) if block["body"].startswith("grounding:"))
    lines = dict(re.findall(r"^  (\w+): (\S+)", shown, re.M))
    config = config_of({"benchmark": "tabletop-answers-v1", "policies": {"oracle": "oracle"}, "grounding": lines})
    assert config.grounding is not None
    assert config.grounding.hardmath == str(Path.cwd() / "gsm8k_test.jsonl")
