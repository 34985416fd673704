"""The page on transfer runs as written: its studies are locked, run, amended, entered by hand and reported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT, blocks
from tests.docs.test_how_to import run_page
from vlassess.config import load_model
from vlassess.schema.study import StudyConfig
from vlassess.transfer import BUNDLED_STUDIES, PATHS

PAGE = ROOT / "docs" / "how-to" / "transfer.md"


def run_parts(folder: Path, name: str) -> str:
    """Write out the titled files, run the commands and the Python about one study, and return what they say."""
    for block in blocks(PAGE):
        if block["title"]:
            (folder / block["title"]).write_text(block["body"], encoding="utf-8")
    kept = [block[0] for block in blocks(PAGE) if not block["title"] and re.search(name, block["body"])]
    page = folder / "page.md"
    page.write_text("\n\n".join(kept), encoding="utf-8")
    return run_page(page, folder)


@pytest.mark.timeout(200)
def test_the_first_study_is_locked_run_amended_and_reported(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    said = run_parts(tmp_path, "small")
    assert "This is a pilot" in said
    (folder,) = (tmp_path / "studies").iterdir()
    facts = json.loads((folder / "analysis.json").read_text(encoding="utf-8"))["facts"]
    assert facts["starts"] == 2
    (change,) = [json.loads(line) for line in (folder / "amendments.jsonl").read_text(encoding="utf-8").splitlines()]
    assert change["starts"] == 4
    assert "camera_pose=far" in (folder / "report.html").read_text(encoding="utf-8")


def test_trials_by_hand_are_planned_entered_and_reported(tmp_path: Path) -> None:
    said = run_parts(tmp_path, r"kitchen|robot\.yaml|DictReader")
    assert "18 results entered; 18 of 18 trials are done" in said
    assert "called unfair: 1 trial (0005)" in said
    (folder,) = (tmp_path / "studies").iterdir()
    assert (folder / "report.html").is_file()
    events = [json.loads(line)["kind"] for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert events == ["sheet", "import", "unblind"]


def test_the_sections_of_the_page_are_sections_of_a_study(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    parts = [block["body"] for block in blocks(PAGE) if block["language"] == "yaml" and not block["title"]]
    curve = next(part for part in parts if part.startswith("few_shot"))
    head = "benchmark: tabletop-v1\nsuites: [pick]\npolicies: [mini-vla]\nstarts: 6\n"
    base = f"{head}cells: [object_category=card]\n{curve}"
    file = tmp_path / "study.yaml"
    file.write_text(base, encoding="utf-8")
    study = load_model(StudyConfig, str(file), [], BUNDLED_STUDIES, PATHS)
    assert study.few_shot is not None
    assert len(study.few_shot.adapted) == 15
    (claim,) = [part for part in parts if part.startswith("claim")]
    file.write_text(base.replace("starts: 6\n", claim), encoding="utf-8")
    assert load_model(StudyConfig, str(file), [], BUNDLED_STUDIES, PATHS).claim is not None
    assert re.search(r"about 2900 episodes", text)
