"""The pages on real time and on conformance: their commands are run, their tables are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT, configs, files
from tests.docs.test_how_to import run_page
from vlassess_link.testing import benchmark_kit, policy_kit

HOW_TO = ROOT / "docs" / "how-to"


def test_the_page_on_real_time_runs_as_written(tmp_path: Path) -> None:
    said = run_page(HOW_TO / "realtime.md", tmp_path)
    assert "held still" in said
    assert re.search(r"6 starts are shared", said)


def test_the_page_on_conformance_runs_as_written(tmp_path: Path) -> None:
    for name, body in files().items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    said = run_page(HOW_TO / "conformance.md", tmp_path)
    assert "reset_forgets" in said
    assert "10 passed, 2 skipped" in said


def test_yaml_on_the_page_is_part_of_a_config(tmp_path: Path) -> None:
    wall, modelled, replanning = configs("docs/how-to/realtime.md", tmp_path)
    assert wall.realtime is not None
    assert modelled.realtime is not None
    assert (wall.realtime.pace, modelled.realtime.pace) == ("wall", "modelled")
    assert replanning.realtime is not None
    assert replanning.realtime.asynchronous


@pytest.mark.parametrize(("title", "checks"), [("Benchmarks", benchmark_kit.CHECKS), ("Policies", policy_kit.CHECKS)])
def test_the_page_names_every_check_in_order(title: str, checks: tuple[object, ...]) -> None:
    text = (HOW_TO / "conformance.md").read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", text, re.M) == [getattr(check, "name", "") for check in checks]
