"""Ctrl-C, or a request to end, while a policy still loads: there is no episode to wait for."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SLOW = """
import pathlib, time
from vlassess_link import PolicyIdentity, PolicySpec, PredictModelServer

class Slow(PredictModelServer):
    spec = PolicySpec(PolicyIdentity("slow"))

    def load(self):
        pathlib.Path("loading").touch()
        time.sleep(600)
"""
CONFIG = "benchmark: vlassess_link.testing:FakeBenchmark\npolicy: slow.py:Slow\nepisodes: 1\n"


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_and_leaves_nothing(tmp_path: Path, asked: signal.Signals) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "run.yaml").write_text(CONFIG)
    with subprocess.Popen(
        [sys.executable, "-m", "vlassess", "run", "run.yaml"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "loading").exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(asked)
        try:
            assert process.wait(30) == 130
        finally:
            process.kill()
    assert list((tmp_path / "runs").iterdir()) == []
