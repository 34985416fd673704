"""Messages of one connection that differ only in their arrays and numbers: what is alike is packed and read once.

The observations of an episode, and their answers, have the same map but for three numbers at its end::

    type, payload {..., step}, seq, timestamp

A `Writer` keeps the bytes before these numbers, by what the message is made of, and a `Reader` what came of such
bytes. Neither changes what is on the wire: each message is a frame of its own, whole and as `codec` reads it, and a
`Reader` returns what `Message.unpack` would. Only arrays on the outside of the map make such frames (`envelope`).
"""

from __future__ import annotations

import struct
import time
from typing import Any, Dict, Hashable, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from vlassess_link.wire import codec, envelope
from vlassess_link.wire.codec import Frame
from vlassess_link.wire.envelope import HEAD, INLINE, MARK, SHARED, padding
from vlassess_link.wire.messages import Message

KEPT = 32
"""Patterns of one connection and direction; one more, and they begin anew."""
MAX_MAP_BYTES = 8192
"""Longer maps are not kept."""

_SEQ, _TIMESTAMP, _STEP = b"\xa3seq\xce", b"\xa9timestamp\xcb", b"\xa4step\xce"
_PLAIN_TAIL = struct.Struct(">5sI11sd")
_STEP_TAIL = struct.Struct(">6sI5sI11sd")
_CASTABLE = "bBhHiIlLqQfd?"
_WHOLE = 2**32
"""Numbers from here on need more than the four bytes that a pattern has for them."""

Read = Tuple[str, Dict[str, Any], int]
"""Type, payload and seq of a message."""
Numbers = Tuple[Optional[int], int, float]
"""Step, seq and timestamp; no step where the payload does not end with one."""
Split = Tuple[bytes, Numbers, int, int, int]
"""A map until its numbers, these, size of the bodies, where they begin in the frame, length that it must have. They
begin at -1 in shared memory."""


class _Outgoing(NamedTuple):
    """How messages of one make are packed.

    Attributes:
        begin: The frame until the numbers.
        end: The zeros behind them.
        gaps: Zeros behind each array.
        places: The arrays of shared memory that the bodies go to; None: they go in the frame.
        small: Whether copying the bodies into one buffer is cheaper than handing over several.
    """

    begin: bytes
    end: bytes
    gaps: Tuple[bytes, ...]
    places: Optional[Tuple[np.ndarray, ...]]
    small: bool


class Writer:
    """Packs the messages of one connection, arrays out of band."""

    def __init__(self, memory: Optional[memoryview] = None) -> None:
        self._memory = memory
        self._known: Dict[Hashable, _Outgoing] = {}

    def frame(self, kind: str, payload: Mapping[str, Any], seq: int) -> Frame:
        """Return the frame of a message; its arrays must not be changed until it is sent.

        Raises:
            EncodeError: the payload holds what the wire does not carry.
        """
        arrays: List[np.ndarray] = []
        make = _make_of(kind, payload, arrays)
        known = None
        if make is not None and seq < _WHOLE:
            known = self._known.get(make)
            if known is None:
                known = self._learn(make, kind, payload, arrays)
        if known is None:
            return Message(kind, payload, seq).parts(self._memory)
        if "step" in payload:
            numbers = _STEP_TAIL.pack(_STEP, payload["step"], _SEQ, seq, _TIMESTAMP, time.time())
        else:
            numbers = _PLAIN_TAIL.pack(_SEQ, seq, _TIMESTAMP, time.time())
        return _filled(known, numbers, arrays)

    def close(self) -> None:
        """Let go of the shared memory."""
        self._known.clear()
        self._memory = None

    def _learn(
        self, make: Hashable, kind: str, payload: Mapping[str, Any], arrays: List[np.ndarray]
    ) -> Optional[_Outgoing]:
        """Return how messages of this make are packed, None where they cannot be packed so."""
        if not all(map(_has_plain_bytes, arrays)):
            return None
        top = _WHOLE - 1
        last = {"step": top} if "step" in payload else {}
        alike = {key: value for key, value in payload.items() if key != "step"}
        packed, bodies = codec.pack_apart(
            {"type": kind, "payload": {**alike, **last}, "seq": top, "timestamp": float(top)}
        )
        if len(packed) > MAX_MAP_BYTES:
            return None
        tail = _STEP_TAIL if last else _PLAIN_TAIL
        places = None
        if self._memory is not None and bodies.size <= len(self._memory):
            places = tuple(
                np.ndarray(array.shape, array.dtype, self._memory, at) for array, at in zip(arrays, bodies.places)
            )
        ends = [at + array.nbytes for array, at in zip(arrays, bodies.places)]
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[make] = _Outgoing(
            HEAD.pack(MARK, INLINE if places is None else SHARED, 0, len(packed), bodies.size) + packed[: -tail.size],
            bytes(padding(HEAD.size + len(packed))) if places is None else b"",
            (*(bytes(at - end) for end, at in zip(ends, bodies.places[1:])), b""),
            places,
            bodies.size < envelope.LEAST_BODY,
        )
        return self._known[make]


