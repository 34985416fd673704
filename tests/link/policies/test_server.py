"""The server's command line as a process: its one line, its exit codes, its death."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.link.models import START, observation
from vlassess_link.errors import ConnectionLost, ContractError, PolicyUnavailable
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.policies.server import parse_params

POLICY = """
import os, sys, time
import numpy as np
from vlassess_link.policies.model import PredictModelServer
from vlassess_link.specs import PolicyIdentity, PolicySpec

print("the script prints while it is imported")

class Shout(PredictModelServer):
    def __init__(self, value=1.0, fault=""):
        self.value, self.fault = value, fault
        self.spec = PolicySpec(PolicyIdentity("shout"), privileged=fault == "privileged")

    def load(self):
        print("the model prints while it loads")
        os.write(1, b"so does its C code\\n")
        if self.fault == "load":
            raise OSError("no weights")

    def predict(self, obs, ctx):
        if obs.state[0] == 5:
            os._exit(3)
        if obs.state[0] == 6:
            time.sleep(60)
        return {"actions": np.full(2, self.value)}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "shout.py"
    path.write_text(POLICY)
    return path


class Process:
    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "vlassess_link.policies.server", *arguments]
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def ready(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self.file("stdout").readline())
        assert line["ready"] is True
        return line

    def end(self) -> tuple[int, str, str]:
        out, err = self.popen.communicate(timeout=20)
        return self.popen.returncode, out, err

    def file(self, name: str) -> IO[str]:
        stream: IO[str] = getattr(self.popen, name)
        return stream


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    started: list[Process] = []
    yield started
    for process in started:
        process.popen.kill()
        process.popen.wait()
        for name in ("stdin", "stdout", "stderr"):
            process.file(name).close()


def serve(processes: list[Process], *arguments: str) -> Process:
    processes.append(Process(*arguments))
    return processes[-1]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_says_one_line_serves_and_stops(processes: list[Process], script: Path, stop: signal.Signals) -> None:
    process = serve(processes, f"{script}:Shout", "--set", "value=2.5", "--grace", "0.1")
    line = process.ready()
    policy = RemotePolicy(line["url"], 5.0, 5.0)
    assert (line["pid"], line["policy"]) == (process.popen.pid, "shout")
    assert line["identity"] == policy.spec.identity.digest
    assert len(policy.spec.identity.script_digest) == 64
    policy.reset(START, 1)
    assert policy.predict(observation(1)).actions.tolist() == [[2.5, 2.5]]
    process.popen.send_signal(stop)
    code, out, err = process.end()
    assert (code, out) == (0, "")
    assert "the script prints" in err
    assert "the model prints" in err
    assert "so does its C code" in err
    assert "1 episodes did not end within 0.1 s and are cut off" in err
    policy.close()


def test_a_running_episode_may_end_and_no_other_begins(processes: list[Process], script: Path) -> None:
    process = serve(processes, f"{script}", "--grace", "20")
    url = process.ready()["url"]
    running, idle = RemotePolicy(url, 5.0, 5.0), RemotePolicy(url, 0.5, 5.0)
    running.reset(START, 1)
    process.popen.send_signal(signal.SIGTERM)
    assert "1 episodes are running" in [process.file("stderr").readline() for _ in range(4)][-1]
    with pytest.raises((ConnectionLost, PolicyUnavailable)):
        idle.reset(START, 1)
    assert running.predict(observation(1)).actions.tolist() == [[1.0, 1.0]]
    running.close()
    code, _, err = process.end()
    assert (code, "cut off" in err) == (0, False)
    idle.close()


def test_identity_follows_script_and_parameters(processes: list[Process], script: Path) -> None:
    first, second = (serve(processes, f"{script}", "--params-json", json.dumps({"value": v})) for v in (1.0, 2.0))
    same = serve(processes, f"{script}", "--params-json", '{"value": 1.0}')
    assert first.ready()["identity"] == same.ready()["identity"] != second.ready()["identity"]


