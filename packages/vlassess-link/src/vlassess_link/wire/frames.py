"""Frames of a websocket as bytes (RFC 6455): their heads, their masks and their goodbyes. No sockets here."""

from __future__ import annotations

import struct
from typing import NamedTuple, Optional, Sequence

import numpy as np
from websockets.frames import Close

from vlassess_link.wire.sockets import Buffer

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
NORMAL, GOING_AWAY, PROTOCOL_ERROR, BAD_TEXT, TOO_BIG = 1000, 1001, 1002, 1007, 1009
NO_MASK = bytes(4)

_CONTROL_BYTES = 125
_WHOLE_BINARY = 0x80 | BINARY
_TWO_BYTES, _EIGHT_BYTES = struct.Struct("!H"), struct.Struct("!Q")
_SMALL_HEAD, _MIDDLE_HEAD, _LARGE_HEAD = struct.Struct("!BB"), struct.Struct("!BBH"), struct.Struct("!BBQ")


class Broken(Exception):
    """What came is no websocket frame, or one too large."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Head(NamedTuple):
    """What a frame says of itself.

    Attributes:
        final: Whether its message ends with it.
        opcode: What it is.
        length: Bytes of its payload.
        mask: What these are masked with.
        size: Bytes of the head itself.
    """

    final: bool
    opcode: int
    length: int
    mask: bytes
    size: int


def head(opcode: int, length: int, masked: bool) -> bytes:
    """Return the head of a frame that is a whole message; where it is ``masked`` the mask goes behind it."""
    bit = 0x80 if masked else 0
    if length <= _CONTROL_BYTES:
        return _SMALL_HEAD.pack(0x80 | opcode, bit | length)
    if length < 2**16:
        return _MIDDLE_HEAD.pack(0x80 | opcode, bit | 126, length)
    return _LARGE_HEAD.pack(0x80 | opcode, bit | 127, length)


def parse_head(data: bytearray, begin: int, end: int, masked: bool, max_size: int) -> Optional[Head]:
    """Return the head that begins at ``begin``, None while it is not whole.

    Args:
        data: What was received.
        begin: Where to look.
        end: Where it ends.
        masked: Whether the peer must mask.
        max_size: Most bytes of a payload.

    Raises:
        Broken: there is no head.
    """
    there = end - begin
    if there < 2:
        return None
    first, second = data[begin], data[begin + 1]
    length, size = second & 0x7F, 2
    if length > _CONTROL_BYTES:
        form, size = (_TWO_BYTES, 4) if length == 126 else (_EIGHT_BYTES, 10)
        if there < size:
            return None
        (length,) = form.unpack_from(data, begin + 2)
    has_mask = second >= 0x80
    if there < size + 4 * has_mask:
        return None
    if first != _WHOLE_BINARY or has_mask != masked or length > max_size:
        _check(first, has_mask, length, masked, max_size)
    if not has_mask:
        return Head(first >= 0x80, first & 0x0F, length, NO_MASK, size)
    mask = bytes(data[begin + size : begin + size + 4])
    return Head(first >= 0x80, first & 0x0F, length, mask, size + 4)


def _check(first: int, has_mask: bool, length: int, masked: bool, max_size: int) -> None:
    opcode = first & 0x0F
    if first & 0x70 or opcode not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG):
        raise Broken(PROTOCOL_ERROR, f"a frame of the unknown kind {first:#04x}")
    if has_mask != masked:
        raise Broken(PROTOCOL_ERROR, "a masked frame" if has_mask else "a frame without a mask")
    if opcode >= CLOSE and (length > _CONTROL_BYTES or not first & 0x80):
        raise Broken(PROTOCOL_ERROR, "a control frame in parts, or too long")
    if length > max_size:
        raise Broken(TOO_BIG, f"more than {max_size} bytes in one message")


def masked(parts: Sequence[Buffer], mask: bytes) -> memoryview:
    """Return buffers as one, masked."""
    payload = np.frombuffer(bytearray().join(parts), np.uint8)
    apply_mask(payload, mask)
    return payload.data


def apply_mask(payload: np.ndarray, mask: bytes) -> None:
    """XOR in place, a machine word at a time."""
    whole = len(payload) // 8 * 8
    words = payload[:whole].view(np.uint64)
    words ^= np.frombuffer(mask * 2, np.uint64)[0]
    payload[whole:] ^= np.frombuffer((mask * 2)[: len(payload) - whole], np.uint8)


def parse_goodbye(payload: memoryview) -> Close:
    """Return what a goodbye says; one that says what it must not has the code `PROTOCOL_ERROR`."""
    try:
        str(payload[2:], "utf-8")
    except UnicodeDecodeError:
        return Close(PROTOCOL_ERROR, "")
    if len(payload) == 1 or (len(payload) and int.from_bytes(payload[:2], "big") < NORMAL):
        return Close(PROTOCOL_ERROR, "")
    goodbye: Close = Close.parse(bytes(payload))
    return goodbye


def is_sendable(code: int) -> bool:
    """Return whether a goodbye may be sent with this code."""
    return code in (NORMAL, GOING_AWAY) or 3000 <= code < 5000
