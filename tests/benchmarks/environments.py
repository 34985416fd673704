"""Benchmarks with an interpreter of their own: their environments, built once and kept, and code run in them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from vlassess.catalog import Catalog
from vlassess.execution import Environment, in_environment, prepare, worker_launch
from vlassess.execution.uv import UvFailedError

ROOT = Path(__file__).parents[2]
CACHE = os.environ.setdefault("VLASSESS_CACHE", str(ROOT / ".cache" / "vlassess"))
"""Kept between runs of the tests, and out of the user's own cache."""


@functools.cache
def _built(name: str) -> Environment | str:
    interpreter = Catalog.discover().benchmarks[name].interpreter
    assert interpreter is not None
    try:
        return prepare(interpreter, name, print)
    except UvFailedError as error:
        return str(error)


def environment_of(name: str) -> Environment:
    """Return a bundled benchmark's environment; skips the test, loudly, where its packages cannot be installed."""
    built = _built(name)
    if isinstance(built, str):
        pytest.skip(f"NOT TESTED: the environment of {name} cannot be built here: {built}")
    return built


def run_inside(name: str, script: Path) -> dict[str, Any]:
    """Run a script in a benchmark's environment as its workers run, and return the JSON that it prints last.

    The script gets the benchmark's parameters as JSON.
    """
    entry = Catalog.discover().benchmarks[name]
    launch = in_environment(worker_launch(entry.target, entry.params, entry.env), environment_of(name))
    command = [launch.command[0], str(script), json.dumps(entry.params)]
    done = subprocess.run(command, env=dict(launch.env), capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
