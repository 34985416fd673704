"""What the page on comparing shows is run, on the tutorial's run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.docs.test_examples import ROOT, blocks, configs, files
from tests.docs.test_more_examples import run

PAGE = ROOT / "docs" / "how-to" / "compare.md"


def test_the_page_runs_as_written(tmp_path: Path) -> None:
    for name, body in files().items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    for block in blocks(PAGE):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["body"], encoding="utf-8")
    run(["vlassess", "run", "reach.yaml"], tmp_path)
    said = [
        " ".join(run(["bash", "-c", line[2:]], tmp_path).split())
        for block in blocks(PAGE)
        if block["language"] == "console"
        for line in block["body"].splitlines()
    ]
    shown = [" ".join(block["body"].split()) for block in blocks(PAGE) if block["language"] == "text"]
    assert shown[0] in said[0]
    assert shown[1] in said[1]
    assert "are compared unpaired" in said[2]
    (decision,) = tmp_path.glob("runs/half-*/decision.json")
    assert json.loads(decision.read_text(encoding="utf-8"))["decided_at"] is not None


def test_its_config_is_a_config(tmp_path: Path) -> None:
    loaded = [config for config in configs("docs/how-to/compare.md", tmp_path) if config.comparison is not None]
    assert loaded[0].comparison is not None
    assert loaded[0].comparison.margin == 0.03
