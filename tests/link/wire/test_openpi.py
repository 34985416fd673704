"""openpi's protocol: the three ways to write arrays, the mappings, and both ends against each other."""

from __future__ import annotations

import json
import random
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from tests.link.models import START, Counter, observation
from vlassess_link.data import EpisodeStart, Observation
from vlassess_link.errors import (
    ConnectionLost,
    ContractError,
    DecodeError,
    EncodeError,
    HandshakeError,
    InferenceTimeout,
    InvalidActionError,
    ObservationError,
    PredictError,
)
from vlassess_link.policies.mapping import READY_MADE, KeyMapping, mapping_of
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.policies.openpi import OpenpiPolicy
from vlassess_link.wire import openpi
from vlassess_link.wire.access import Access
from vlassess_link.wire.server import PolicyServer, ServerOptions

MAPPING = {
    "images": {"observation/image": "front"},
    "state": {"observation/state": [0, None]},
    "chunk": 3,
    "horizon": 2,
}

ARRAYS = hnp.arrays(
    st.one_of(
        hnp.boolean_dtypes(),
        hnp.integer_dtypes(endianness="?"),
        hnp.unsigned_integer_dtypes(endianness="?"),
        hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    ),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def of_openpi(array: np.ndarray, bytes_keys: bool) -> dict[Any, Any]:
    said = {"__ndarray__": True, "data": array.tobytes(), "dtype": array.dtype.str, "shape": array.shape}
    return {key.encode() if bytes_keys else key: value for key, value in said.items()}


def of_msgpack_numpy(array: np.ndarray) -> dict[bytes, Any]:
    return {b"nd": True, b"type": array.dtype.str, b"kind": b"", b"shape": array.shape, b"data": array.tobytes()}


@given(ARRAYS)
def test_all_three_styles_are_read_exactly(array: np.ndarray) -> None:
    for written in (of_openpi(array, True), of_openpi(array, False), of_msgpack_numpy(array)):
        back = openpi.unpack(msgpack.packb({"a": {"b": written}}))["a"]["b"]
        assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


@given(ARRAYS)
def test_what_is_sent_is_read(array: np.ndarray) -> None:
    back = openpi.unpack(openpi.pack({"a": array, "list": [array], "text": "x", "none": None}))
    for got in (back["a"], back["list"][0]):
        assert (got.dtype, got.shape, got.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("value", [np.float32(0.5), np.int16(-3), np.bool_(True), np.float64(0.1)])
def test_scalars_keep_their_type(value: Any) -> None:
    texts = {"__npgeneric__": True, "data": value.item(), "dtype": value.dtype.str}
    lebedov = {b"nd": False, b"type": value.dtype.str, b"data": value.tobytes()}
    for frame in (openpi.pack({"a": value}), msgpack.packb({"a": texts}), msgpack.packb({"a": lebedov})):
        back = openpi.unpack(frame)["a"]
        assert type(back) is type(value)
        assert back == value


@pytest.mark.parametrize(
    "value",
    [
        {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": [1], b"data": b"cposix\nsystem\n."},
        {b"nd": True, b"type": [["a", "<f4"]], b"kind": b"V", b"shape": [1], b"data": b"1234"},
        {b"__ndarray__": True, b"data": b"1234", b"dtype": "|O", b"shape": [1]},
        {b"__ndarray__": True, b"data": b"1234", b"dtype": "<f4", b"shape": [2]},
        {b"__npgeneric__": True, b"data": "text", b"dtype": "<f4"},
        {b"__npgeneric__": True, b"data": 300, b"dtype": "|u1"},
        {b"complex": True, b"nd": True, b"type": "<c8", b"kind": b"", b"shape": [1], b"data": bytes(8)},
        {1: 2},
        {b"\xff": 1},
        msgpack.ExtType(1, b"x"),
    ],
    ids=str,
)
def test_hostile_values_are_refused(value: Any) -> None:
    with pytest.raises(DecodeError):
        openpi.unpack(msgpack.packb({"a": value}, strict_types=False))


@pytest.mark.parametrize(
    "value", [np.array([None]), np.array([1j]), {1: 2}, {"nd": 1}, {1, 2}, np.str_("x"), 2**70], ids=str
)
def test_the_sender_refuses(value: Any) -> None:
    with pytest.raises(EncodeError):
        openpi.pack({"a": value})


def test_mutated_frames_give_only_the_documented_error() -> None:
    rng = random.Random(3)
    wholes = [
        openpi.pack({"observation/image": np.zeros((4, 4, 3), np.uint8), "prompt": "go", "n": np.float32(1)}),
        msgpack.packb({"a": of_msgpack_numpy(np.zeros(3)), "b": of_openpi(np.ones(2), False)}),
    ]
    for number in range(3000):
        frame = bytearray(wholes[number % 2])
        for _ in range(rng.randint(1, 4)):
            frame[rng.randrange(len(frame))] = rng.randrange(256)
        try:
            openpi.unpack(bytes(frame))
        except DecodeError:
            continue


# Mappings


def seen(**images: np.ndarray) -> Observation:
    return Observation(images, "put it there", np.arange(8.0))


def picture(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_the_libero_keys() -> None:
    sent = READY_MADE["libero"].outgoing(seen(wrist_view=picture(224, 224), agentview=picture(256, 256)))
    assert set(sent) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}
    assert sent["observation/image"].shape == (224, 224, 3)
    assert sent["prompt"] == "put it there"
    np.testing.assert_array_equal(sent["observation/state"], np.arange(8.0))


def test_the_droid_keys() -> None:
    sent = READY_MADE["droid"].outgoing(seen(front=picture(180, 320), hand=picture(224, 224)))
    assert sent["observation/exterior_image_1_left"].shape == (224, 224, 3)
    assert not sent["observation/exterior_image_1_left"][:40].any()
    assert sent["observation/joint_position"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert sent["observation/gripper_position"].tolist() == [7]


def test_the_aloha_keys_are_nested_and_channels_come_first() -> None:
    image = picture(224, 224)
    sent = READY_MADE["aloha"].outgoing(seen(top=image))
    assert set(sent) == {"images", "state", "prompt"}
    assert set(sent["images"]) == {"cam_high"}
    np.testing.assert_array_equal(sent["images"]["cam_high"], image.transpose(2, 0, 1))


@pytest.mark.parametrize("name", sorted(READY_MADE))
def test_what_goes_out_comes_in(name: str) -> None:
    mapping = READY_MADE[name]
    cameras = {"cam_high_base": picture(224, 224), "left_wrist_cam": picture(224, 224)}
    back = mapping.incoming(openpi.unpack(openpi.pack(mapping.outgoing(seen(**cameras)))), list(cameras), 3)
    assert (back.instruction, back.step) == ("put it there", 3)
    assert back.state is not None
    np.testing.assert_array_equal(back.state, np.arange(8.0))
    assert set(back.images) == set(cameras)
    for camera, image in cameras.items():
        np.testing.assert_array_equal(back.images[camera], image)


@pytest.mark.parametrize(
    ("images", "state", "says"),
    [
        ({"agentview": picture(8, 8)}, np.zeros(8), r"wrist.*the observation has agentview: name one of them"),
        ({}, np.zeros(8), "observation has none"),
        ({"agentview": picture(8, 8), "wrist": picture(8, 8)}, None, "has 0: correct the mapping"),
        ({"agentview": np.zeros((8, 8, 3), np.float32), "wrist": picture(8, 8)}, np.zeros(8), "only uint8"),
    ],
)
def test_what_the_mapping_does_not_find_is_said(images: Any, state: Any, says: str) -> None:
    with pytest.raises(ObservationError, match=says):
        READY_MADE["libero"].outgoing(Observation(images, "go", state))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "needs a mapping: libero, droid, aloha"),
        ("bridge", "ready-made are libero"),
        ({"like": "bridge"}, "ready-made are"),
        ({"image": {}}, "image"),
        ({"images": {"a": 3}}, r"mapping\.images\.a is 3"),
        ({"state": {"a": [3, 1]}}, r"mapping\.state\.a is \[3, 1\]"),
        ({"size": [1]}, "mapping.size is"),
        ({"chunk": 2, "horizon": 3}, "horizon is 3"),
    ],
)
def test_a_wrong_mapping_is_refused(given: Any, says: str) -> None:
    with pytest.raises(ContractError, match=says):
        mapping_of(given)


def test_a_ready_made_mapping_can_be_changed_in_part() -> None:
    mapping = mapping_of({"like": "libero", "images": {"observation/image": "front"}, "horizon": 2})
    assert mapping.cameras == ("front",)
    assert (mapping.size, mapping.chunk, mapping.horizon) == ((224, 224), 10, 2)
    assert list(mapping.state["observation/state"]) == [0, None]
    assert mapping_of("droid") is not None
    assert mapping_of("droid").cameras is None


# Both ends


@pytest.fixture
def served() -> Iterator[tuple[PolicyServer, Counter]]:
    model = Counter(chunk=3, horizon=2)
    with PolicyServer(model, options=ServerOptions(dialect="openpi", mapping=MAPPING)) as server:
        yield server, model


def test_a_policy_is_the_same_over_openpi_and_in_process(served: tuple[PolicyServer, Counter]) -> None:
    server, model = served
    local = InProcessPolicy(Counter(chunk=3, horizon=2))
    policy = OpenpiPolicy(server.url, MAPPING, 5.0, 5.0)
    assert (policy.spec.chunk, policy.spec.horizon, policy.spec.cameras) == (3, 2, ("front",))
    assert (policy.spec.stochastic, policy.spec.uses_noise_seed) == (True, False)
    assert policy.spec.identity.name == "counter"
    policy.reset(START, 5)
    local.reset(START, 0)
    for step in range(3):
        expected = local.predict(observation(step + 1, step))
        got = policy.predict(observation(step + 1, step))
        assert got.actions.dtype == expected.actions.dtype
        np.testing.assert_array_equal(got.actions, expected.actions)
        assert got.extras["reasoning"] == expected.extras["reasoning"]
        assert set(got.extras) == {"reasoning", "logits", "score"}
    policy.close()
    assert model.seen[0].instruction == "go to 4"
    assert [ctx.noise_seed for ctx in model.starts] == [0]


def test_another_instruction_begins_another_episode(served: tuple[PolicyServer, Counter]) -> None:
    server, model = served
    policy = OpenpiPolicy(server.url, MAPPING)
    policy.reset(START, 1)
    calls = [
        policy.predict(observation(1, instruction=text)).actions[0, 2] for text in ("go", "go", "stay", "stay", "go")
    ]
    assert calls == [1, 2, 1, 2, 1]
    assert len(model.starts) == 3
    policy.close()


def test_a_policy_that_raises_is_charged_and_the_next_episode_goes_on(served: tuple[PolicyServer, Counter]) -> None:
    server, _ = served
    policy, other = OpenpiPolicy(server.url, MAPPING), OpenpiPolicy(server.url, MAPPING)
    other.reset(START, 1)
    policy.reset(START, 1)
    with pytest.raises(PredictError, match="number of the beast"):
        policy.predict(observation(666))
    with pytest.raises(ConnectionLost, match=r"call reset\(\)"):
        policy.predict(observation(1))
    assert other.predict(observation(1)).actions.shape == (3, 4)
    policy.reset(START, 1)
    assert policy.predict(observation(1)).actions[0, 2] == 1
    policy.close()
    other.close()


def test_slow_and_lost_have_their_errors() -> None:
    model = Counter()
    server = PolicyServer(model, options=ServerOptions(dialect="openpi", mapping=MAPPING))
    with server:
        policy = OpenpiPolicy(server.url, MAPPING, 5.0, 0.5)
        policy.reset(START, 1)
        with pytest.raises(InferenceTimeout, match=r"within 0\.5 s"):
            policy.predict(observation(777))
        model.gate.set()
        policy.reset(START, 1)
        policy.predict(observation(1))
    with pytest.raises(ConnectionLost):
        policy.predict(observation(1))
    policy.close()


def http(server: PolicyServer, path: str) -> tuple[int, str]:
    with urllib.request.urlopen(server.url.replace("ws", "http", 1) + path, timeout=5) as answer:
        return answer.status, answer.read().decode()


def test_health_and_key() -> None:
    options = ServerOptions(dialect="openpi", mapping="libero", token="secret")
    with PolicyServer(Counter(), options=options) as server:
        assert http(server, "/healthz") == (200, "OK\n")
        assert json.loads(http(server, "/health")[1])["status"] == "ok"
        with pytest.raises(HandshakeError, match="refuses the token"):
            OpenpiPolicy(server.url, "libero", 2.0)
        OpenpiPolicy(server.url, "libero", 2.0, access=Access("secret")).close()


@pytest.mark.parametrize("frame", ["text", b"junk", msgpack.packb([1]), openpi.pack({"prompt": "go"})], ids=str)
def test_what_a_client_sends_wrong_is_said_as_text_and_ends_it(
    served: tuple[PolicyServer, Counter], frame: str | bytes
) -> None:
    with connect(served[0].url, compression=None) as client:
        assert openpi.unpack(bytes(client.recv(5)))["name"] == "counter"  # type: ignore[arg-type]
        client.send(frame)
        assert isinstance(client.recv(5), str)
        with pytest.raises(ConnectionClosed):
            client.recv(5)


def answering(reply: Any, first: Any = None) -> Any:
    def handle(connection: ServerConnection) -> None:
        connection.send(openpi.pack({}) if first is None else first)
        for _ in connection:
            connection.send(reply)

    return serve(handle, "127.0.0.1", 0, compression=None)


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (openpi.pack({"actions": np.zeros((1, 7))}), InvalidActionError, "answered 1 actions; 2 of each"),
        (openpi.pack({"actions": np.full((3, 7), np.nan)}), InvalidActionError, "nan"),
        (openpi.pack({"action": np.zeros((3, 7))}), InvalidActionError, "no 'actions'"),
        ("Traceback (most recent call last):\nKeyError: 'prompt'", PredictError, "KeyError"),
        (b"junk", DecodeError, "no message|are maps"),
    ],
    ids=str,
)
def test_answers_that_are_none(reply: Any, error: type[Exception], says: str) -> None:
    with answering(reply) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        policy = OpenpiPolicy(f"ws://127.0.0.1:{server.socket.getsockname()[1]}", MAPPING, 2.0, 2.0)
        policy.reset(START, 1)
        with pytest.raises(error, match=says):
            policy.predict(observation(1))
        policy.close()
        server.shutdown()


