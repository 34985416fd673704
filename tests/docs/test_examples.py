"""The tutorial runs as written: its files are written out, its commands are run, its promises are kept."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from vlassess.config import load_config
from vlassess.schema.config import RunConfig

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
FENCE = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$', re.M | re.S)
MAX_LINES = {"my_policy.py": 50, "my_benchmark.py": 80}


def blocks(page: Path) -> list[re.Match[str]]:
    return list(FENCE.finditer(page.read_text(encoding="utf-8")))


def files() -> dict[str, str]:
    return {block["title"]: block["body"] for block in blocks(TUTORIAL) if block["title"]}


def commands() -> list[str]:
    bodies = [block["body"] for block in blocks(TUTORIAL) if block["language"] == "console"]
    return [line[2:] for body in bodies for line in body.splitlines() if line.startswith("$ ")]


def shown_successes() -> list[int]:
    """Return the successes that the tutorial shows, over all tasks of each policy."""
    (shown,) = (block["body"] for block in blocks(TUTORIAL) if block["language"] == "text")
    return [int(count) for count in re.findall(r"overall \(pooled\) +(\d+)/50", shown)]


@pytest.mark.parametrize("name", sorted(MAX_LINES))
def test_an_integration_is_short(name: str) -> None:
    assert len(files()[name].splitlines()) < MAX_LINES[name]


def test_the_tutorial_runs_as_written(tmp_path: Path) -> None:
    for name, body in files().items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in commands():
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

    (run,) = (tmp_path / "runs").iterdir()
    records = [json.loads(line) for line in (run / "episodes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(records) == 100
    assert all(record["error"] is None for record in records)
    assert (run / "report.html").stat().st_size > 0
    reached = [
        sum(record["outcome"]["success"] for record in records if record["policy"] == label)
        for label in ("fast", "slow")
    ]
    assert reached == shown_successes()


def configs(page: str, folder: Path) -> list[RunConfig]:
    """Return the configs of a page, loaded as the program loads them, beside the tutorial's files."""
    for name, body in files().items():
        (folder / name).write_text(body, encoding="utf-8")
    loaded = []
    for block in blocks(ROOT / page):
        if block["language"] == "yaml":
            benchmark = "" if "benchmark:" in block["body"] else "benchmark: tabletop-v1\n"
            (folder / "shown.yaml").write_text(benchmark + block["body"], encoding="utf-8")
            loaded.append(load_config(str(folder / "shown.yaml")))
    return loaded


@pytest.mark.parametrize(
    "page", ["docs/tutorial.md", "docs/reference/config.md", "docs/how-to/policies.md", "docs/how-to/own-benchmarks.md"]
)
def test_yaml_on_a_page_is_a_config_or_part_of_one(page: str, tmp_path: Path) -> None:
    assert configs(page, tmp_path)


def test_the_short_forms_mean_what_the_long_forms_say(tmp_path: Path) -> None:
    long, short = configs("docs/reference/config.md", tmp_path)
    assert list(long.policies.values()) == list(short.policies.values())
    assert long.model_copy(update={"policies": {}}) == short.model_copy(update={"policies": {}})
