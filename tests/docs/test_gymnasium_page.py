"""The page on gymnasium runs as written: its files are written out, its command is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.environments import CACHE
from tests.docs.test_examples import ROOT, blocks
from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.execution.uv import UvFailedError
from vlassess.pipeline import start
from vlassess.schema.events import SilentListener

PAGE = ROOT / "docs" / "how-to" / "gymnasium.md"


def test_the_page_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLASSESS_CACHE", CACHE)
    files = {block["title"]: block["body"] for block in blocks(PAGE) if block["title"]}
    for name, body in files.items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    commands = [block["body"] for block in blocks(PAGE) if block["language"] == "console"]
    assert commands == ["$ vlassess run pendulum.yaml\n"]
    config = load_config(str(tmp_path / "pendulum.yaml"), [f"output={tmp_path / 'runs'}", "step_limit=20"])
    try:
        result = start(config, Catalog.discover(), SilentListener())
    except UvFailedError as error:
        pytest.skip(f"NOT TESTED: the page's environment cannot be built here: {error}")
    assert result.exit_code == 0, result.reasons
    assert result.summary.policies[0].counts.scored == 3
