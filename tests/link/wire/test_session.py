"""The server's end of a connection, without a socket: order of messages, negotiation, errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.link.models import START, Counter, observation
from vlassess_link.data import EpisodeStart
from vlassess_link.errors import ConnectionLost, ContractError, HandshakeError, InvalidActionError, PredictError
from vlassess_link.policies.inference import ModelHost
from vlassess_link.policies.model import PredictModelServer
from vlassess_link.wire import codec, messages
from vlassess_link.wire.messages import Message
from vlassess_link.wire.session import ServerSession


@pytest.fixture
def hosts() -> Iterator[list[ModelHost]]:
    opened: list[ModelHost] = []
    yield opened
    for host in opened:
        host.close(2.0)


class Client:
    """Packs, asks, unpacks."""

    def __init__(self, hosts: list[ModelHost], model: PredictModelServer, hello: dict[str, Any] | None = None) -> None:
        host = ModelHost()
        hosts.append(host)
        host.load(model)
        host.loaded.result(5)
        self.session = ServerSession(host, "session-1")
        self.seq = 0
        if hello is not None:
            assert self.ask(messages.HELLO, hello).type == messages.HELLO

    def ask(self, kind: str, payload: Any) -> Message:
        reply = self.tell(kind, payload)
        assert reply is not None
        message = Message.unpack(reply)
        assert message.seq == self.seq
        return message

    def tell(self, kind: str, payload: Any) -> Any:
        self.seq += 1
        return self.session.answer(Message(kind, payload, self.seq).pack())


OURS = messages.hello_request()
FOREIGN: dict[str, Any] = {"harness_version": "0.8.0", "protocol_version": 1}


def test_hello_tells_the_spec_and_the_capabilities(hosts: list[ModelHost]) -> None:
    client = Client(hosts, Counter(image_dtypes=("uint8", "float32")))
    hello = messages.parse_hello(client.ask(messages.HELLO, OURS).payload)
    assert hello.capabilities == {"chunks", "acks", "query", "float32_images", "out_of_band"}
    assert hello.spec is not None
    assert hello.spec.identity.name == "counter"
    assert hello.spec.chunk == 3
    assert "query" in hello.spec.capabilities


def test_an_episode_of_ours(hosts: list[ModelHost]) -> None:
    model = Counter()
    client = Client(hosts, model, OURS)
    assert client.ask(messages.EPISODE_START, messages.start_payload(START, 2**62)).type == messages.EPISODE_START
    answer = client.ask(messages.OBSERVATION, messages.observation_payload(observation(5, 7)))
    chunk = messages.parse_action(answer.payload, chunks=True)
    assert chunk.actions.shape == (3, 4)
    assert chunk.extras["reasoning"] == "call 1"
    assert chunk.extras["logits"].dtype == np.float16
    assert type(chunk.extras["score"]) is np.float32
    assert model.starts[0].start == START
    assert model.starts[0].noise_seed == 2**62
    assert model.seen[0].step == 7
    assert client.tell(messages.EPISODE_END, {}) is None


@pytest.mark.parametrize(("observe", "calls"), [("on_demand", [1, 1, 2, 2]), ("every_step", [1, 2, 3, 4])])
def test_a_peer_without_chunks_gets_one_action_at_a_time(
    hosts: list[ModelHost], observe: str, calls: list[int]
) -> None:
    model = Counter(chunk=3, horizon=2, observe=observe)
    client = Client(hosts, model, FOREIGN)
    assert client.tell(messages.EPISODE_START, {"task": {"name": "to-4", "suite": "walk"}}) is None
    rows = [client.ask(messages.OBSERVATION, {"states": np.zeros(1)}).payload for _ in range(4)]
    assert [set(row) for row in rows] == [{"actions"}] * 4
    assert rows[0]["actions"].shape == (4,)
    used = [0, 1, 0, 1] if observe == "on_demand" else [0, 0, 0, 0]
    assert [row["actions"][2] - shift for row, shift in zip(rows, used, strict=True)] == calls
    assert [obs.step for obs in model.seen] == ([0, 2] if observe == "on_demand" else [0, 1, 2, 3])


def test_the_buffer_does_not_reach_the_next_episode(hosts: list[ModelHost]) -> None:
    model = Counter()
    client = Client(hosts, model, FOREIGN)
    for value in (1.0, 2.0):
        client.tell(messages.EPISODE_START, {"task": {"name": "to-4"}})
        action = client.ask(messages.OBSERVATION, {"states": np.array([value])}).payload["actions"]
        assert (action[1], action[2]) == (value, 1)
    assert [ctx.noise_seed for ctx in model.starts] == [0, 1]


def test_what_other_peers_send_is_understood(hosts: list[ModelHost]) -> None:
    model = Counter(chunk=1)
    client = Client(hosts, model, FOREIGN)
    client.tell(messages.EPISODE_START, {"task": {"name": "push", "suite": "s", "level": 3}, "mode": "sync"})
    sent = [
        {"images": {"a": np.zeros((2, 2, 3), np.uint8)}, "task_description": "push it", "state": [1, 2]},
        {"state": {"joints": np.zeros(2)}, "controller_states": np.ones(1)},
        {},
    ]
    for payload in sent:
        assert client.ask(messages.OBSERVATION, payload).type == messages.ACTION
    first, second, third = model.seen
    assert first.instruction == "push it"
    assert first.state is not None
    assert first.state.tolist() == [1.0, 2.0]
    assert second.state is None
    assert set(second.extras) == {"state", "controller_states"}
    assert (third.images, third.state, third.instruction) == ({}, None, "")
    assert model.starts[0].start == EpisodeStart("session-1", "s", "push", "push")


@pytest.mark.parametrize(
    ("messages_before", "kind", "payload", "says"),
    [
        ([], messages.OBSERVATION, {}, "before hello"),
        ([messages.HELLO], messages.OBSERVATION, {}, "before episode_start"),
        ([messages.HELLO, messages.EPISODE_START, messages.EPISODE_END], messages.OBSERVATION, {}, "before episode_st"),
        ([messages.HELLO], messages.ACTION, {}, "sends no action"),
        ([messages.HELLO], messages.EPISODE_START, {"task": []}, "task is of type list"),
        ([messages.HELLO], messages.EPISODE_START, {"vlassess": {"policy_seed": -1}}, "policy_seed is -1"),
        ([messages.HELLO, messages.EPISODE_START], messages.OBSERVATION, {"images": {"a": 1}}, r"images\.a is of type"),
        ([messages.HELLO, messages.EPISODE_START], messages.OBSERVATION, {"step": 1.5}, "step is '1.5'"),
        ([messages.HELLO, messages.EPISODE_START], messages.OBSERVATION, {"states": ["a"]}, "states is"),
        ([messages.HELLO, messages.EPISODE_START], messages.OBSERVATION, {"task_description": 1}, "task_description"),
        ([messages.HELLO], messages.QUERY, {"observations": 1, "noise_seed": 0}, "list of maps"),
        ([messages.HELLO], messages.QUERY, {"observations": [], "noise_seed": None}, "noise_seed"),
    ],
)
def test_wrong_messages_are_protocol_errors_and_the_session_goes_on(
    hosts: list[ModelHost], messages_before: list[str], kind: str, payload: Any, says: str
) -> None:
    client = Client(hosts, Counter())
    for before in messages_before:
        client.tell(before, OURS if before == messages.HELLO else {})
    answer = client.ask(kind, payload)
    assert answer.type == messages.ERROR
    assert answer.payload["kind"] == "protocol"
    with pytest.raises(ConnectionLost, match=says):
        raise messages.parse_error(answer.payload)
    assert not client.session.over
    assert client.ask(messages.HELLO, OURS).type == messages.HELLO


@pytest.mark.parametrize("frame", [b"", b"junk", "text", codec.pack({"type": "observation"}), codec.pack({})])
def test_an_unreadable_frame_ends_the_session(hosts: list[ModelHost], frame: Any) -> None:
    client = Client(hosts, Counter(), OURS)
    reply = client.session.answer(frame)
    assert reply is not None
    message = Message.unpack(reply)
    assert (message.type, message.seq, message.payload["kind"]) == (messages.ERROR, 0, "protocol")
    assert client.session.over


def test_another_protocol_version_is_refused(hosts: list[ModelHost]) -> None:
    client = Client(hosts, Counter())
    answer = client.ask(messages.HELLO, {**FOREIGN, "protocol_version": 2})
    assert answer.type == messages.ERROR
    assert "version 2" in answer.payload["message"]
    assert client.session.over


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (666.0, PredictError, "ValueError in .*the number of the beast"),
        (999.0, InvalidActionError, "action 1 of the chunk has nan in component 2"),
        (111.0, PredictError, "SystemExit"),
    ],
)
def test_a_failing_predict_is_the_policys_error_and_ends_its_episode(
    hosts: list[ModelHost], value: float, error: type[Exception], says: str
) -> None:
    client = Client(hosts, Counter(), OURS)
    start = messages.start_payload(START, 1)
    client.ask(messages.EPISODE_START, start)
    answer = client.ask(messages.OBSERVATION, messages.observation_payload(observation(value)))
    assert answer.payload["kind"] == "policy"
    with pytest.raises(error, match=says):
        raise messages.parse_error(answer.payload)
    again = client.ask(messages.OBSERVATION, messages.observation_payload(observation(1)))
    assert again.payload["kind"] == "protocol"
    client.ask(messages.EPISODE_START, start)
    assert client.ask(messages.OBSERVATION, messages.observation_payload(observation(1))).type == messages.ACTION


def test_a_failing_start_is_the_policys_error(hosts: list[ModelHost]) -> None:
    client = Client(hosts, Counter(), OURS)
    answer = client.ask(messages.EPISODE_START, {"task": {"name": "raise"}})
    assert answer.payload["kind"] == "policy"
    assert "told to raise" in answer.payload["message"]
    assert client.ask(messages.OBSERVATION, {}).payload["kind"] == "protocol"


class Answers(PredictModelServer):
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def predict(self, obs: Any, ctx: Any) -> Any:
        return self._answer


@pytest.mark.parametrize(
    "answer",
    [
        {"actions": [[1.0], [2.0, 3.0]]},
        {"action": [1.0]},
        {"actions": np.zeros((2, 2, 2))},
        {"actions": np.zeros(3, np.float16)},
        {"actions": np.zeros((0, 3))},
        {"actions": np.zeros(3), "extra": object()},
        {"actions": np.zeros(3), "extra": {1: 2}},
        None,
        "text",
    ],
)
def test_an_answer_that_is_no_action_is_the_policys_error(hosts: list[ModelHost], answer: Any) -> None:
    client = Client(hosts, Answers(answer), OURS)
    client.ask(messages.EPISODE_START, {})
    reply = client.ask(messages.OBSERVATION, {})
    assert (reply.type, reply.payload["kind"]) == (messages.ERROR, "policy")


def test_a_request_of_a_client_that_left_is_not_computed(hosts: list[ModelHost]) -> None:
    model = Counter()
    host = ModelHost()
    hosts.append(host)
    host.load(model)
    host.loaded.result(5)
    session = ServerSession(host, "s", alive=lambda: False)
    session.answer(Message(messages.HELLO, OURS, 1).pack())
    reply = session.answer(Message(messages.EPISODE_START, {}, 2).pack())
    assert reply is not None
    assert "went away" in Message.unpack(reply).payload["message"]
    assert model.starts == []
    assert session.over


def test_query_needs_no_episode_and_touches_none(hosts: list[ModelHost]) -> None:
    client = Client(hosts, Counter(), OURS)
    client.ask(messages.EPISODE_START, messages.start_payload(START, 1))
    client.ask(messages.OBSERVATION, messages.observation_payload(observation(1)))
    asked = [observation(value) for value in (3.0, 4.0)]
    answer = client.ask(messages.QUERY, messages.query_payload(asked, 9))
    chunks = messages.parse_answers(answer.payload, 2)
    assert [chunk.actions[0, 1] for chunk in chunks] == [3.0, 4.0]
    assert [chunk.actions[0, 2] for chunk in chunks] == [1.0, 1.0]
    assert chunks[0].actions[0, 3] == chunks[1].actions[0, 3]
    after = client.ask(messages.OBSERVATION, messages.observation_payload(observation(1)))
    assert after.payload["actions"][0, 2] == 2.0


def test_an_error_is_told_whatever_its_text() -> None:
    frame = Message(messages.ERROR, messages.error_payload(PredictError("half of \ud83d")), 3).pack()
    assert str(messages.parse_error(Message.unpack(frame).payload)) == "half of \\ud83d"


def test_a_host_that_is_not_loaded_has_no_model() -> None:
    host = ModelHost()
    with pytest.raises(ContractError, match="not loaded"):
        _ = host.model
    with pytest.raises(ContractError, match="not loaded"):
        _ = host.spec
    host.close(1.0)


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({"protocol_version": None}, "version None"),
        ({"protocol_version": 1, "vlassess": {"spec": {"identity": {"name": "a"}, "novel": 1}}}, "unknown field"),
        ({"protocol_version": 1, "vlassess": {"spec": 3}}, "spec cannot be read"),
    ],
)
def test_hello_of_a_stranger_is_refused(payload: Any, says: str) -> None:
    with pytest.raises(HandshakeError, match=says):
        messages.parse_hello(payload)


def test_mutated_frames_never_break_a_session(hosts: list[ModelHost]) -> None:
    rng = random.Random(3)
    client = Client(hosts, Counter())
    wholes = [
        Message(messages.HELLO, OURS, 1).pack(),
        Message(messages.EPISODE_START, messages.start_payload(START, 1), 2).pack(),
        Message(messages.OBSERVATION, messages.observation_payload(observation(1)), 3).pack(),
        Message(messages.QUERY, messages.query_payload([observation(1)], 1), 4).pack(),
    ]
    for number in range(2000):
        frame = bytearray(wholes[number % len(wholes)])
        for _ in range(rng.randint(0, 3)):
            frame[rng.randrange(len(frame))] = rng.randrange(256)
        reply = client.session.answer(bytes(frame))
        assert reply is None or Message.unpack(reply).type in messages.TYPES
