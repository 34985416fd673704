"""The page on conventions runs as written and prints what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.test_examples import ROOT, blocks


def test_the_page_runs_as_written(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    said, shown = "", []
    for block in blocks(ROOT / "docs" / "how-to" / "conventions.md"):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["body"], encoding="utf-8")
        elif block["language"] == "text":
            shown.append(block["body"])
        for line in block["body"].splitlines() if block["language"] == "console" else ():
            done = subprocess.run(
                ["bash", "-c", line[2:]], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
            said += done.stdout
    assert len(shown) == 2
    assert all(text in said for text in shown), said
