"""The page on LIBERO: what runs without its simulator works as written, and its table is the configs'."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.test_examples import ROOT, blocks
from tests.docs.test_more_examples import run
from vlassess.catalog import Catalog
from vlassess.config import bundled_configs, load_config
from vlassess.plan import make_plan

PAGE = ROOT / "docs" / "how-to" / "libero.md"


def test_the_command_plans(tmp_path: Path) -> None:
    (command,) = (block["body"][2:].strip() for block in blocks(PAGE) if block["language"] == "console")
    run(["bash", "-c", command], tmp_path)


def test_the_table_says_how_many_episodes_each_config_has() -> None:
    rows = re.findall(r"^\| (`libero.+) \| .+ \| ([\d,]+) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    shown = {name: int(count.replace(",", "")) for names, count in rows for name in re.findall(r"`(\w+)`", names)}
    spec = Catalog.discover().benchmarks["libero-v1"].spec
    assert spec is not None
    assert shown == {
        name: len(make_plan(load_config(name), spec)) for name in bundled_configs() if name.startswith("libero")
    }


def test_the_example_in_python_runs() -> None:
    (block,) = (block for block in blocks(PAGE) if block["language"] == "python")
    printed: list[str] = []
    exec(compile(block["body"], str(PAGE), "exec"), {"print": lambda value: printed.append(str(value))})
    assert [abs(float(number)) for number in printed[0].strip("[]").split()] == [0.0, 0.0, 2.783]
