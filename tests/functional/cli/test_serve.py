from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional.cli.conftest import FAKES, Invoke


def serve(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "vlassess", "serve", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_served_policy_is_measured_and_stopped(invoke: Invoke, tmp_path: Path) -> None:
    server = serve(f"{FAKES}:FakePolicy", "--port", "0", "--set", "chunk=2", "--set", "name=served")
    try:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        said = invoke("run", "walk.yaml", "--policy", ready["url"], "--json")
        manifest = json.loads((next(tmp_path.glob("runs/walk-*")) / "run.json").read_text())
        (spec,) = manifest["policy_specs"].values()
        assert said.code == 0, said.err
        assert (spec["identity"]["name"], spec["chunk"]) == ("served", 2)
    finally:
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=20)
    assert server.returncode == 0
    assert f"loading {FAKES}:FakePolicy; Ctrl-C stops it" in err


@pytest.mark.parametrize("parameter", ["chunk=zero", "nonsense=1"])
def test_a_policy_that_does_not_take_its_parameters(parameter: str) -> None:
    server = serve(f"{FAKES}:FakePolicy", "--port", "0", "--set", parameter)
    _, err = server.communicate(timeout=20)
    assert server.returncode == 2
    assert "error: " in err
    assert "FakePolicy" in err


def test_a_policy_whose_loading_fails(tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text(
        "from vlassess_link import PredictModelServer\n"
        "class Heavy(PredictModelServer):\n"
        "    def load(self):\n"
        "        raise OSError('no weights here')\n"
    )
    server = serve(str(tmp_path / "heavy.py"), "--port", "0")
    _, err = server.communicate(timeout=20)
    assert server.returncode == 3
    assert "no weights here" in err


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = serve("random", "--port", str(port))
        _, err = server.communicate(timeout=20)
    assert server.returncode == 2
    assert f"{port}" in err
    assert "Traceback" not in err
