"""The page on cells and their audit runs as written and prints what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.test_examples import ROOT, blocks
from vlassess.config import load_config
from vlassess.schema.config import Cell

PAGE = ROOT / "docs" / "how-to" / "audit.md"


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_the_page_runs_as_written(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "120"}
    said: list[str] = []
    shown: list[str] = []
    for block in blocks(PAGE):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["body"], encoding="utf-8")
        elif block["language"] == "text":
            shown += squeezed(block["body"])
        elif block["language"] == "console":
            shown += [line for line in squeezed(block["body"]) if not line.startswith("$ ")]
        for line in block["body"].splitlines() if block["language"] == "console" else ():
            if line.startswith("$ "):
                done = subprocess.run(
                    ["bash", "-c", line[2:]], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
                said += squeezed(done.stdout)
    assert said == shown
    kit = ("-m", "vlassess_link.testing", "benchmark", "lamp.py:Lamp")
    done = subprocess.run([sys.executable, *kit], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout


def test_the_cells_of_the_page_are_cells(tmp_path: Path) -> None:
    (listed,) = [block["body"] for block in blocks(PAGE) if block["language"] == "yaml" and not block["title"]]
    file = tmp_path / "cells.yaml"
    file.write_text(f"benchmark: tabletop-v1\npolicy: random\n{listed}", encoding="utf-8")
    assert load_config(str(file)).cells == (
        Cell(axis="camera_pose", level="far"),
        Cell(axis="lighting", level="*"),
        Cell(axis="object_category", level="mug", within={"background": "room"}),
    )


def test_the_page_names_every_verdict_and_the_exit_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w ]+)` \|", text, re.M) == ["ok", "VIOLATED", "not witnessed", "not audited"]
    assert "exit code 5" in text
