"""The page on demonstrations: its commands run as written, its code reads what they made, its tables are true."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT
from tests.docs.test_how_to import run_page
from vlassess.datasets.lerobot import LeRobotReader

pytestmark = pytest.mark.timeout(300)
PAGE = ROOT / "docs" / "how-to" / "demonstrations.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where everything on the page has been run, but what needs lerobot."""
    folder = tmp_path_factory.mktemp("page")
    text = PAGE.read_text(encoding="utf-8")
    page = folder / "page.md"
    blocks = text.split("```python\n# needs:")
    page.write_text(blocks[0] + blocks[1].partition("```\n")[2], encoding="utf-8")
    (folder / "said.txt").write_text(run_page(page, folder), encoding="utf-8")
    return folder


def test_what_is_collected_is_read(folder: Path) -> None:
    said = (folder / "said.txt").read_text(encoding="utf-8")
    assert "demonstrations: 3 episodes" in said
    for colour in ("red", "green", "blue"):
        assert f"pick up the {colour} block (" in said
    assert len(LeRobotReader(folder / "demonstrations")) == 3


def test_every_feature_is_on_the_page(folder: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in ("demonstrations", "disturbed"):
        features = json.loads((folder / name / "meta" / "info.json").read_text(encoding="utf-8"))["features"]
        for feature in features:
            shown = "observation.images.CAMERA" if feature.startswith("observation.images.") else feature
            assert f"`{shown}`" in text
    assert "executed_action" in features
    assert not any("images" in feature for feature in features)


def test_a_runs_recordings_become_data_sets_and_rows(folder: Path) -> None:
    reader = LeRobotReader(folder / "exported")
    with (folder / "steps.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(episode.length for episode in reader.episodes)
    assert {row["policy"] for row in rows} == {"expert"}