def _has_plain_bytes(array: np.ndarray) -> bool:
    return bool(array.size and array.ndim and array.dtype.isnative and array.dtype.char in _CASTABLE)


def _make_of(kind: str, payload: Mapping[str, Any], arrays: List[np.ndarray]) -> Optional[Hashable]:
    """Return what decides all of a message's map but its numbers, and put its arrays into ``arrays``, in order.

    None where it holds anything but arrays, texts and maps of arrays beside its step, or no array at all.
    """
    make: List[Hashable] = [kind]
    for name, value in payload.items():
        what = type(value)
        if what is np.ndarray:
            make += (name, value.dtype, value.shape)
            arrays.append(value)
        elif what is str:
            make += (name, value)
        elif what is dict:
            make += (name, len(value))
            for key, array in value.items():
                if type(array) is not np.ndarray:
                    return None
                make += (key, array.dtype, array.shape)
                arrays.append(array)
        elif name == "step" and what is int and 0 <= value < _WHOLE:
            make.append(name)
        else:
            return None
    return tuple(make) if arrays else None


def _filled(known: _Outgoing, numbers: bytes, arrays: List[np.ndarray]) -> Frame:
    if known.places is not None:
        for place, array in zip(known.places, arrays):
            place[...] = array
        return known.begin + numbers
    parts: List[Union[bytes, memoryview]] = [known.begin + numbers + known.end]
    for gap, array in zip(known.gaps, arrays):
        parts.append((array if array.flags.c_contiguous else array.copy()).data.cast("B"))
        if gap:
            parts.append(gap)
    return b"".join(parts) if known.small else parts


class _Incoming(NamedTuple):
    """What messages are whose maps begin alike.

    Attributes:
        kind: Type of the message.
        size: Bytes of the bodies.
        entries: Of the payload, but for the step: (name, text), (name, array) or (name, {key: array}), where an
            array is (dtype, shape, place).
        step: Whether the payload ends with one.
    """

    kind: str
    size: int
    entries: List[Tuple[str, Any]]
    step: bool


class Reader:
    """Reads the messages of one connection.

    Attributes:
        memory: Shared with the sender; None: a frame that points into it is refused.
    """

    def __init__(self) -> None:
        self.memory: Optional[memoryview] = None
        self._known: Dict[bytes, _Incoming] = {}
        self._last = b""

    def read(self, frame: Any) -> Read:
        """Return what `Message.unpack` would return.

        Raises:
            DecodeError: as there.
        """
        split = _split(frame)
        if split is None:
            message = Message.unpack(frame, self.memory)
            return message.type, dict(message.payload), message.seq
        begin, (step, seq, _), size, at, length = split
        known = self._known.get(begin)
        if known is None or known.size != size or known.step is (step is None) or len(frame) != length:
            return self._read_slowly(frame, split)
        if at >= 0:
            body = frame.toreadonly()
        else:
            body, at = envelope.copied(self.memory, size), 0
        payload = _payload(known.entries, body, at)
        if step is not None:
            payload["step"] = step
        return known.kind, payload, seq

    def _read_slowly(self, frame: memoryview, split: Split) -> Read:
        message = Message.unpack(frame, self.memory)
        begin, numbers, size, _, _ = split
        # Whoever sends two alike will send more.
        if begin == self._last:
            found = _learned(begin, numbers, size)
            if found is not None:
                if len(self._known) >= KEPT:
                    self._known.clear()
                self._known[begin] = found
        self._last = begin
        return message.type, dict(message.payload), message.seq


