"""openpi's frames: MessagePack with numpy arrays as maps with byte-string keys. Pure functions.

The first frame of a connection is the server's: a map of metadata. Then each binary frame from the client is an
observation, and each from the server an action map. A text frame from the server is a traceback, and the end.

Three ways to write an array in MessagePack are in use among openpi's clients and servers, and all are read:

| written by | array | scalar |
|---|---|---|
| openpi-client | ``b"__ndarray__"``, ``b"data"``, ``b"dtype"``, ``b"shape"`` | ``b"__npgeneric__"``, data, dtype |
| others of its kind | the same as texts, ``"__ndarray__"`` ... | ``"__npgeneric__"`` ... |
| msgpack-numpy | ``b"nd"`` true, ``b"type"``, ``b"kind"``, ``b"shape"``, ``b"data"`` | ``b"nd"`` false, type, data |

The first is what is sent. Object arrays, for which msgpack-numpy would unpickle, are refused, as is whatever
else the default dialect refuses; its bounds hold here too.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

import msgpack
import numpy as np

from vlassess_link.errors import DecodeError, EncodeError
from vlassess_link.wire.codec import (
    MAX_DEPTH,
    MAX_FRAME_BYTES,
    MAX_MEMBERS,
    Path,
    check_array,
    decode_array,
    named,
    unpack_map,
)
from vlassess_link.wire.sockets import Buffer

_MARKS = ("__ndarray__", "__npgeneric__", "nd")


def pack(message: Mapping[str, Any]) -> bytes:
    """Return the frame of a map of arrays, numpy scalars, numbers, texts, None, lists and text-keyed maps of these.

    Raises:
        EncodeError: a value is of another type, or a limit is passed; names the leaf's path.
    """
    try:
        frame: bytes = msgpack.packb(_encode(message, "observation", 0))
    except (ValueError, OverflowError) as error:
        raise EncodeError(f"the observation cannot be packed: {error}") from None
    if len(frame) > MAX_FRAME_BYTES:
        raise EncodeError(f"the observation has {len(frame)} bytes; a frame has at most {MAX_FRAME_BYTES}")
    return frame


def unpack(frame: Buffer) -> Dict[str, Any]:
    """Return the map of a frame; its keys are texts, its arrays read-only.

    Raises:
        DecodeError: the bytes are no map, or a limit is passed; names the leaf's path.
    """
    if len(frame) > MAX_FRAME_BYTES:
        raise DecodeError(f"the frame has {len(frame)} bytes; a frame has at most {MAX_FRAME_BYTES}")
    message = _decode(unpack_map(bytes(frame)), "frame", 0)
    if not isinstance(message, dict):
        raise DecodeError(f"the frame is a {type(message).__name__}; openpi's frames are maps")
    return message


def _encode(value: Any, path: Path, depth: int) -> Any:
    if isinstance(value, np.generic):
        check_array(value, path)
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    if isinstance(value, np.ndarray):
        check_array(value, path)
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if depth >= MAX_DEPTH or not isinstance(value, (Mapping, list, tuple)) or len(value) > MAX_MEMBERS:
        raise EncodeError(f"{named(path)} is of type {type(value).__name__}, nested too deep or too long to be sent")
    if not isinstance(value, Mapping):
        return [_encode(item, (path, i), depth + 1) for i, item in enumerate(value)]
    for key in value:
        if not isinstance(key, str) or key in _MARKS:
            raise EncodeError(f"{named(path)} has the key {key!r}; keys must be texts other than {', '.join(_MARKS)}")
    return {key: _encode(item, (path, key), depth + 1) for key, item in value.items()}


def _decode(value: Any, path: Path, depth: int) -> Any:
    if isinstance(value, (dict, list)) and depth > MAX_DEPTH:
        raise DecodeError(f"{named(path)} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, list):
        return [_decode(item, (path, i), depth + 1) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        if value is None or isinstance(value, (bool, int, float, str, bytes)):
            return value
        raise DecodeError(f"{named(path)} is of type {type(value).__name__}")
    texts = {_text(key, path): item for key, item in value.items()}
    if "__ndarray__" in texts:
        return decode_array(texts.get("data"), _name(texts.get("dtype")), texts.get("shape"), path)
    if "__npgeneric__" in texts:
        return _scalar(texts.get("data"), _name(texts.get("dtype")), path)
    if "nd" in texts and "type" in texts:
        return _array_of_msgpack_numpy(texts, path)
    return {key: _decode(item, (path, key), depth + 1) for key, item in texts.items()}


def _array_of_msgpack_numpy(texts: Mapping[str, Any], path: Path) -> Any:
    if _name(texts.get("kind") or b"") != "":
        raise DecodeError(f"{named(path)} is an array of objects or records; only bool, int, uint and float are read")
    if texts["nd"] is True:
        return decode_array(texts.get("data"), _name(texts["type"]), texts.get("shape"), path)
    return decode_array(texts.get("data"), _name(texts["type"]), [], path)[()]


def _scalar(value: Any, name: Any, path: Path) -> Any:
    dtype = decode_array(bytes(8), name, [0], path, whole=False).dtype
    if not isinstance(value, (bool, int) if dtype.kind in "biu" else (int, float)):
        raise DecodeError(f"{named(path)} is a numpy scalar of type {type(value).__name__}")
    try:
        with np.errstate(all="raise"):
            return dtype.type(value)
    except (ValueError, OverflowError, FloatingPointError) as error:
        raise DecodeError(f"{named(path)} is no {name}: {error}") from None


def _text(key: Any, path: Path) -> str:
    text = _name(key)
    if not isinstance(text, str):
        raise DecodeError(f"{named(path)} has a key that is no text")
    return text


def _name(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value
