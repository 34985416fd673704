"""Who is let in, who is dropped, what is counted, and to whom a missing answer is charged."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import struct
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from prometheus_client.parser import text_string_to_metric_families

from tests.link.models import START, Counter, observation
from vlassess_link.errors import (
    ContractError,
    EpisodeFault,
    HandshakeError,
    InferenceTimeout,
    PolicyBusy,
    PolicyHangs,
)
from vlassess_link.policies.remote import RemotePolicy, charge
from vlassess_link.wire import messages
from vlassess_link.wire.access import Access, ask_health, read_token
from vlassess_link.wire.messages import Message
from vlassess_link.wire.server import Limits, PolicyServer, ServerOptions

TOKEN = "open-sesame"
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def status_of(server: PolicyServer, path: str, **headers: str) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def metrics_of(server: PolicyServer) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sample.labels.items())
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = float(sample.value)
    return found


def eventually(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


def play(policy: RemotePolicy, value: float = 2.0) -> float:
    policy.reset(START, 1)
    return float(policy.predict(observation(value)).actions[0, 1])


def test_a_token_is_asked_for_before_anything_is_read() -> None:
    with PolicyServer(Counter(), options=ServerOptions(token=TOKEN)) as server:
        policy = RemotePolicy(server.url, access=Access(TOKEN))
        assert play(policy) == 2.0
        policy.close()
        for wrong in ({}, {"Authorization": "Bearer other"}, {"Authorization": f"Basic {TOKEN}"}):
            assert status_of(server, "/spec", **wrong) == 401
            assert status_of(server, "/metrics", **wrong) == 401
        assert status_of(server, "/health") == 200
        assert status_of(server, "/spec", Authorization=f"Bearer {TOKEN}") == 200
        for access in (Access(), Access("other")):
            begun = time.monotonic()
            with pytest.raises(HandshakeError, match="refuses the token"):
                RemotePolicy(server.url, 30.0, access=access)
            assert time.monotonic() - begun < 5
        assert server.hosted.metrics.value("refused") == 8


def test_a_refused_client_gets_its_answer_before_it_could_send_a_payload() -> None:
    with (
        PolicyServer(Counter(), options=ServerOptions(token=TOKEN)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as raw,
    ):
        raw.settimeout(5)
        raw.sendall(UPGRADE)
        raw.sendall(b"\x82\xff" + b"\x00" * 65536)
        head = raw.recv(4096).split(b"\r\n")
        assert head[0].startswith(b"HTTP/1.1 401")
        assert b"WWW-Authenticate: Bearer" in head


def test_tokens_come_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert Access.of({"token_file": str(file)}) == Access(TOKEN)
    assert Access.of({}) == Access(None)
    monkeypatch.setenv("VLASSESS_TOKEN", "other")
    assert Access.of({}) == Access("other")
    assert Access.of({"token_file": str(file), "ca_file": "ca.pem"}) == Access(TOKEN, "ca.pem")


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"two\nlines", "geheim-ü".encode()])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ContractError, match="token file"):
        read_token(str(file))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def test_tls_is_checked_against_the_named_authority(authority: trustme.CA, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    trusted = Access(TOKEN, str(tmp_path / "ca.pem"))
    with PolicyServer(Counter(), options=ServerOptions(token=TOKEN, tls=context)) as server:
        assert re.fullmatch(r"wss://127\.0\.0\.1:\d+", server.url)
        policy = RemotePolicy(server.url, access=trusted)
        assert play(policy) == 2.0
        health = ask_health(server.url, trusted)
        assert health is not None
        assert health["status"] == "ok"
        policy.close()
        with pytest.raises(HandshakeError, match="not trusted"):
            RemotePolicy(server.url, 5.0, access=Access(TOKEN))
        with pytest.raises(ContractError, match="ca_file"):
            RemotePolicy(server.url, 5.0, access=Access(TOKEN, "/nowhere.pem"))


def test_metrics_are_what_prometheus_reads() -> None:
    with PolicyServer(Counter()) as server:
        policy = RemotePolicy(server.url)
        for value in (1.0, 2.0):
            play(policy, value)
        found = metrics_of(server)
        assert found["vlassess_ready"] == 1
        assert found["vlassess_sessions"] == 1
        assert found["vlassess_episodes_running"] == 1
        assert found["vlassess_queue_length"] == 0
        assert found["vlassess_predictions_total"] == 2
        assert found["vlassess_episodes_total"] == 2
        assert found["vlassess_batch_size_bucket{le=1}"] == 2
        assert found["vlassess_batch_size_bucket{le=+Inf}"] == 2
        assert found["vlassess_wait_seconds_count"] == 2
        assert found["vlassess_wait_seconds_sum"] >= found["vlassess_inference_seconds_sum"] > 0
        policy.close()
        assert eventually(lambda: metrics_of(server)["vlassess_sessions"] == 0)


def dropped(server: PolicyServer, reason: str) -> Callable[[], bool]:
    return lambda: server.hosted.metrics.value("dropped", reason) > 0


@pytest.mark.parametrize(("limit", "reason"), [("hello", "no_hello"), ("idle", "silent"), ("episode", "silent")])
def test_silent_clients_are_dropped_and_counted(limit: str, reason: str) -> None:
    short: dict[str, Any] = {limit: 0.2}
    with PolicyServer(Counter(), options=ServerOptions(limits=Limits(**short))) as server:
        if limit == "hello":
            raw = socket.create_connection(("127.0.0.1", server.port))
            raw.sendall(UPGRADE)
            assert eventually(dropped(server, reason))
            raw.close()
            return
        policy, other = RemotePolicy(server.url), RemotePolicy(server.url)
        if limit == "episode":
            policy.reset(START, 1)
        assert eventually(dropped(server, reason))
        # Between two episodes nothing is lost by it: the next one is begun on a new connection.
        assert play(policy) == 2.0
        policy.close()
        other.close()


class Large(Counter):
    """Answers more than the buffers between two sockets hold."""

    def predict(self, obs: Any, ctx: Any) -> dict[str, Any]:
        return {**super().predict(obs, ctx), "blob": b"x" * 40_000_000}


def test_a_client_that_reads_nothing_is_dropped() -> None:
    start = messages.start_payload(START, 1)
    frames = [
        Message(messages.HELLO, {"protocol_version": 1, "harness_version": "x", "capabilities": {"chunks": True}}, 1),
        Message(messages.EPISODE_START, start, 2),
        Message(messages.OBSERVATION, messages.observation_payload(observation()), 3),
    ]
    with (
        PolicyServer(Large(), options=ServerOptions(limits=Limits(send=0.3))) as server,
        socket.create_connection(("127.0.0.1", server.port)) as raw,
    ):
        raw.sendall(UPGRADE + b"".join(masked(message.pack()) for message in frames))
        assert eventually(dropped(server, "slow"))
        assert eventually(lambda: metrics_of(server)["vlassess_sessions"] == 0)


def masked(payload: bytes) -> bytes:
    """Return a client's frame, masked with zeros."""
    return (
        b"\x82\xfe" + struct.pack("!H", len(payload)) + bytes(4) + payload
        if len(payload) > 125
        else (b"\x82" + bytes([0x80 | len(payload)]) + bytes(4) + payload)
    )