def _split(frame: Any) -> Optional[Split]:
    """Return the parts of a frame whose map may end with numbers, None for any other."""
    if type(frame) is not memoryview or len(frame) < HEAD.size + _STEP_TAIL.size or frame[0] != MARK:
        return None
    _, place, reserved, map_size, size = HEAD.unpack_from(frame)
    end = HEAD.size + map_size
    if reserved or not _STEP_TAIL.size <= map_size <= MAX_MAP_BYTES or end > len(frame):
        return None
    name, step, seq_name, seq, time_name, timestamp = _STEP_TAIL.unpack_from(frame, end - _STEP_TAIL.size)
    if seq_name != _SEQ or time_name != _TIMESTAMP:
        return None
    tail = _STEP_TAIL if name == _STEP else _PLAIN_TAIL
    numbers = (step if name == _STEP else None, seq, timestamp)
    begin = bytes(frame[HEAD.size : end - tail.size])
    if place == INLINE:
        at = end + padding(end)
        return begin, numbers, size, at, at + size
    return (begin, numbers, size, -1, end) if place == SHARED else None


def _payload(entries: List[Tuple[str, Any]], body: memoryview, begin: int) -> Dict[str, Any]:
    payload: Dict[str, Any] = {}
    for name, what in entries:
        if type(what) is tuple:
            dtype, shape, at = what
            payload[name] = np.ndarray(shape, dtype, body, begin + at)
        elif type(what) is dict:
            payload[name] = {
                key: np.ndarray(shape, dtype, body, begin + at) for key, (dtype, shape, at) in what.items()
            }
        else:
            payload[name] = what
    return payload


def _learned(begin: bytes, numbers: Numbers, size: int) -> Optional[_Incoming]:
    """Return what a map that begins so is, None where it holds more than patterns do.

    Args:
        begin: The map until its numbers; a map that was read without an error.
        numbers: Those behind it.
        size: Bytes of its bodies, which held all of its arrays.
    """
    # That bytes stand where the numbers are does not make them these numbers: two maps must differ in nothing else.
    one = _opened(begin, numbers)
    other = _opened(begin, tuple(None if number is None else number + 1 for number in numbers))  # type: ignore[arg-type]
    if one is None or other is None or one != other:
        return None
    entries: List[Tuple[str, Any]] = []
    for name, value in one["payload"].items():
        what = _entry(value)
        if what is None:
            return None
        entries.append((name, what))
    return _Incoming(one["type"], size, entries, numbers[0] is not None)


def _opened(begin: bytes, numbers: Numbers) -> Optional[Dict[str, Any]]:
    """Return the bare map of these numbers without them, None where they are not in it."""
    step, seq, timestamp = numbers
    end = _PLAIN_TAIL.pack(_SEQ, seq % _WHOLE, _TIMESTAMP, timestamp)
    if step is not None:
        end = _STEP_TAIL.pack(_STEP, step % _WHOLE, _SEQ, seq % _WHOLE, _TIMESTAMP, timestamp)
    raw = codec.unpack_map(begin + end)
    if raw.pop("seq", None) != seq % _WHOLE or raw.pop("timestamp", None) != timestamp:
        return None
    if step is not None and raw["payload"].pop("step", None) != step % _WHOLE:
        return None
    found: Dict[str, Any] = raw
    return found


def _entry(value: Any) -> Any:
    """Return an entry's text, array or map of arrays; None where it is something else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    if "__ndarray__" in value:
        return _array(value)
    arrays = {key: _array(item) for key, item in value.items()}
    return None if None in arrays.values() else arrays


def _array(value: Any) -> Optional[Tuple[Any, Tuple[int, ...], int]]:
    if not isinstance(value, dict) or set(value) != {"__ndarray__", "dtype", "shape", "at"}:
        return None
    dtype = codec.carried_dtype(value["dtype"])
    # A byte of an array of bool must be looked at each time.
    if dtype is None or dtype.kind == "b" or 0 in value["shape"] or not value["shape"]:
        return None
    return dtype, tuple(value["shape"]), value["at"]
