from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.unit.runs import POLICY
from vlassess.execution import PolicyServers, ServerLaunch, ServerStartError, server_launch
from vlassess.execution.servers import safe_name

READY = 'import sys, time; print(\'{"ready": true, "url": "ws://127.0.0.1:%s"}\' % sys.argv[-1], flush=True); '


def fake(code: str) -> ServerLaunch:
    return ServerLaunch((sys.executable, "-c", code))


Start = Callable[..., PolicyServers]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[PolicyServers] = []

    def make(launches: Mapping[str, ServerLaunch], patience: float = 30.0) -> PolicyServers:
        started.append(PolicyServers(launches, tmp_path, patience))
        return started[-1]

    yield make
    for servers in started:
        servers.stop()


def ended(servers: PolicyServers) -> list[str]:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if found := servers.poll():
            return found
        time.sleep(0.02)
    raise AssertionError("no server ended")


def test_the_start_waits_until_each_is_ready(start: Start) -> None:
    servers = start(
        {"a": fake("import time; time.sleep(0.3); " + READY + "time.sleep(60)"), "b": fake(READY + "time.sleep(60)")}
    )
    assert (servers.labels, servers.url("a")) == (("a", "b"), None)
    servers.start()
    assert {servers.url(label) for label in servers.labels} == {"ws://127.0.0.1:0"}
    assert servers.poll() == []


@pytest.mark.parametrize(
    ("code", "patience", "says"),
    [
        (
            "import sys; sys.exit('no weights at /nowhere')",
            30.0,
            "'a' ended while it was starting: no weights at /nowhere",
        ),
        ("import time; time.sleep(60)", 0.3, "'a' was not ready after 0.3 s: it said nothing"),
    ],
)
def test_a_server_that_does_not_come_up_says_why(start: Start, code: str, patience: float, says: str) -> None:
    with pytest.raises(ServerStartError, match=says):
        start({"a": fake(code)}, patience).start()


def test_a_server_that_ends_is_told_once_and_can_be_started_again(start: Start) -> None:
    servers = start({"a": fake(READY + "time.sleep(60)"), "b": fake(READY + "time.sleep(60)")})
    servers.start()
    servers.kill("a")
    assert ended(servers) == ["a"]
    assert servers.poll() == []
    assert servers.url("a") is None
    servers.restart("a")
    until = time.monotonic() + 20
    while servers.url("a") is None and time.monotonic() < until:
        assert servers.poll() == []
        time.sleep(0.02)
    assert servers.url("a") is not None


def test_a_real_server_keeps_its_port_when_it_is_killed_and_started_again(start: Start) -> None:
    servers = start({"a": server_launch(POLICY, {"chunk": 2})})
    servers.start()
    url = servers.url("a")
    port = urlsplit(str(url)).port
    assert port
    servers.kill("a")
    assert ended(servers) == ["a"]
    servers.restart("a")
    until = time.monotonic() + 30
    while servers.url("a") is None and time.monotonic() < until:
        assert servers.poll() == []
        time.sleep(0.02)
    assert servers.url("a") == url
    socket.create_connection(("127.0.0.1", port), timeout=10).close()


def test_stopping_leaves_no_process(start: Start, tmp_path: Path) -> None:
    servers = start(
        {"a": fake(f"import os; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); {READY} time.sleep(60)")}
    )
    servers.start()
    pid = int((tmp_path / "pid").read_text())
    servers.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIG_DFL)


def test_its_log_moves_with_its_folder(start: Start, tmp_path: Path) -> None:
    servers = start(
        {"a/b": fake("import sys; sys.stderr.write('loaded\\n'); sys.stderr.flush(); " + READY + "time.sleep(60)")}
    )
    servers.start()
    assert servers.log("a/b") == tmp_path / "policy-a_b.log"
    moved = tmp_path / "logs"
    moved.mkdir()
    servers.log("a/b").rename(moved / "policy-a_b.log")
    servers.move_logs(moved)
    assert servers.log("a/b").read_text() == "loaded\n"


@pytest.mark.parametrize(("label", "name"), [("main", "main"), ("a/b c", "a_b_c"), ("v1.0-x_y", "v1.0-x_y")])
def test_labels_become_file_names(label: str, name: str) -> None:
    assert safe_name(label) == name