def test_it_ends_with_its_parent(processes: list[Process], script: Path) -> None:
    process = serve(processes, f"{script}", "--exit-with-parent")
    process.ready()
    process.file("stdin").close()
    assert process.popen.wait(10) == 0


def test_a_hanging_predict_cannot_keep_the_process(processes: list[Process], script: Path) -> None:
    process = serve(processes, f"{script}")
    policy = RemotePolicy(process.ready()["url"], 5.0, 0.3)
    policy.reset(START, 1)
    with pytest.raises(Exception, match=r"within 0\.3 s"):
        policy.predict(observation(6))
    process.popen.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    process.popen.send_signal(signal.SIGTERM)
    assert process.popen.wait(10) == -signal.SIGTERM
    policy.close()


@pytest.mark.parametrize("how", ["exits", "killed"])
def test_a_process_that_dies_in_mid_predict_is_a_lost_connection(
    processes: list[Process], script: Path, how: str
) -> None:
    process = serve(processes, f"{script}")
    policy = RemotePolicy(process.ready()["url"], 5.0, 10.0)
    policy.reset(START, 1)
    if how == "killed":
        killer = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -9 {process.popen.pid}"])
    with pytest.raises(ConnectionLost, match="broke while the answer to the observation message was awaited"):
        policy.predict(observation(5 if how == "exits" else 6))
    policy.close()
    if how == "killed":
        killer.wait()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--set", "fault=load"], 1, "error: OSError in Shout.load: no weights"),
        (["--set", "fault=privileged"], 2, "privileged and never crosses a wire"),
        (["--set", "volume=3"], 2, "unexpected keyword argument 'volume'"),
        (["--set", "nonsense"], 2, "--set 'nonsense' is no key=value"),
        (["--params-json", "[1]"], 2, "must be a JSON object"),
        (["--params-json", '{"value": NaN}'], 2, "no strict JSON"),
        (["--tls-cert", "a.pem"], 2, "--tls-cert and --tls-key belong together"),
        (["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], 2, "cannot be used"),
        (["--token-file", "/nowhere"], 2, "the token file /nowhere cannot be read"),
        (["--max-batch", "0"], 2, "--max-batch is 0"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(
    processes: list[Process], script: Path, arguments: list[str], code: int, says: str
) -> None:
    process = serve(processes, str(script), *arguments)
    returned, out, err = process.end()
    assert (returned, out) == (code, "")
    assert says in err.splitlines()[-1]


def test_a_port_in_use_is_said_before_anything_is_imported(processes: list[Process]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = serve(processes, "no_such_module:Nothing", "--port", str(port)).end()
    assert (code, out) == (2, "")
    assert (
        err
        == f"error: cannot listen on 127.0.0.1:{port}: Address already in use; choose another port (0: any free one)\n"
    )


def test_params() -> None:
    given = parse_params('{"a": 1, "b": {"c": null}}', ["a=1e-4", "d=text", "e=[1, 2]", "f=", "g=true", "h=a=b"])
    assert given == {"a": 1e-4, "b": {"c": None}, "d": "text", "e": [1, 2], "f": "", "g": True, "h": "a=b"}
    with pytest.raises(ContractError):
        parse_params("{}", ["not an identifier=1"])


@pytest.mark.parametrize("folder", ["", "src/vlassess/policies"])
@pytest.mark.parametrize("name", ["random_", "do_nothing"])
def test_bundled_scripts_serve_when_run_as_scripts(name: str, folder: str) -> None:
    root = Path(__file__).parents[3]
    path = os.path.relpath(root / "src/vlassess/policies" / f"{name}.py", root / folder)
    command = [sys.executable, path, "--set", "dims=3", "--exit-with-parent"]
    done = subprocess.run(command, input="", capture_output=True, text=True, cwd=root / folder, timeout=30, check=False)
    assert done.stderr == ""
    assert done.returncode in (0, -signal.SIGTERM)
