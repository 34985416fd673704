"""Which replica gets the next episode, and what becomes of one that is lost."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.execution.support import Bench
from tests.unit.runs import POLICY, config_of, items_of
from vlassess.execution import PolicyServers, PolicySide, ServerLaunch, replicated, server_launch
from vlassess_link.data import ErrorInfo
from vlassess_link.testing import FakeClock

URLS = [{"url": f"ws://host-{number}:1"} for number in range(3)]
LOST = ErrorInfo("infrastructure", "inference", "ConnectionLost", "it broke")
READY = 'import sys, time; print(\'{"ready": true, "url": "ws://127.0.0.1:%s"}\' % sys.argv[-1], flush=True); '


@pytest.fixture
def no_servers(tmp_path: Path) -> PolicyServers:
    return PolicyServers({}, tmp_path, 1.0)


@pytest.fixture
def two_servers(tmp_path: Path) -> Iterator[PolicyServers]:
    launch = ServerLaunch((sys.executable, "-c", READY + "time.sleep(60)"))
    servers = PolicyServers(replicated(launch, "main", 2), tmp_path, 20.0)
    servers.start()
    yield servers
    servers.stop()


def test_the_least_loaded_replica_is_asked(no_servers: PolicyServers) -> None:
    side = PolicySide({"main": URLS, "other": {"local": "x"}}, {}, no_servers)
    assert side.ready() == {"main", "other"}
    taken = [side.source_for("main") for _ in range(4)]
    assert taken == [*URLS, URLS[0]]
    side.finished("main", URLS[1])
    assert side.source_for("main") == URLS[1]
    assert side.source_for("other") == {"local": "x"}


def test_a_lost_replica_is_avoided_for_a_while_and_longer_each_time(no_servers: PolicyServers) -> None:
    clock = FakeClock()
    side = PolicySide({"main": URLS[:2]}, {}, no_servers, clock=clock)
    for pause in (5.0, 10.0):
        taken = [side.source_for("main") for _ in range(2)]
        assert sorted(taken, key=str) == URLS[:2]
        side.finished("main", URLS[1])
        side.finished("main", URLS[0], LOST)
        for passed in (0.0, pause - 0.1):
            clock.sleep(passed)
            assert [side.source_for("main") for _ in range(3)] == [URLS[1]] * 3
            for _ in range(3):
                side.finished("main", URLS[1])
        clock.sleep(0.2)


def test_where_all_are_lost_somebody_is_asked_all_the_same(no_servers: PolicyServers) -> None:
    side = PolicySide({"main": URLS[:2]}, {}, no_servers)
    for url in URLS[:2]:
        assert side.source_for("main") == url
        side.finished("main", url, LOST)
    assert side.source_for("main") in URLS


def test_an_error_of_the_policys_own_costs_a_replica_nothing(no_servers: PolicyServers) -> None:
    side = PolicySide({"main": URLS[:2]}, {}, no_servers)
    side.finished("main", side.source_for("main"), ErrorInfo("policy", "inference", "PredictError", "it raised"))
    assert side.source_for("main") == URLS[0]


def test_replicas_of_ours_are_told_their_number_and_keep_their_extras(two_servers: PolicyServers) -> None:
    side = PolicySide({}, {}, two_servers, {"main": {"ensemble": "ema"}})
    assert two_servers.labels == ("main#1", "main#2")
    assert side.source_for("main") == {"url": two_servers.url("main#1"), "ensemble": "ema"}
    env = replicated(ServerLaunch((), {"CUDA_VISIBLE_DEVICES": "4,5"}), "main", 3)
    assert [launch.env["VLASSESS_REPLICA"] for launch in env.values()] == ["0", "1", "2"]
    assert [launch.env["CUDA_VISIBLE_DEVICES"] for launch in env.values()] == ["4", "5", "4"]
    assert list(replicated(ServerLaunch(()), "main", 1)) == ["main"]


@pytest.mark.parametrize("kind", ["InferenceTimeout", "PolicyHangs"])
def test_a_server_that_hangs_is_killed_and_started_again(two_servers: PolicyServers, kind: str) -> None:
    side = PolicySide({}, {}, two_servers)
    source = side.source_for("main")
    side.finished("main", source, ErrorInfo("policy", "inference", kind, "no answer"))
    until = time.monotonic() + 20
    while not side.poll() and time.monotonic() < until:
        time.sleep(0.02)
    assert side.ready() == {"main"}  # the other one answers meanwhile
    while two_servers.url("main#1") is None and time.monotonic() < until:
        assert side.poll() == []
        time.sleep(0.02)
    assert two_servers.url("main#1") is not None


def test_the_episodes_of_a_lost_replica_are_run_elsewhere(tmp_path: Path) -> None:
    launch = server_launch(POLICY, {"chunk": 2})
    dying = server_launch(POLICY, {"chunk": 2, "fault": "dies", "fault_step": 2})
    bench = Bench(tmp_path)
    bench.sources = {}
    bench.servers = PolicyServers({"main#1": dying, "main#2": launch}, tmp_path, 30.0)
    bench.servers.start()
    items = items_of(config_of(episodes=4))
    try:
        assert bench.run(items).reason is None
    finally:
        bench.servers.stop()
    assert all(bench.last_of(item).outcome is not None for item in items)
    assert {kind for _, kind in bench.errors} <= {"ConnectionLost", "PolicyUnavailable"}
    assert bench.errors
