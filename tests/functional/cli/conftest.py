"""The command line as people use it: arguments in; exit code, stdout and stderr out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from vlassess.cli import main

FAKES = "vlassess_link.testing.fakes"
CONFIG = f"""
name: walk
benchmark: {{target: "{FAKES}:FakeBenchmark", params: {{image: 0}}}}
policies: {{walker: {{local: "{FAKES}:FakePolicy"}}}}
episodes: 3
execution: {{workers: 1}}
"""


class Said(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


Invoke = Callable[..., Said]


@pytest.fixture
def invoke(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Return a function that runs the command line in an empty folder with ``walk.yaml`` in it."""
    (tmp_path / "walk.yaml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: object) -> Said:
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert isinstance(caught.value.code, int)
        return Said(caught.value.code, out, err)

    return run
