from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import vlassess
from tests.functional.cli.conftest import Invoke
from vlassess.cli.app import app
from vlassess.config import bundled_configs

COMMANDS = tuple(command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands)
HEAVY = ("numpy", "scipy", "matplotlib", "pydantic", "yaml", "vlassess_link", "websockets", "jinja2")


@pytest.mark.parametrize(
    "arguments",
    [("--help",), *((command, "--help") for command in COMMANDS), ("states", "show", "--help"), ("run", "-h")],
)
def test_help_has_examples(invoke: Invoke, arguments: tuple[str, ...]) -> None:
    said = invoke(*arguments)
    assert said.code == 0
    assert "Examples" in said.out
    assert "vlassess " + (arguments[0] if not arguments[0].startswith("-") else "run") in said.out


def test_help_names_every_command(invoke: Invoke) -> None:
    said = invoke("--help")
    assert all(f" {command} " in said.out for command in COMMANDS)


def test_version(invoke: Invoke) -> None:
    assert invoke("--version").out == f"vlassess {vlassess.__version__}\n"


def test_nothing_asked_shows_the_help(invoke: Invoke) -> None:
    assert "Usage" in invoke().out + invoke().err


def test_help_imports_nothing_heavy_and_is_fast() -> None:
    code = (
        "import sys, vlassess.cli\n"
        "try: vlassess.cli.main(['--help'])\n"
        "except SystemExit: print('LOADED', *(name for name in sys.modules if '.' not in name))"
    )
    command = [sys.executable, "-c", code]
    seconds = []
    for _ in range(5):
        before = cpu_seconds_of_children()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds.append(cpu_seconds_of_children() - before)
    loaded = done.stdout.rpartition("LOADED")[2].split()
    assert not set(HEAVY) & set(loaded)
    assert min(seconds) < 0.4


def cpu_seconds_of_children() -> float:
    """Processor time, since a busy machine makes wall time say nothing."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "vlassess", "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"vlassess {vlassess.__version__}\n"


def completions(*words: str, cwd: Path | None = None) -> list[str]:
    """Return what a shell is offered for the last word."""
    asked = {"_VLASSESS_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("vlassess", *words))}
    done = subprocess.run(
        [sys.executable, "-m", "vlassess"],
        env={**os.environ, **asked, "COMP_CWORD": str(len(words))},
        cwd=cwd,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


def test_every_command_is_completed() -> None:
    assert {"run", "merge", "export", "doctor"} <= set(COMMANDS)
    assert completions("") == [*COMMANDS, *(group.name or "" for group in app.registered_groups)]


def test_configs_options_and_formats_are_completed(tmp_path: Path) -> None:
    (tmp_path / "table.yaml").touch()
    (tmp_path / "tale.txt").touch()
    bundled = sorted(name for name in bundled_configs() if name.startswith("ta"))
    assert "tabletop-quick" in bundled
    assert completions("run", "ta", cwd=tmp_path) == [*bundled, "table.yaml"]
    assert completions("run", "--sh") == ["--shard"]
    assert completions("export", "--format", "") == ["csv", "parquet", "json"]
