"""Messages to bytes and back: pure functions, no state, nothing is unpickled.

The format is MessagePack maps with arrays as ``{"__ndarray__": true, "data", "dtype", "shape"}``, which is
what vla-eval's protocol 1 reads and writes. Its map for a raw image is understood too. We always send plain
arrays, images included: every peer reads them and neither side has to encode a picture.

What cannot be carried exactly is refused by the sender, with the path of the leaf, since only the sender's
author can mend it. What is received is bounded before it is believed: bytes, depth, members and nodes.

Numpy scalars travel as 0-d arrays with one further key, ``"scalar"``: both their type and their
being a scalar survive between two ends of ours, and a peer that does not know the key sees a 0-d array.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping

import msgpack
import numpy as np

from vlassess_link.errors import DecodeError, EncodeError

MAX_FRAME_BYTES = 256 * 2**20
"""Largest frame that is sent or read: a query of 80 float32 images of 512x512."""
MAX_DEPTH = 24
"""Deepest nesting of maps and lists."""
MAX_MEMBERS = 8192
"""Most members of one list or map; longer runs of numbers belong into an array."""
MAX_NODES = 200_000
"""Most list members and map entries in one frame: a byte on the wire can be 70 in memory."""
MAX_DIMENSIONS = 16

_ARRAY = "__ndarray__"
_IMAGE = "__image__"
_SCALAR = "scalar"
RESERVED_KEYS = (_ARRAY, _IMAGE)
"""Keys that mark encoded arrays; a message of ours may not use them."""

_DTYPE = re.compile(r"[<>|=]?[biuf][1248]")
_PLAIN = (bool, float, str, bytes)


def pack(message: Mapping[str, Any]) -> bytes:
    """Return the frame of a message.

    Values may be None, bool, int (64 bit), float, str, bytes, numpy arrays and scalars of kinds b, i, u, f
    up to 8 bytes an item, and lists, tuples and str-keyed mappings of these.

    Raises:
        EncodeError: a value is of another type, or a limit is passed; names the leaf's path.
    """
    frame: bytes = msgpack.packb(_encode(message, "message", 0), use_bin_type=True)
    if len(frame) > MAX_FRAME_BYTES:
        raise EncodeError(
            f"the message has {len(frame)} bytes; a frame has at most {MAX_FRAME_BYTES}: send less at once"
        )
    return frame


def unpack(frame: bytes) -> Dict[str, Any]:
    """Return the message of a frame.

    Arrays are read-only views of the received bytes: nothing is copied, and whoever wants to write calls
    ``.copy()``. Byte order, dtype and shape are as sent; lists come back as lists, never as tuples.

    Raises:
        DecodeError: the bytes are no message, or a limit is passed; names the leaf's path.
    """
    if len(frame) > MAX_FRAME_BYTES:
        raise DecodeError(f"the frame has {len(frame)} bytes; a frame has at most {MAX_FRAME_BYTES}")
    budget = _Budget()
    try:
        raw = msgpack.unpackb(
            frame,
            raw=False,
            object_hook=budget.spend,
            list_hook=budget.spend,
            ext_hook=_refuse_extension,
            max_array_len=MAX_MEMBERS,
            max_map_len=MAX_MEMBERS,
        )
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError, TypeError, OverflowError) as error:
        raise DecodeError(f"the frame of {len(frame)} bytes is no message: {error or type(error).__name__}") from None
    if not isinstance(raw, dict) or any(key in raw for key in RESERVED_KEYS):
        raise DecodeError("the frame is no message: its outermost value must be a map with 'type' and 'payload'")
    message: Dict[str, Any] = _decode(raw, "message", 0)
    return message


class _Budget:
    """Counts what is unpacked while it is unpacked, so that a small frame cannot fill the memory."""

    def __init__(self) -> None:
        self._nodes = 0

    def spend(self, container: Any) -> Any:
        self._nodes += len(container) + 1
        if self._nodes > MAX_NODES:
            raise ValueError(f"more than {MAX_NODES} members")
        return container


def _refuse_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"MessagePack extension type {code} is not part of the protocol")


def _encode(value: Any, path: str, depth: int) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return _encode_array(value, path)
    if value is None or isinstance(value, _PLAIN):
        return _checked_text(value, path) if isinstance(value, str) else value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise EncodeError(f"{path} is {value}; an integer must fit into 64 bits")
        return value
    if not isinstance(value, (Mapping, list, tuple)):
        raise EncodeError(f"{path} is of type {type(value).__name__}; send a number, text, array, list or map instead")
    if depth >= MAX_DEPTH:
        raise EncodeError(f"{path} is nested deeper than {MAX_DEPTH} levels (or contains itself)")
    if len(value) > MAX_MEMBERS:
        raise EncodeError(f"{path} has {len(value)} members; at most {MAX_MEMBERS} are sent: make it an array")
    if isinstance(value, Mapping):
        return {_key(key, path): _encode(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
    return [_encode(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise EncodeError(f"{path} has the key {key!r} ({type(key).__name__}); keys must be str")
    if key in RESERVED_KEYS:
        raise EncodeError(f"{path} has the reserved key {key!r}, which marks encoded arrays: give it another name")
    return _checked_text(key, path)


def _checked_text(text: str, path: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodeError(f"{path} is no valid Unicode text: {error.reason} at position {error.start}") from None
    return str(text)


def _encode_array(value: Any, path: str) -> Dict[str, Any]:
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        raise EncodeError(
            f"{path} is an array of dtype {value.dtype}; only bool, int, uint and float of at most 8 bytes are sent"
        )
    if isinstance(value, np.ma.MaskedArray):
        raise EncodeError(f"{path} is a masked array; the mask would be lost: send filled() and the mask apart")
    if value.ndim > MAX_DIMENSIONS:
        raise EncodeError(f"{path} has {value.ndim} dimensions; at most {MAX_DIMENSIONS} are sent")
    whole = np.ascontiguousarray(value)
    encoded = {
        _ARRAY: True,
        "data": whole.reshape(-1).view(np.uint8).data if whole.size else b"",
        "dtype": value.dtype.str,
        "shape": list(value.shape),
    }
    if isinstance(value, np.generic):
        encoded[_SCALAR] = True
    return encoded


def _decode(value: Any, path: str, depth: int) -> Any:
    if isinstance(value, (dict, list)) and depth > MAX_DEPTH:
        raise DecodeError(f"{path[:200]} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if _ARRAY in value:
            return _decode_array(value, path)
        if _IMAGE in value:
            return _decode_image(value, path)
        _require(all(isinstance(key, str) for key in value), path, "has a key that is no text")
        return {key: _decode(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_decode(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    _require(value is None or isinstance(value, (*_PLAIN, int)), path, f"is of type {type(value).__name__}")
    return value


def _decode_image(value: Mapping[str, Any], path: str) -> Any:
    form = value.get("format")
    if form in ("png", "jpeg"):
        raise DecodeError(
            f"{path} is a {str(form).upper()} image; this version of vlassess-link reads raw images only, PNG and JPEG "
            "come with another: let the sender use raw images"
        )
    _require(form == "raw", path, f"is an image of the unknown format {form!r}")
    return _decode_array({"dtype": "|u1", **value}, path)


def _decode_array(value: Mapping[str, Any], path: str) -> Any:
    data, name, shape = value.get("data"), value.get("dtype"), value.get("shape")
    _require(isinstance(data, bytes), path, "is an array whose data are not bytes")
    if not isinstance(name, str) or not _DTYPE.fullmatch(name):
        raise DecodeError(f"{path} is an array of dtype {str(name)[:40]!r}; only bool, int, uint and float are read")
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise DecodeError(f"{path} is an array of the unknown dtype {name!r}") from None
    sizes = _shape(shape, path)
    count = 1
    for size in sizes:
        count *= size
    if count * dtype.itemsize != len(data or b""):
        raise DecodeError(
            f"{path} has {len(data or b'')} bytes; shape {sizes} of {name} needs {count * dtype.itemsize}"
        )
    try:
        array = np.frombuffer(data or bytes(dtype.itemsize), dtype=dtype)[:count].reshape(sizes)
    except ValueError as error:
        raise DecodeError(f"{path} is no array: {error}") from None
    if dtype.kind == "b" and array.size and int(array.view(np.uint8).max()) > 1:
        raise DecodeError(f"{path} is an array of bool with a byte that is neither 0 nor 1")
    return array[()] if value.get(_SCALAR) is True and not sizes else array


def _shape(shape: Any, path: str) -> List[int]:
    valid = isinstance(shape, list) and all(type(size) is int and 0 <= size < 2**63 for size in shape)
    _require(valid and len(shape) <= MAX_DIMENSIONS, path, f"is an array of the impossible shape {str(shape)[:80]}")
    return list(shape)


def _require(holds: bool, path: str, problem: str) -> None:
    if not holds:
        raise DecodeError(f"{path[:200]} {problem}")
