"""The codec: what goes in comes out, what cannot is refused by the sender, what is hostile is bounded."""

from __future__ import annotations

import random
import resource
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vlassess_link.errors import DecodeError, EncodeError
from vlassess_link.wire import codec

DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    TEXT,
    st.binary(max_size=8),
    ARRAYS,
    hnp.from_dtype(np.dtype(np.float32)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(TEXT.filter(lambda key: key not in codec.RESERVED_KEYS), inner, max_size=4),
    ),
    max_leaves=12,
)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, (np.ndarray, np.generic)):
        return (
            type(left) is type(right)
            and left.dtype == right.dtype
            and left.shape == right.shape
            and left.tobytes() == right.tobytes()
        )
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and (left == right or (left != left and right != right))


def round_trip(value: Any) -> Any:
    return codec.unpack(codec.pack({"value": value}))["value"]


@given(TREES)
def test_everything_legal_survives(tree: Any) -> None:
    assert same(tree, round_trip(tree))


@pytest.mark.parametrize(
    "array",
    [
        np.array(3.5),
        np.zeros((0, 7), np.float32),
        np.arange(12).reshape(3, 4)[:, ::2],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(5, dtype=">f4"),
        np.arange(5, dtype=">i8")[::-1],
        np.array([True, False]),
        np.array([1.5], np.float16),
        np.full((8, 8, 1), 200, np.uint8),
        np.float32(0.1),
        np.float64(0.1),
        np.int16(-3),
        np.bool_(True),
    ],
    ids=lambda array: f"{type(array).__name__}-{array.dtype.str}-{array.shape}",
)
def test_unusual_arrays_survive(array: Any) -> None:
    back = round_trip(array)
    assert type(back) is type(array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(back, array)


def test_decoded_arrays_are_read_only_views() -> None:
    back = round_trip(np.zeros(3))
    assert not back.flags.writeable
    assert not back.flags.owndata


def test_tuples_become_lists() -> None:
    assert round_trip((1, (2,))) == [1, [2]]


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        ({"images": {"front": np.array([object()])}}, "value.images.front", "dtype object"),
        ([0, np.array(["a"])], r"value\[1\]", "dtype <U1"),
        (np.array([1j]), "value", "complex"),
        (np.zeros(2, [("a", "f4")]), "value", "dtype"),
        (np.zeros(2, np.longdouble), "value", "8 bytes"),
        (np.array(["2026-01-01"], "datetime64[D]"), "value", "datetime64"),
        (np.str_("text"), "value", "dtype <U4"),
        (np.ma.masked_array([1.0], [True]), "value", "mask"),
        ({"a": {1: 2}}, "value.a", "keys must be str"),
        ({"a": {"__ndarray__": 1}}, "value.a", "reserved key '__ndarray__'"),
        ({"__image__": True}, "value", "reserved key '__image__'"),
        (3 + 4j, "value", "complex"),
        ({"a": {1, 2}}, "value.a", "set"),
        (2**64, "value", "64 bits"),
        ("\ud800", "value", "Unicode"),
        (list(range(codec.MAX_MEMBERS + 1)), "value", "make it an array"),
    ],
)
def test_the_sender_refuses_with_the_path(value: Any, path: str, says: str) -> None:
    with pytest.raises(EncodeError, match=rf"message\.{path} .*{says}"):
        codec.pack({"value": value})


def test_what_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(EncodeError, match="contains itself"):
        codec.pack({"value": loop})


def test_a_raw_image_of_the_peer_is_read() -> None:
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    wire = {"__image__": True, "format": "raw", "data": image.tobytes(), "dtype": "|u1", "shape": [2, 4, 3]}
    np.testing.assert_array_equal(codec.unpack(msgpack.packb({"value": wire}))["value"], image)


def ndarray(**changes: Any) -> dict[str, Any]:
    return {"__ndarray__": True, "data": bytes(8), "dtype": "<f4", "shape": [2], **changes}


@pytest.mark.parametrize(
    "value",
    [
        ndarray(dtype="|O"),
        ndarray(dtype="<U2"),
        ndarray(dtype="<f4,<f4"),
        ndarray(dtype="<c8"),
        ndarray(dtype="f3"),
        ndarray(dtype="i1" * 1000),
        ndarray(dtype=None),
        ndarray(data="text"),
        ndarray(data=None),
        ndarray(shape=[3]),
        ndarray(shape=[-1, -2]),
        ndarray(shape=[2**62, 2**62]),
        ndarray(shape=[True, 2]),
        ndarray(shape=[2.0]),
        ndarray(shape="2"),
        ndarray(shape=[1] * 40),
        ndarray(shape=[0, 2**62, 2**62], data=b""),
        ndarray(dtype="|b1", shape=[8], data=b"\x02" * 8),
        {"__image__": True, "format": "raw", "data": b"", "shape": [1, 1, 3]},
        {"__image__": True, "format": "webp", "data": b"", "shape": [1, 1, 3]},
        {1: 2},
        {b"key": 2},
        msgpack.Timestamp(1),
        msgpack.ExtType(5, b"code"),
        "\ud800",
    ],
    ids=str,
)
def test_hostile_values_are_refused(value: Any) -> None:
    frame = msgpack.packb({"value": value}, unicode_errors="surrogatepass")
    with pytest.raises(DecodeError):
        codec.unpack(frame)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"\x93\x01",
        b"\x01\x02",
        b"\x91\x01",
        msgpack.packb(ndarray()),
        b"\x91" * 100_000 + b"\xc0",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\x81\xa1a\xdc\xff\xff" * 1000,
    ],
    ids=lambda frame: frame[:6].hex(),
)
def test_broken_frames_are_refused(frame: bytes) -> None:
    with pytest.raises(DecodeError):
        codec.unpack(frame)


def test_nesting_beyond_the_unpacker_has_a_reason() -> None:
    with pytest.raises(DecodeError, match=r"is no message: StackError$"):
        codec.unpack_map(b"\x91" * 5000 + b"\xc0")


def test_nesting_is_bounded_at_the_receiver() -> None:
    value: Any = 0
    for _ in range(codec.MAX_DEPTH + 2):
        value = [value]
    with pytest.raises(DecodeError, match="nested deeper"):
        codec.unpack(msgpack.packb({"value": value}))


def test_a_small_frame_cannot_fill_the_memory() -> None:
    row = b"\xdc\x1f\xff" + b"\x80" * 0x1FFF
    frame = b"\x81\xa1a\xdc\x1f\xff" + row * 0x1FFF
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DecodeError, match="more than"):
        codec.unpack(frame)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB; unbounded it is 4 GB


def test_an_oversized_frame_is_refused_at_both_ends() -> None:
    size = codec.MAX_FRAME_BYTES
    with pytest.raises(EncodeError, match="send less at once"):
        codec.pack({"value": np.zeros(size, np.uint8)})
    with pytest.raises(DecodeError, match="at most"):
        codec.unpack(bytes(size + 1))


def test_mutated_frames_give_only_the_documented_error() -> None:
    rng = random.Random(7)
    message = {"type": "observation", "payload": {"a": np.zeros((4, 4, 3), np.uint8), "b": [1, "x", None]}, "seq": 3}
    whole = codec.pack(message)
    for _ in range(3000):
        frame = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            frame[rng.randrange(len(frame))] = rng.randrange(256)
        try:
            codec.unpack(bytes(frame[: rng.choice((len(frame), rng.randrange(len(frame))))]))
        except DecodeError:
            continue
