"""Messages packed and read by pattern are the same as those packed and read one by one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.link.wire.test_codec import LEAVES, TEXT, same
from vlassess_link.errors import DecodeError
from vlassess_link.wire import codec, messages, patterns
from vlassess_link.wire.codec import Frame
from vlassess_link.wire.messages import Message
from vlassess_link.wire.patterns import Reader, Writer

NAMES = TEXT.filter(lambda key: key not in (*codec.RESERVED_KEYS, "step"))
PAYLOADS = st.dictionaries(NAMES, st.one_of(LEAVES, st.dictionaries(NAMES, LEAVES, max_size=3)), max_size=4)


def whole(frame: Frame) -> memoryview:
    return memoryview(frame if isinstance(frame, bytes) else b"".join(frame)).toreadonly()


def observation(step: Any = 3, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(step if isinstance(step, int) and 0 <= step < 2**32 else 0)
    images = {name: rng.integers(0, 256, (40, 50, 3), dtype=np.uint8) for name in ("front", "wrist")}
    return {"images": images, "task_description": "go", "states": rng.random(8), **more, "step": step}


def exchanged(payloads: list[dict[str, Any]], memory: memoryview | None = None) -> list[dict[str, Any]]:
    writer, reader = Writer(memory), Reader()
    reader.memory = None if memory is None else memory.toreadonly()
    found = []
    for seq, payload in enumerate(payloads):
        frame = whole(writer.frame(messages.OBSERVATION, payload, seq))
        unpacked = Message.unpack(frame, reader.memory)
        kind, read, back = reader.read(frame)
        assert (kind, back) == (messages.OBSERVATION, seq) == (unpacked.type, unpacked.seq)
        assert same(read, unpacked.payload)
        found.append(read)
    return found


@given(st.lists(PAYLOADS, min_size=1, max_size=3), st.booleans())
def test_any_payload_arrives_as_it_was_sent_again_and_again(payloads: list[dict[str, Any]], shared: bool) -> None:
    sent = [payload for payload in payloads for _ in range(4)]
    memory = memoryview(bytearray(4096)) if shared else None
    assert same(exchanged(sent, memory), sent)


@pytest.mark.parametrize("shared", [True, False])
def test_observations_of_an_episode_are_read_by_pattern(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly = 0
    unpack = Message.unpack

    def counted(frame: Any, memory: Any = None) -> Message:
        nonlocal slowly
        slowly += 1
        return unpack(frame, memory)

    writer, reader = Writer(memoryview(bytearray(2**16)) if shared else None), Reader()
    reader.memory = writer._memory
    monkeypatch.setattr(Message, "unpack", counted)
    for step in range(20):
        sent = observation(step, depth=np.full((2, 3), step, np.float32)[:, ::2])
        _, read, _ = reader.read(whole(writer.frame("observation", sent, step)))
        assert same(read, sent)
        assert not read["images"]["front"].flags.writeable
        assert read["states"].flags.aligned
    assert slowly == 2


@pytest.mark.parametrize(
    "change",
    [
        {"step": 2**32},
        {"step": True},
        {"step": None},
        {"step": 3.0},
        {"states": np.zeros(0)},
        {"states": np.array(2.0)},
        {"states": np.float32(2)},
        {"states": np.arange(3, dtype=">f4")},
        {"states": np.arange(3, dtype=np.float16)},
        {"states": np.array([True, False])},
        {"states": [1, 2]},
        {"task_description": "stop"},
        {"images": {}},
        {"images": {"front": np.zeros((2, 2, 3), np.uint8)}},
        {"images": {"front": np.zeros((40, 50, 3), np.int8), "wrist": np.zeros((40, 50, 3), np.uint8)}},
        {"flag": 1},
    ],
    ids=str,
)
def test_what_is_made_otherwise_is_not_taken_for_what_came_before(change: dict[str, Any]) -> None:
    sent = [observation(0), observation(1), observation(2), {**observation(3), **change}, observation(4)]
    assert same(exchanged([*sent, *sent]), [*sent, *sent])


def test_a_great_seq_and_many_makes_are_carried() -> None:
    writer, reader = Writer(), Reader()
    for number in range(3 * patterns.KEPT):
        for _ in range(3):
            sent = observation(number, **{f"extra{number}": np.zeros(2)})
            seq = 2**32 + number if number % 5 == 0 else number
            kind, read, back = reader.read(whole(writer.frame("observation", sent, seq)))
            assert (kind, back) == ("observation", seq)
            assert same(read, sent)
    assert len(writer._known) <= patterns.KEPT
    assert len(reader._known) <= patterns.KEPT


def test_bytes_that_only_look_like_the_numbers_are_not_taken_for_them() -> None:
    """The end of the map is a run of bytes here, and the numbers stand before it."""

    def frame(inside: int) -> memoryview:
        tail = b"\xa3seq\xce" + struct.pack(">I", inside) + b"\xa9timestamp\xcb" + struct.pack(">d", 1.0)
        array = b"\x84\xab__ndarray__\xc3\xa5dtype\xa3|u1\xa5shape\x91\x04\xa2at\x00"
        front = b"\x85\xa3seq\x07\xa9timestamp\xcb" + struct.pack(">d", 1.0) + b"\xa4type\xa6action\xa7payload"
        packed = front + b"\x81\xa1a" + array + b"\xa1x\xc4" + bytes([len(tail)]) + tail
        return whole([*patterns_head(packed), bytes(4)])

    def patterns_head(packed: bytes) -> list[bytes]:
        gap = -(12 + len(packed)) % 64
        return [struct.pack("<BBHII", 0xC1, 0, 0, len(packed), 4), packed, bytes(gap)]

    reader = Reader()
    assert patterns._split(frame(7)) is not None
    for inside in (7, 7, 7, 8, 9):
        assert reader.read(frame(inside))[2] == 7
    assert reader._known == {}


@given(st.integers(0, 600), st.integers(0, 255), st.integers(0, 3))
def test_a_spoilt_frame_is_read_or_refused_as_ever(place: int, value: int, cut: int) -> None:
    reader, writer = Reader(), Writer()
    for step in range(3):
        reader.read(whole(writer.frame("observation", observation(step), step)))
    assert len(reader._known) == 1
    spoilt = bytearray(whole(writer.frame("observation", observation(4), 4)))
    spoilt[place % len(spoilt)] = value
    frame = memoryview(bytes(spoilt[: len(spoilt) - cut]))
    expected, found = outcome(lambda: Message.unpack(frame)), outcome(lambda: reader.read(frame))
    if isinstance(expected, str):
        assert found == expected
        return
    assert found[::2] == (expected.type, expected.seq)
    assert same(found[1], expected.payload)


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except DecodeError as error:
        return str(error)
