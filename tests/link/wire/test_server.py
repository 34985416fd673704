"""The server's socket: HTTP beside the websocket, readiness, closing, clients that misbehave."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.link.models import START, Counter, observation
from vlassess_link.errors import ConnectionLost, PredictError, WireError
from vlassess_link.jsonable import from_json
from vlassess_link.policies.model import announced_spec
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.specs import PolicySpec
from vlassess_link.wire import messages
from vlassess_link.wire.messages import Message
from vlassess_link.wire.server import PolicyServer


def get(server: PolicyServer, path: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=5) as answer:
            assert len(answer.headers.get_all("Content-Type")) == 1
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else text


class SlowToLoad(Counter):
    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def load(self) -> None:
        self.go.wait(10)


def test_health_is_503_until_loaded_and_200_after() -> None:
    model = SlowToLoad()
    server = PolicyServer(model)
    server.start()
    assert get(server, "/health") == (503, {"status": "loading"})
    assert get(server, "/spec")[0] == 503
    with pytest.raises(TimeoutError):
        server.wait_ready(0.05)
    model.go.set()
    server.wait_ready(5)
    identity = announced_spec(model).identity
    expected = {"status": "ok", "policy": "counter", "identity": identity.digest, "queued": 0, "running": None}
    assert get(server, "/health") == (200, expected)
    server.close()


def test_spec_and_config() -> None:
    model = Counter()
    with PolicyServer(model) as server:
        status, spec = get(server, "/spec")
        assert (status, from_json(PolicySpec, spec)) == (200, announced_spec(model))
        assert get(server, "/config") == (200, {"applied": {}, "config": {"max_batch_size": 1}})
        assert get(server, "/config?max_batch_size=8")[1]["applied"] == {"max_batch_size": 1}  # it has no predict_batch
        status, answer = get(server, "/config?chunk_size=8&max_batch_size=0&max_batch_size=x")
        assert (status, answer["errors"]) == (
            422,
            [
                "unknown key: chunk_size",
                "max_batch_size is 0; it must be at least 1; give a whole number from 1",
                "max_batch_size is 'x'; give a whole number from 1",
            ],
        )
        assert get(server, "/elsewhere")[0] == 426


class FailsToLoad(Counter):
    def load(self) -> None:
        raise FileNotFoundError("no weights at /models/a")


def test_a_load_that_fails_says_why() -> None:
    server = PolicyServer(FailsToLoad())
    with pytest.raises(PredictError, match=r"FileNotFoundError in .*load: no weights"), server:
        pass
    again = PolicyServer(FailsToLoad())
    again.start()
    with pytest.raises(PredictError):
        again.wait_ready(5)
    assert get(again, "/health") == (503, {"status": "failed"})
    again.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "203.0.113.9"])
def test_an_address_that_cannot_be_bound_is_one_sentence(host: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(WireError, match=r"^cannot listen on .*choose another port \(0: any free one\)$"),
    ):
        PolicyServer(Counter(), host=host, port=taken.getsockname()[1])


def test_a_host_that_is_no_address_is_named() -> None:
    with pytest.raises(
        WireError, match=r"^cannot listen on 300\.1\.1\.1:0: '300\.1\.1\.1' is no address of this machine$"
    ):
        PolicyServer(Counter(), host="300.1.1.1")


def test_closing_lets_a_running_answer_end() -> None:
    model = Counter()
    server = PolicyServer(model)
    with server:
        policy = RemotePolicy(server.url)
        policy.reset(START, 1)

        def close_when_busy() -> None:
            model.entered.wait(5)
            threading.Timer(0.2, model.gate.set).start()
            server.close(grace=5.0)

        closing = threading.Thread(target=close_when_busy)
        closing.start()
        assert policy.predict(observation(777.0)).actions[0, 1] == 777.0
        closing.join()
        with pytest.raises(ConnectionLost):
            policy.predict(observation(1.0))
        policy.close()
        assert model.closed


def test_closing_never_waits_longer_than_the_grace() -> None:
    model = Counter()
    server = PolicyServer(model)
    server.start()
    server.wait_ready(5)
    policies = [RemotePolicy(server.url, 5.0, 10.0) for _ in range(2)]
    lost: list[ConnectionLost] = []

    def ask(policy: RemotePolicy) -> None:
        try:
            policy.predict(observation(777.0))
        except ConnectionLost as error:
            lost.append(error)

    asking = [threading.Thread(target=ask, args=(policy,)) for policy in policies]
    for policy in policies:
        policy.reset(START, 1)
    for thread in asking:
        thread.start()
    # One predict never ends, and the other waits behind it.
    assert model.entered.wait(5)
    begun = time.monotonic()
    server.close(grace=0.3)
    assert time.monotonic() - begun < 2.0
    for thread in asking:
        thread.join(5)
    assert len(lost) == 2
    for policy in policies:
        policy.close()
    model.gate.set()


def hello_frame() -> bytes:
    return Message(messages.HELLO, messages.hello_request(), 1).pack()


def test_hostile_frames_cost_only_their_own_session() -> None:
    rng = random.Random(11)
    wholes = [
        hello_frame(),
        Message(messages.EPISODE_START, messages.start_payload(START, 1), 2).pack(),
        Message(messages.OBSERVATION, messages.observation_payload(observation(1)), 3).pack(),
    ]
    with PolicyServer(Counter()) as server:
        policy = RemotePolicy(server.url)
        policy.reset(START, 1)
        for number in range(300):
            frame = bytearray(rng.choice(wholes))
            for _ in range(rng.randint(1, 6)):
                frame[rng.randrange(len(frame))] = rng.randrange(256)
            try:
                with connect(server.url, compression=None, close_timeout=1) as hostile:
                    hostile.send(hello_frame())
                    hostile.recv(5)
                    hostile.send(bytes(frame))
                    hostile.recv(0.02)
            except (ConnectionClosed, TimeoutError):
                pass
            if number % 30 == 0:
                assert policy.predict(observation(number)).actions[0, 1] == number
        assert get(server, "/health")[0] == 200
        policy.close()


def test_sockets_that_speak_no_websocket_are_survived() -> None:
    rng = random.Random(5)
    with PolicyServer(Counter()) as server:
        for data in (
            b"",
            b"\r\n\r\n",
            b"GET /health",
            b"POST / HTTP/1.1\r\n\r\n",
            *(rng.randbytes(200) for _ in range(30)),
        ):
            with socket.create_connection(("127.0.0.1", server.port)) as raw:
                raw.sendall(data)
        policy = RemotePolicy(server.url)
        policy.reset(START, 1)
        assert policy.predict(observation(2)).actions[0, 1] == 2.0
        policy.close()


def test_many_sessions_at_once_get_their_own_answers() -> None:
    wrong: list[tuple[int, float]] = []

    def play(number: int) -> None:
        policy = RemotePolicy(server.url)
        policy.reset(START, number)
        for step in range(20):
            actions = policy.predict(observation(1000 + number, step)).actions
            if (actions[0, 1], actions[0, 2]) != (1000 + number, step + 1):
                wrong.append((number, actions[0, 1]))
        policy.close()

    with PolicyServer(Counter()) as server:
        threads = [threading.Thread(target=play, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert wrong == []
