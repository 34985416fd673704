"""What the page on the tabletop's factors says is declared, what it shows is run, and its pictures are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT, blocks
from tests.docs.test_more_examples import run

PAGE = ROOT / "docs" / "how-to" / "factors.md"
BENCHMARKS = ROOT / "src" / "vlassess" / "benchmarks"
MOST_BYTES = 600_000


@pytest.mark.parametrize("name", ["tabletop", "tabletop_bimanual"])
def test_the_table_has_every_axis_and_level_in_order(name: str) -> None:
    spec = json.loads((BENCHMARKS / name / "spec.json").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| (`\w+`) \| (`[^|]+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    shown = {axis.strip("`"): re.findall(r"`(\w+)`", levels) for axis, levels in rows}
    assert shown == {axis["name"]: [level["name"] for level in axis["levels"]] for axis in spec["axes"]}


def test_the_command_shows_the_control_and_every_level(tmp_path: Path) -> None:
    (command,) = (block["body"][2:].strip() for block in blocks(PAGE) if block["language"] == "console")
    run(["bash", "-c", command], tmp_path)
    assert len(list((tmp_path / "shapes").glob("start-*.png"))) == 7


def test_the_pictures_are_there_and_small() -> None:
    paths = [PAGE.parent / path for path in re.findall(r"!\[[^]]+\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))]
    assert len(paths) == 2
    assert sum(path.stat().st_size for path in paths) < MOST_BYTES
