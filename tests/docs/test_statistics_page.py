"""The page on statistics: its code runs, its commands work, its budget table is what the program says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from vlassess.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
CODE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
COMMANDS = re.findall(r"^\$ vlassess (.*)$", PAGE, re.M)


@pytest.mark.parametrize("code", CODE, ids=range(len(CODE)))
def test_the_code_runs(code: str) -> None:
    assert "assert" in code
    exec(compile(code, "statistics.md", "exec"), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_work(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(command))
    assert caught.value.code == 0
    assert "points" in capfd.readouterr().out


def test_the_budget_table_is_what_the_program_says(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["budget", "--delta", "0.10", "--paired", "--json"])
    plans = json.loads(capfd.readouterr().out)["plans"]
    shown = re.findall(r"^\| .*? \| (\d+) % \| (\d+) (?:an arm|pairs) \|$", PAGE, re.M)
    assert [(str(round(100 * plan["power"])), str(plan["n"])) for plan in plans] == shown
