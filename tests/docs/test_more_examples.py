"""What the pages on recording, Python and tracking show is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT, blocks, configs

HOW_TO = ROOT / "docs" / "how-to"


def run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", ["docs/how-to/recording.md", "docs/how-to/tracking.md"])
def test_yaml_is_part_of_a_config(page: str, tmp_path: Path) -> None:
    assert configs(page, tmp_path)


def test_the_command_that_films_does(tmp_path: Path) -> None:
    (command,) = (
        block["body"][2:].strip() for block in blocks(HOW_TO / "recording.md") if block["language"] == "console"
    )
    run(["bash", "-c", command], tmp_path)
    videos = list(tmp_path.glob("runs/*/artifacts/*/video.mp4"))
    assert len(videos) == 2 * 3


def test_the_training_loop_runs(tmp_path: Path) -> None:
    (code,) = (block["body"] for block in blocks(HOW_TO / "python.md") if block["title"])
    (tmp_path / "evaluate.py").write_text(code, encoding="utf-8")

    shown = run([sys.executable, "evaluate.py"], tmp_path)

    assert [line[:13] for line in shown.splitlines()[:3]] == [f"checkpoint {n}:" for n in range(3)]
    assert "red_block" in shown
    assert [file.name for file in tmp_path.iterdir()] == ["evaluate.py"]