def swallow(function: Callable[..., Any], *args: Any) -> None:
    with contextlib.suppress(EpisodeFault):
        function(*args)


def test_a_vanished_client_is_counted() -> None:
    with PolicyServer(Counter()) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            raw.sendall(UPGRADE)
            assert raw.recv(4096).startswith(b"HTTP/1.1 101")
        assert eventually(dropped(server, "vanished"))


def test_more_clients_than_allowed_are_told() -> None:
    with PolicyServer(Counter(), options=ServerOptions(limits=Limits(connections=1))) as server:
        policy = RemotePolicy(server.url)
        with pytest.raises(EpisodeFault, match="503"):
            RemotePolicy(server.url, 0.3)
        assert status_of(server, "/health") == 200
        policy.close()


def test_draining_lets_the_running_episode_end() -> None:
    with PolicyServer(Counter()) as server:
        policy, other = RemotePolicy(server.url), RemotePolicy(server.url, 0.3)
        policy.reset(START, 1)
        assert server.drain(0.1) == 1
        assert status_of(server, "/health") == 503
        with pytest.raises(EpisodeFault):
            other.reset(START, 2)
        assert policy.predict(observation(4.0)).actions[0, 1] == 4.0
        policy.close()
        assert server.drain(5.0) == 0
        other.close()


def test_a_queued_session_is_not_charged_for_the_one_that_hangs() -> None:
    model = Counter()
    with PolicyServer(model) as server:
        hanging, queued = RemotePolicy(server.url, 5.0, 0.6), RemotePolicy(server.url, 5.0, 0.6)
        for policy in (hanging, queued):
            policy.reset(START, 1)
        faults: dict[str, EpisodeFault] = {}

        def ask(name: str, policy: RemotePolicy, value: float) -> None:
            try:
                policy.predict(observation(value))
            except EpisodeFault as fault:
                faults[name] = fault

        first = threading.Thread(target=ask, args=("hanging", hanging, 777.0))
        first.start()
        assert model.entered.wait(5)
        ask("queued", queued, 1.0)
        first.join()
        model.gate.set()
        assert (type(faults["hanging"]), faults["hanging"].origin) == (InferenceTimeout, "policy")
        assert faults["queued"].origin == "infrastructure"
        assert isinstance(faults["queued"], PolicyBusy | PolicyHangs)
        hanging.close()
        queued.close()


@pytest.mark.parametrize(
    ("running", "kind"),
    [
        ({"sessions": ["me"], "seconds": 9.0}, InferenceTimeout),
        ({"sessions": ["me"], "seconds": 2.0}, PolicyBusy),
        ({"sessions": ["me", "other"], "seconds": 10.5}, PolicyHangs),
        ({"sessions": ["me", "other"], "seconds": 6.0}, PolicyBusy),
        ({"sessions": ["other"], "seconds": 11.0}, PolicyHangs),
        ({"sessions": ["other"], "seconds": 1.0}, PolicyBusy),
        (None, InferenceTimeout),
    ],
)
def test_to_whom_a_missing_answer_is_charged(running: Any, kind: type[EpisodeFault]) -> None:
    timeout = InferenceTimeout("no answer")
    assert type(charge(timeout, {"status": "ok", "running": running, "queued": 3}, "me", 10.0)) is kind
    assert charge(timeout, None, "me", 10.0) is timeout
    assert charge(timeout, {"running": {"sessions": ["other"], "seconds": 99}}, None, 10.0) is timeout


def test_health_tells_who_is_running() -> None:
    model = Counter()
    with PolicyServer(model) as server:
        policy = RemotePolicy(server.url)
        policy.reset(START, 1)
        thread = threading.Thread(target=lambda: swallow(policy.predict, observation(777.0)))
        thread.start()
        assert model.entered.wait(5)
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/health", timeout=5) as answer:
            running = json.loads(answer.read())["running"]
        assert len(running["sessions"]) == 1
        assert running["seconds"] >= 0
        model.gate.set()
        thread.join()
        policy.close()
