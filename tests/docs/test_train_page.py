"""The page on training: what it runs works as written, what needs PyTorch is at least understood."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.docs.test_examples import ROOT, blocks
from vlassess.training.__main__ import parser
from vlassess.training.recipe import RECIPES

PAGE = ROOT / "docs" / "how-to" / "train.md"


def test_the_page_runs_as_written(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for block in blocks(PAGE):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["body"], encoding="utf-8")
        for line in block["body"].splitlines() if block["language"] == "console" else ():
            done = subprocess.run(
                ["bash", "-c", line.removeprefix("$ ")],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_trainings_that_it_names_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^python -m vlassess\.training (.+)$", text, re.M)
    assert len(commands) == 3
    for command in commands:
        assert parser().parse_args(shlex.split(command)).shots == 5
    assert set(re.findall(r"make train RECIPE=([\w-]+)", text)) <= set(RECIPES)