@pytest.mark.parametrize(("first", "says"), [("error", "greets with an error: error"), (b"\x93", "no message")])
def test_another_protocol_is_refused(first: Any, says: str) -> None:
    with answering(b"", first) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(HandshakeError, match=says):
            OpenpiPolicy(f"ws://127.0.0.1:{server.socket.getsockname()[1]}", MAPPING, 2.0, 2.0)
        server.shutdown()


def test_a_server_of_the_default_dialect_is_told_apart() -> None:
    with PolicyServer(Counter()) as server, pytest.raises(HandshakeError, match="sent no metadata first"):
        OpenpiPolicy(server.url, MAPPING, 0.5)


def test_pings_are_answered_while_nobody_reads() -> None:
    """A peer that takes silence for death must not lose us to a long reset, nor a long inference of ours to it."""
    lost: list[Exception] = []
    done = threading.Event()

    def handle(connection: ServerConnection) -> None:
        connection.send(openpi.pack({}))
        for _ in range(2):
            if not connection.ping().wait(10):
                lost.append(TimeoutError("no pong"))
        done.set()

    with serve(handle, "127.0.0.1", 0, compression=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        policy = OpenpiPolicy(f"ws://127.0.0.1:{server.socket.getsockname()[1]}", MAPPING, 2.0, 2.0)
        assert done.wait(15)
        policy.close()
        server.shutdown()
    assert lost == []


def test_an_unknown_dialect_is_refused() -> None:
    for options, says in (
        (ServerOptions(dialect="groot"), "the dialect is 'groot'; it must be one of vlassess, openpi"),
        (ServerOptions(dialect="openpi"), "needs a mapping"),
        (ServerOptions(mapping="libero"), "a mapping is for dialects"),
    ):
        with pytest.raises(ContractError, match=says):
            PolicyServer(Counter(), options=options)


def test_the_mapping_is_part_of_the_identity(served: tuple[PolicyServer, Counter]) -> None:
    one = OpenpiPolicy(served[0].url, MAPPING)
    two = OpenpiPolicy(served[0].url, {**MAPPING, "horizon": 1})
    assert one.spec.identity.digest != two.spec.identity.digest
    one.reset(EpisodeStart("e", "s", "t", "go"), 1)
    one.close()
    two.close()
    assert isinstance(mapping_of(MAPPING), KeyMapping)
