"""A remote policy is the same as a local one, and every way to fail has its error."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.server import ServerProtocol
from websockets.sync.server import ServerConnection, serve

from tests.link.models import START, Counter, observation
from vlassess_link.data import ActionChunk, EpisodeStart
from vlassess_link.errors import (
    CapabilityError,
    ConnectionLost,
    ContractError,
    DecodeError,
    HandshakeError,
    InferenceTimeout,
    InvalidActionError,
    ObservationError,
    PolicyUnavailable,
    PredictError,
)
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.specs import PolicyIdentity, PolicySpec
from vlassess_link.wire import dialling, messages
from vlassess_link.wire.messages import Message
from vlassess_link.wire.server import PolicyServer


@contextlib.contextmanager
def remote(server: PolicyServer, inference: float = 10.0) -> Iterator[RemotePolicy]:
    policy = RemotePolicy(server.url, connect_deadline=5.0, inference_deadline=inference)
    try:
        yield policy
    finally:
        policy.close()


def same_chunk(left: ActionChunk, right: ActionChunk) -> bool:
    if left.actions.dtype != right.actions.dtype or left.extras.keys() != right.extras.keys():
        return False
    pairs = [(left.extras[key], right.extras[key]) for key in left.extras]
    return np.array_equal(left.actions, right.actions) and all(
        type(a) is type(b) and np.array_equal(a, b) for a, b in pairs
    )


def play(policy: Policy, episodes: int = 2) -> list[ActionChunk]:
    chunks = []
    for seed in range(episodes):
        policy.reset(EpisodeStart(f"e{seed}", "walk", "to-4", "go"), 100 + seed)
        chunks += [policy.predict(observation(seed + step, step)) for step in range(4)]
    chunks += policy.query([observation(1.0, 0), observation(2.0, 5)], 7)
    policy.reset(START, 100)
    chunks.append(policy.predict(observation(0, 0, images={}, state=None, extras={"depth": np.zeros((2, 2))})))
    return chunks


def test_in_process_and_over_the_socket_are_the_same() -> None:
    local = InProcessPolicy(Counter())
    with PolicyServer(Counter()) as server, remote(server) as policy:
        assert policy.spec == local.spec
        assert all(same_chunk(a, b) for a, b in zip(play(local), play(policy), strict=True))


def test_what_the_model_sees_is_what_was_sent() -> None:
    model = Counter(image_dtypes=("uint8", "float32"))
    sent = observation(
        3,
        8,
        images={"a": np.zeros((2, 3, 3), np.uint8)[::-1], "b": np.full((2, 2, 3), 0.5, np.float32)},
        extras={"depth": np.ones((2, 2), np.float16)},
    )
    with PolicyServer(model) as server, remote(server) as policy:
        policy.reset(START, 1)
        policy.predict(sent)
    seen = model.seen[0]
    assert (seen.instruction, seen.step) == (sent.instruction, 8)
    for name, array in {**sent.images, **sent.extras}.items():
        got = {**seen.images, **seen.extras}[name]
        assert got.dtype == array.dtype
        np.testing.assert_array_equal(got, array)


def test_sessions_are_isolated() -> None:
    with PolicyServer(Counter()) as server, remote(server) as one, remote(server) as two:
        one.reset(START, 1)
        two.reset(START, 2)
        first = [one.predict(observation(1)), one.predict(observation(1))][-1]
        second = two.predict(observation(2))
        assert (first.actions[0, 2], second.actions[0, 2]) == (2.0, 1.0)
        assert first.actions[0, 3] != second.actions[0, 3]
        one.reset(START, 1)
        assert one.predict(observation(1)).actions[0, 2] == 1.0
        assert two.predict(observation(2)).actions[0, 2] == 2.0


@pytest.mark.parametrize(
    ("value", "error", "says"), [(666.0, PredictError, "number of the beast"), (999.0, InvalidActionError, "nan")]
)
def test_the_policys_own_failure_costs_one_episode(value: float, error: type[Exception], says: str) -> None:
    with PolicyServer(Counter()) as server, remote(server) as policy, remote(server) as other:
        other.reset(START, 1)
        policy.reset(START, 1)
        with pytest.raises(error, match=says):
            policy.predict(observation(value))
        with pytest.raises(ConnectionLost, match=r"call reset\(\)"):
            policy.predict(observation(1))
        assert other.predict(observation(1)).actions.shape == (3, 4)
        policy.reset(START, 1)
        assert policy.predict(observation(1)).actions[0, 2] == 1.0


def test_a_failing_start_belongs_to_reset() -> None:
    with PolicyServer(Counter()) as server, remote(server) as policy:
        with pytest.raises(PredictError, match="told to raise"):
            policy.reset(EpisodeStart("e", "walk", "raise", "go"), 1)
        policy.reset(START, 1)


def test_a_slow_predict_times_out_while_the_others_are_answered() -> None:
    model = Counter()
    with PolicyServer(model) as server, remote(server, inference=0.7) as policy:
        policy.reset(START, 1)
        answered: list[float] = []
        asking = threading.Thread(target=ask_health_and_hello, args=(server, model, answered))
        asking.start()
        with pytest.raises(InferenceTimeout, match=r"within 0\.7 s"):
            policy.predict(observation(777.0))
        timed_out = time.monotonic()
        asking.join(5)
        assert answered[0] < timed_out
        model.gate.set()
        # The late answer went to a closed connection; the next episode gets its own.
        policy.reset(START, 1)
        assert policy.predict(observation(5)).actions[0, 1] == 5.0


def ask_health_and_hello(server: PolicyServer, model: Counter, answered: list[float]) -> None:
    assert model.entered.wait(5)
    assert http_get(server, "/health")[0] == 200
    RemotePolicy(server.url, 2.0, 5.0).close()
    answered.append(time.monotonic())


def http_get(server: PolicyServer, path: str) -> tuple[int, Any]:
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
        raw.sendall(request)
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower() or b" 426 " in head
    return int(head.split()[1]), json.loads(body) if body.startswith(b"{") else body.decode()


def test_a_server_that_closes_in_mid_predict_is_a_lost_connection() -> None:
    model = Counter()
    server = PolicyServer(model)
    with server, remote(server) as policy:
        policy.reset(START, 1)

        def close_when_busy() -> None:
            model.entered.wait(5)
            server.close(grace=0.1)

        closing = threading.Thread(target=close_when_busy)
        closing.start()
        with pytest.raises(ConnectionLost):
            policy.predict(observation(777.0))
        closing.join()
        model.gate.set()


def test_reset_opens_a_new_connection_where_the_server_was_replaced() -> None:
    first = PolicyServer(Counter())
    with first, remote(first) as policy:
        policy.reset(START, 1)
        policy.predict(observation(1))
        first.close()
        second = PolicyServer(Counter(chunk=2), port=first.port)
        with second:
            with pytest.raises(ConnectionLost):
                policy.predict(observation(1))
            policy.reset(START, 1)
            assert policy.spec.chunk == 2
            assert policy.predict(observation(1)).actions.shape == (2, 4)
            policy.close()


def test_connect_refreshes_the_spec_and_is_free_where_it_is_open() -> None:
    first = PolicyServer(Counter())
    with first, remote(first) as policy:
        before = policy.spec
        policy.connect()
        assert policy.spec is before
        first.close()
        with PolicyServer(Counter(chunk=2), port=first.port):
            policy.connect()
            assert policy.spec.chunk == 2
            policy.close()


@pytest.mark.parametrize(
    ("images", "says"),
    [
        ({"a": np.zeros((2, 2, 3), np.float32)}, "float32; the policy 'counter' takes uint8"),
        ({"a": np.zeros((2, 2, 3), np.int64)}, "int64"),
    ],
)
def test_images_that_the_policy_does_not_declare_are_refused_by_the_sender(images: Any, says: str) -> None:
    model = Counter()
    with PolicyServer(model) as server, remote(server) as policy:
        policy.reset(START, 1)
        with pytest.raises(ObservationError, match=says):
            policy.predict(observation(images=images))
        with pytest.raises(ObservationError, match=says):
            policy.query([observation(images=images)], 1)
        policy.predict(observation(1))
        assert len(model.seen) == 1


@pytest.mark.parametrize("extras", [{"a": np.array([object()])}, {"images": np.zeros(1)}, {"vlassess": np.zeros(1)}])
def test_an_observation_that_cannot_be_sent_is_the_benchmarks_error(extras: Any) -> None:
    with PolicyServer(Counter()) as server, remote(server) as policy:
        policy.reset(START, 1)
        with pytest.raises(ObservationError):
            policy.predict(observation(extras=extras))


def test_close_ends_the_session_and_the_server_closes_its_model() -> None:
    model = Counter()
    with PolicyServer(model) as server:
        policy = RemotePolicy(server.url)
        policy.reset(START, 1)
        policy.close()
        policy.close()
        with pytest.raises(ConnectionLost):
            policy.predict(observation(1))
    assert model.closed


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def test_nobody_there_is_unavailable_after_the_deadline() -> None:
    url = f"ws://127.0.0.1:{free_port()}"
    begun = time.monotonic()
    with pytest.raises(PolicyUnavailable, match=rf"{url} within 0\.4 s .*refused.*: start its server"):
        RemotePolicy(url, connect_deadline=0.4)
    assert time.monotonic() - begun < 2.0


@pytest.mark.parametrize("silent", [False, True], ids=["refuses", "silent"])
def test_while_nobody_answers_the_seconds_are_counted_down(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    monkeypatch.setattr(dialling, "TELL_SECONDS", (0.1, 0.4))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"ws://127.0.0.1:{listening.getsockname()[1] if silent else free_port()}"
        with pytest.raises(PolicyUnavailable):
            RemotePolicy(url, connect_deadline=1.2)
    why = "" if silent else r" \(Connection refused\)"
    told = [record.getMessage() for record in caplog.records]
    assert len(told) in (2, 3)
    for text in told:
        assert re.fullmatch(rf"no policy answers at {url} yet{why}; trying for [01] s more", text)


def test_a_server_that_comes_up_late_is_waited_for() -> None:
    server = PolicyServer(None)
    policies: list[RemotePolicy] = []
    connecting = threading.Thread(target=lambda: policies.append(RemotePolicy(server.url, 10.0, 1.0)))
    connecting.start()
    time.sleep(0.2)
    server.start()
    assert http_get(server, "/health") == (503, {"status": "loading"})
    assert http_get(server, "/spec")[0] == 503
    time.sleep(0.2)
    server.load(Counter())
    connecting.join(5)
    assert policies[0].spec.identity.name == "counter"
    policies[0].close()
    server.close()


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "http://127.0.0.1:80", "ws://", "ws://a:b", "ws://a:99999"])
def test_a_url_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ContractError, match="policy url"):
        RemotePolicy(url, connect_deadline=5.0)


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def web_server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Web) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def tcp_server(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        behave(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(2)


@contextlib.contextmanager
def websocket_server(behave: Callable[[ServerConnection], None]) -> Iterator[str]:
    def handle(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            behave(connection)

    with serve(handle, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()


def say(*frames: str | bytes) -> Callable[[ServerConnection], None]:
    def behave(connection: ServerConnection) -> None:
        for frame in frames:
            connection.send(frame)
        for _ in connection:
            pass

    return behave


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (web_server(), "answered HTTP 404"),
        (tcp_server(lambda raw: raw.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")), "no websocket handshake"),
        (websocket_server(say(b"\x81\xa3abc\xa1d")), "speaks another protocol"),
        (websocket_server(say("Traceback")), "text frame"),
        (websocket_server(say(Message("error", {"error": "go away"}, 1).pack())), "refused HELLO: go away"),
        (websocket_server(say(Message("action", {}, 1).pack())), "answered action 1 to HELLO"),
        (websocket_server(say(Message("hello", {"protocol_version": 9}, 1).pack())), "protocol version 9"),
        (websocket_server(say(Message("hello", {"protocol_version": 1}, 1).pack())), "names no model_server"),
    ],
    ids=["http", "ssh", "binary", "text", "error", "action", "version", "client"],
)
def test_another_protocol_is_refused_at_once(server: contextlib.AbstractContextManager[str], says: str) -> None:
    with server as url:
        begun = time.monotonic()
        with pytest.raises(HandshakeError, match=says):
            RemotePolicy(url, connect_deadline=20.0)
        assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize(
    "server",
    [tcp_server(lambda raw: None), tcp_server(lambda raw: time.sleep(0.6)), websocket_server(say())],
    ids=["closes", "silent", "no-hello"],
)
def test_a_server_that_may_still_come_up_is_retried_until_the_deadline(
    server: contextlib.AbstractContextManager[str],
) -> None:
    with server as url, pytest.raises(PolicyUnavailable, match=r"within 0\.5 s"):
        RemotePolicy(url, connect_deadline=0.5)


def foreign(answers: list[tuple[str, Any, int]], acks: bool = False) -> Callable[[ServerConnection], None]:
    """Answer HELLO like another make of server, then each observation with the next of ``answers``."""

    def behave(connection: ServerConnection) -> None:
        queue = list(answers)
        for frame in connection:
            message = Message.unpack(frame)
            if message.type == messages.HELLO:
                payload = {
                    "protocol_version": 1,
                    "model_server": "Peer",
                    "harness_version": "0.8.0",
                    "capabilities": {},
                }
                if acks:
                    payload = messages.hello_answer(PolicySpec(PolicyIdentity("p")))
                connection.send(Message(messages.HELLO, payload, message.seq).pack())
            elif message.type == messages.OBSERVATION and queue:
                kind, answer, shift = queue.pop(0)
                connection.send(Message(kind, answer, message.seq + shift).pack())

    return behave


def test_a_server_that_knows_no_chunks_is_observed_at_every_step() -> None:
    answers = [(messages.ACTION, {"actions": np.zeros(7, np.float32)}, 0)] * 2
    with websocket_server(foreign(answers)) as url:
        policy = RemotePolicy(url, 5.0, 5.0)
        assert (policy.spec.identity.name, policy.spec.identity.revision) == ("Peer", "vla-eval 0.8.0")
        assert (policy.spec.chunk, policy.spec.observe) == (1, "every_step")
        policy.reset(START, 1)
        assert policy.predict(observation(1)).actions.shape == (1, 7)
        assert policy.predict(observation(1)).actions.dtype == np.float32
        with pytest.raises(CapabilityError, match="'query'"):
            policy.query([observation(1)], 1)
        policy.close()


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        ((messages.ACTION, {"actions": np.zeros((4, 7))}, 0), InvalidActionError, "without announcing chunks"),
        ((messages.ACTION, {"actions": np.full(7, np.nan)}, 0), InvalidActionError, "nan"),
        ((messages.ACTION, {}, 0), InvalidActionError, "no 'actions'"),
        ((messages.ACTION, {"actions": np.zeros(7)}, -1), DecodeError, "belongs to another message"),
        ((messages.ACTION, {"actions": np.zeros(7)}, 5), DecodeError, "belongs to another message"),
        ((messages.HELLO, {}, 0), DecodeError, "answered hello"),
        ((messages.ERROR, {"error": "observation_failed: ValueError: x"}, 0), PredictError, "observation_failed"),
        ((messages.ERROR, {"error": "episode_start_failed: KeyError"}, -1), PredictError, "episode_start_failed"),
        ((messages.ERROR, {"kind": "protocol", "message": "no"}, 0), ConnectionLost, "refused to go on"),
    ],
)
def test_answers_that_are_none(answer: tuple[str, Any, int], error: type[Exception], says: str) -> None:
    with websocket_server(foreign([answer])) as url:
        policy = RemotePolicy(url, 5.0, 5.0)
        policy.reset(START, 1)
        with pytest.raises(error, match=says):
            policy.predict(observation(1))
        with pytest.raises(ConnectionLost, match="no episode is open"):
            policy.predict(observation(1))
        policy.close()


def test_a_start_that_is_not_acknowledged_times_out() -> None:
    with websocket_server(foreign([], acks=True)) as url:
        policy = RemotePolicy(url, 5.0, 0.3)
        with pytest.raises(InferenceTimeout):
            policy.reset(START, 1)
        policy.close()


def test_a_server_that_takes_no_bytes_cannot_hold_the_sender() -> None:
    """Its process is stopped, or C code holds its interpreter: nobody reads the socket."""

    def handshake_then_sleep(raw: socket.socket) -> None:
        protocol = ServerProtocol()
        while True:
            protocol.receive_data(raw.recv(65536))
            events = protocol.events_received()
            if events and protocol.state.name == "CONNECTING":
                protocol.send_response(protocol.accept(events[0]))  # type: ignore[arg-type]
            elif events:
                hello = {"protocol_version": 1, "model_server": "Stuck"}
                protocol.send_binary(Message(messages.HELLO, hello, 1).pack())
            for data in protocol.data_to_send():
                raw.sendall(data)
            if protocol.state.name == "OPEN" and events and not hasattr(events[0], "path"):
                time.sleep(2)
                return

    with tcp_server(handshake_then_sleep) as url:
        policy = RemotePolicy(url, 5.0, 0.5)
        policy.reset(START, 1)
        begun = time.monotonic()
        with pytest.raises(InferenceTimeout, match="took no bytes"):
            policy.predict(observation(images={"a": np.zeros((4000, 4000, 3), np.uint8)}))
        policy.close()
        assert time.monotonic() - begun < 10
