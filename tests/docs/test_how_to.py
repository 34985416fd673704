"""Commands and Python of the pages on shards, export and doctor are run, one page after the other."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

from tests.docs.test_examples import ROOT, blocks

PAGES = ("shards.md", "export.md", "doctor.md")


def run_page(page: Path, folder: Path) -> str:
    """Run a page's commands and Python where a reader would, and return what they print."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    said = ""
    for block in blocks(page):
        if block["language"] == "console":
            commands = [["bash", "-c", line[2:]] for line in block["body"].splitlines() if line.startswith("$ ")]
        else:
            commands = [[sys.executable, "-c", block["body"]]] if block["language"] == "python" else []
        for command in commands:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
            )
            assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
            said += done.stdout
    return said


def test_the_pages_run_as_written(tmp_path: Path) -> None:
    said = "".join(run_page(ROOT / "docs" / "how-to" / page, tmp_path) for page in PAGES)
    assert "8 records of 2 runs, 0 of them duplicates" in said
    manifest = json.loads((tmp_path / "whole" / "run.json").read_text(encoding="utf-8"))
    assert len(manifest["sources"]) == 2
    rows = csv.DictReader(io.StringIO((tmp_path / "episodes.csv").read_text(encoding="utf-8")))
    assert len(list(rows)) == 8
    assert "Name: ended_as" in said
    assert json.loads((tmp_path / "machine.json").read_text(encoding="utf-8"))["ready"] is True
