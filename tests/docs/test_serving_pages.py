"""The pages on serving, batches and tuning: their configs load, their policies answer, their commands run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT, blocks, files
from vlassess.config import load_config
from vlassess.execution.scripts import read_header
from vlassess_link import EpisodeStart, Observation, PredictModelServer
from vlassess_link.loading import load_target
from vlassess_link.policies.ensembling import NAMED
from vlassess_link.policies.model import InProcessPolicy

HOW_TO = ROOT / "docs" / "how-to"
PAGES = ("serving.md", "batching.md")


def written(page: str, folder: Path) -> list[Path]:
    """Write the tutorial's files and the page's own; returns the latter."""
    own = {block["title"]: block["body"] for block in blocks(HOW_TO / page) if block["title"]}
    for name, body in {**files(), **own, "token.txt": "secret\n"}.items():
        (folder / name).write_text(body, encoding="utf-8")
    return [folder / name for name in own]


@pytest.mark.parametrize("page", PAGES)
def test_its_configs_load(page: str, tmp_path: Path) -> None:
    written(page, tmp_path)
    found = [block["body"] for block in blocks(HOW_TO / page) if block["language"] == "yaml"]
    assert found
    for body in found:
        (tmp_path / "shown.yaml").write_text("benchmark: tabletop-v1\n" + body, encoding="utf-8")
        assert load_config(str(tmp_path / "shown.yaml")).policies


@pytest.mark.parametrize("page", PAGES)
def test_its_policies_answer(page: str, tmp_path: Path) -> None:
    (path,) = written(page, tmp_path)
    policy = InProcessPolicy(load_target(str(path), PredictModelServer, {}))
    policy.reset(EpisodeStart("e", "s", "t", "go"), 1)
    assert policy.predict(Observation({}, "go")).actions.shape == (1, 2)
    assert policy.spec.batched == (page == "batching.md")
    assert (read_header(path) is not None) == (page == "serving.md")


def test_every_ensemble_is_named() -> None:
    text = (HOW_TO / "batching.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in NAMED)


def test_the_page_on_tuning_runs_as_written(tmp_path: Path) -> None:
    for name, body in files().items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    page = (HOW_TO / "tune.md").read_text(encoding="utf-8")
    for line in page.splitlines():
        if line.startswith("$ "):
            subprocess.run(["bash", "-c", line[2:]], cwd=tmp_path, env=environment, check=True, timeout=100)
    names = {path.name for path in (tmp_path / "tuning").iterdir()}
    assert names == {"tuned.yaml", "tuning.json", "tuning.png", "tuning.html"}
    assert all(name in page for name in names)
