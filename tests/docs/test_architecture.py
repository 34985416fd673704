"""The map names every package, in the layer in which the checks hold it."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = {"benchmarks", "policies"}
ENTRY = {"__main__"}


def layers() -> list[set[str]]:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    lines = contracts["importlinter:contract:layers"]["layers"].split("\n")
    return [set(re.findall(r"\w+", line)) - ENTRY for line in lines if line.strip()]


def on_the_map() -> list[str]:
    harness = (ROOT / "docs/architecture.md").read_text().partition("## The link")[0]
    return re.findall(r"^\| [a-z]* ?\| `(\w+)` \|", harness, re.MULTILINE)


def test_every_package_of_the_harness_is_on_the_map_once_and_in_its_order() -> None:
    named = on_the_map()
    assert len(named) == len(set(named))
    expected = [layer for layer in layers() if layer]
    assert set(named) == set().union(*expected)
    place = {name: number for number, layer in enumerate(expected) for name in layer}
    assert [place[name] for name in named] == sorted(place[name] for name in named)


def test_every_package_there_is_is_in_a_layer() -> None:
    there = {
        path.stem
        for path in (ROOT / "src/vlassess").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").is_file()) and not path.stem.startswith("__")
    }
    assert there - ADAPTERS == set().union(*layers())


def test_every_package_of_the_link_is_on_the_map() -> None:
    link = (ROOT / "docs/architecture.md").read_text().partition("## The link")[2]
    folders = {path.parent.name for path in (ROOT / "packages/vlassess-link/src/vlassess_link").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)` \|", link, re.MULTILINE)) == folders
