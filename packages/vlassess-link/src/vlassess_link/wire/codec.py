"""Messages to bytes and back: pure functions, no state, nothing is unpickled.

The format is MessagePack maps with arrays as ``{"__ndarray__": true, "data", "dtype", "shape"}``, which is
what vla-eval's protocol 1 reads and writes. Its maps for raw, PNG and JPEG images are understood too. We send
plain arrays, images included, unless told otherwise: every peer reads them and neither side encodes a picture.

Between two ends of ours the bodies of arrays lie behind the map instead, in the frame or in memory that both
share (see `envelope`), so that nobody copies them to pack or to unpack.

What cannot be carried exactly is refused by the sender, with the path of the leaf, since only the sender's
author can mend it. What is received is bounded before it is believed: bytes, depth, members, nodes, pixels.

Numpy scalars travel as 0-d arrays with one further key, ``"scalar"``: both their type and their
being a scalar survive between two ends of ours, and a peer that does not know the key sees a 0-d array.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping as AnyMapping
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import msgpack
import numpy as np

from vlassess_link.errors import DecodeError, EncodeError
from vlassess_link.wire import envelope, images
from vlassess_link.wire.envelope import Bodies, Buffer, Parts

MAX_FRAME_BYTES = 256 * 2**20
"""Largest frame that is sent or read: a query of 80 float32 images of 512x512. All encoded images of a frame
together may decode to as much again."""
MAX_DEPTH = 24
"""Deepest nesting of maps and lists."""
MAX_MEMBERS = 8192
"""Most members of one list or map; longer runs of numbers belong into an array."""
MAX_NODES = 200_000
"""Most list members and map entries in one frame: a byte on the wire can be 70 in memory."""
MAX_DIMENSIONS = 16

Frame = Union[bytes, Parts]
"""What a connection sends: one buffer, or several that belong one after the other."""

_ARRAY = "__ndarray__"
_IMAGE = "__image__"
_SCALAR = "scalar"
_AT = "at"
RESERVED_KEYS = (_ARRAY, _IMAGE)
"""Keys that mark encoded arrays; a message of ours may not use them."""

_DTYPE = re.compile(r"[<>|=]?[biuf][1248]")
_PLAIN = (bool, float, bytes)
_CARRIED = (str, int, *_PLAIN)

Path = Union[str, Tuple["Path", Union[str, int]]]
"""Where a value is: a name, or (path of what holds it, key or index); put into words only for an error."""


def pack(message: Mapping[str, Any], form: str = "raw") -> bytes:
    """Return the frame of a message, arrays inside the map, as every peer reads it.

    Values may be None, bool, int (64 bit), float, str, bytes, numpy arrays and scalars of kinds b, i, u, f
    up to 8 bytes an item, and lists, tuples and str-keyed mappings of these.

    Args:
        message: To send.
        form: How images go, one of `images.FORMATS`. "jpeg" changes pixels.

    Raises:
        EncodeError: a value is of another type, or a limit is passed; names the leaf's path.
    """
    frame = _packb(_Encoder(form).encode(message, "message", 0))
    _require_size(len(frame))
    return frame


def pack_parts(message: Mapping[str, Any], memory: Optional[memoryview] = None) -> Frame:
    """Return the frame of a message: one buffer, or several in a row, with array bodies uncopied.

    Args:
        message: To send; must not be changed until the buffers are sent.
        memory: Shared with the receiver: bodies are copied there instead, where they fit.

    Raises:
        EncodeError: as `pack`.
    """
    bodies = Bodies()
    packed = _packb(_Encoder("raw", bodies).encode(message, "message", 0))
    _require_size(len(packed) + bodies.size)
    parts = envelope.close(packed, bodies, memory)
    return parts if len(parts) > 1 else bytes(parts[0])


def pack_apart(message: Mapping[str, Any]) -> Tuple[bytes, Bodies]:
    """Return the packed map of a message and, apart, the body of every array that it holds, however small.

    Raises:
        EncodeError: as `pack`.
    """
    bodies = Bodies()
    packed = _packb(_Encoder("raw", bodies, least=0).encode(message, "message", 0))
    _require_size(len(packed) + bodies.size)
    return packed, bodies


def unpack(frame: Buffer, memory: Optional[memoryview] = None) -> Dict[str, Any]:
    """Return the message of a frame.

    Arrays are read-only views of the received bytes: nothing is copied (but out of shared memory, which the
    sender goes on to use), and whoever wants to write calls ``.copy()``. Byte order, dtype and shape are as
    sent; lists come back as lists, never as tuples.

    Args:
        frame: As received.
        memory: Shared with the sender; None: a frame that points into it is refused.

    Raises:
        DecodeError: the bytes are no message, or a limit is passed; names the leaf's path.
    """
    if len(frame) > MAX_FRAME_BYTES:
        raise DecodeError(f"the frame has {len(frame)} bytes; a frame has at most {MAX_FRAME_BYTES}")
    packed, body = envelope.open_frame(frame, memory)
    raw = unpack_map(packed)
    if not isinstance(raw, dict) or any(key in raw for key in RESERVED_KEYS):
        raise DecodeError("the frame is no message: its outermost value must be a map with 'type' and 'payload'")
    message: Dict[str, Any] = _Decoder(body).decode(raw, "message", 0)
    return message


def unpack_map(packed: Buffer) -> Any:
    """Return the bare MessagePack value of a frame of any dialect, bounded in members.

    Raises:
        DecodeError: the bytes are no MessagePack, or a limit is passed.
    """
    budget = _Budget()
    try:
        return msgpack.unpackb(
            packed,
            raw=False,
            object_hook=budget.spend,
            list_hook=budget.spend,
            ext_hook=_refuse_extension,
            max_array_len=MAX_MEMBERS,
            max_map_len=MAX_MEMBERS,
        )
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError, TypeError, OverflowError) as error:
        raise DecodeError(
            f"the frame of {len(packed)} bytes is no message: {str(error) or type(error).__name__}"
        ) from None


def _packb(encoded: Any) -> bytes:
    packed: bytes = msgpack.packb(encoded, use_bin_type=True)
    return packed


def _require_size(size: int) -> None:
    if size > MAX_FRAME_BYTES:
        raise EncodeError(f"the message has {size} bytes; a frame has at most {MAX_FRAME_BYTES}: send less at once")


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


class _Encoder:
    """Turns values into what MessagePack carries; bodies of arrays go aside where there is a place for them."""

    def __init__(self, form: str, bodies: Optional[Bodies] = None, least: int = envelope.LEAST_BODY) -> None:
        self._form = form
        self._bodies = bodies
        self._least = least

    def encode(self, value: Any, path: Path, depth: int) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value, path)
        if isinstance(value, str):
            return _checked_text(value, path)
        if value is None or isinstance(value, _PLAIN):
            return value
        if isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise EncodeError(f"{named(path)} is {value}; an integer must fit into 64 bits")
            return value
        if not isinstance(value, (dict, list, tuple, AnyMapping)):
            name = type(value).__name__
            raise EncodeError(f"{named(path)} is of type {name}; send a number, text, array, list or map instead")
        if depth >= MAX_DEPTH:
            raise EncodeError(f"{named(path)} is nested deeper than {MAX_DEPTH} levels (or contains itself)")
        if len(value) > MAX_MEMBERS:
            problem = f"has {len(value)} members; at most {MAX_MEMBERS} are sent: make it an array"
            raise EncodeError(f"{named(path)} {problem}")
        if isinstance(value, (dict, AnyMapping)):
            return {_key(key, path): self.encode(item, (path, key), depth + 1) for key, item in value.items()}
        return [self.encode(item, (path, i), depth + 1) for i, item in enumerate(value)]

    def _array(self, value: Any, path: Path) -> Dict[str, Any]:
        check_array(value, path)
        if self._form != "raw" and images.is_image(value):
            data = images.encode(value, self._form, named(path))
            return {_IMAGE: True, "format": self._form, "data": data, "shape": list(value.shape)}
        whole = np.ascontiguousarray(value)
        body: Any = whole.reshape(-1).view(np.uint8).data if whole.size else b""
        encoded: Dict[str, Any] = {_ARRAY: True, "dtype": value.dtype.str, "shape": value.shape}
        if self._bodies is not None and whole.nbytes >= self._least:
            encoded[_AT] = self._bodies.add(body)
        else:
            encoded["data"] = body
        if isinstance(value, np.generic):
            encoded[_SCALAR] = True
        return encoded


def check_array(value: Any, path: Path) -> None:
    """Raise `EncodeError` where an array or numpy scalar is none that the wire carries."""
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        problem = f"is an array of dtype {value.dtype}; only bool, int, uint and float of at most 8 bytes are sent"
        raise EncodeError(f"{named(path)} {problem}")
    if isinstance(value, np.ma.MaskedArray):
        problem = "is a masked array; the mask would be lost: send filled() and the mask apart"
        raise EncodeError(f"{named(path)} {problem}")
    if value.ndim > MAX_DIMENSIONS:
        raise EncodeError(f"{named(path)} has {value.ndim} dimensions; at most {MAX_DIMENSIONS} are sent")


def named(path: Path) -> str:
    """Return a path as errors say it: ``message.images.front``."""
    steps: List[str] = []
    while isinstance(path, tuple):
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return (path + "".join(reversed(steps)))[:200]


def _key(key: Any, path: Path) -> str:
    if not isinstance(key, str):
        raise EncodeError(f"{named(path)} has the key {key!r} ({type(key).__name__}); keys must be str")
    if key in RESERVED_KEYS:
        problem = f"has the reserved key {key!r}, which marks encoded arrays: give it another name"
        raise EncodeError(f"{named(path)} {problem}")
    return _checked_text(key, path)


def _checked_text(text: str, path: Path) -> str:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            problem = f"is no valid Unicode text: {error.reason} at position {error.start}"
            raise EncodeError(f"{named(path)} {problem}") from None
    return str(text)


class _Decoder:
    """Turns what MessagePack carried into values; ``body`` holds what lies outside the map."""

    def __init__(self, body: Optional[memoryview]) -> None:
        self._body = body
        self._pixel_bytes = 0

    def decode(self, value: Any, path: Path, depth: int) -> Any:
        if isinstance(value, dict):
            if depth > MAX_DEPTH:
                raise DecodeError(f"{named(path)} is nested deeper than {MAX_DEPTH} levels")
            if _ARRAY in value:
                return self._array(value, path)
            if _IMAGE in value:
                return self._image(value, path)
            for key in value:
                if not isinstance(key, str):
                    raise DecodeError(f"{named(path)} has a key that is no text")
            return {key: self.decode(item, (path, key), depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            if depth > MAX_DEPTH:
                raise DecodeError(f"{named(path)} is nested deeper than {MAX_DEPTH} levels")
            return [self.decode(item, (path, i), depth + 1) for i, item in enumerate(value)]
        if value is None or isinstance(value, _CARRIED):
            return value
        raise DecodeError(f"{named(path)} is of type {type(value).__name__}")

    def _image(self, value: Mapping[str, Any], path: Path) -> Any:
        form, data = value.get("format"), value.get("data")
        if form == "raw":
            return decode_array(data, value.get("dtype", "|u1"), value.get("shape"), path)
        if form not in images.FORMATS:
            raise DecodeError(f"{named(path)} is an image of the unknown format {str(form)[:40]!r}")
        if not isinstance(data, bytes):
            raise DecodeError(f"{named(path)} is an image whose data are not bytes")
        shape = _shape(value.get("shape"), path)
        self._pixel_bytes += _product(shape)
        if self._pixel_bytes > MAX_FRAME_BYTES:
            raise DecodeError(f"{named(path)} is one image too much: a frame decodes to {MAX_FRAME_BYTES} bytes")
        return images.decode(data, str(form), list(shape), named(path))

    def _array(self, value: Mapping[str, Any], path: Path) -> Any:
        data = value.get("data")
        at = value.get(_AT)
        if at is not None:
            if self._body is None or type(at) is not int or not 0 <= at <= len(self._body):
                raise DecodeError(f"{named(path)} is an array at {str(at)[:40]} of a body that does not reach so far")
            data = self._body[at:]
        array = decode_array(data, value.get("dtype"), value.get("shape"), path, whole=at is None)
        return array[()] if array.ndim == 0 and value.get(_SCALAR) is True else array


def decode_array(data: Any, name: Any, shape: Any, path: Path, whole: bool = True) -> np.ndarray:
    """Return the array of received bytes: a read-only view of them.

    Args:
        data: Bytes, or a read-only memoryview.
        name: Of the dtype.
        shape: A list of sizes.
        path: Of the leaf, for the error.
        whole: Whether there may be no more bytes than the array needs.

    Raises:
        DecodeError: they are no array that the wire carries.
    """
    if not isinstance(data, (bytes, memoryview)):
        raise DecodeError(f"{named(path)} is an array whose data are not bytes")
    dtype = carried_dtype(name) if isinstance(name, str) else None
    if dtype is None:
        problem = f"is an array of dtype {str(name)[:40]!r}; only bool, int, uint and float are read"
        raise DecodeError(f"{named(path)} {problem}")
    sizes = _shape(shape, path)
    needed = dtype.itemsize * _product(sizes)
    if needed > len(data) or (whole and needed < len(data)):
        raise DecodeError(f"{named(path)} has {len(data)} bytes; shape {list(sizes)} of {name} needs {needed}")
    try:
        # A view of nothing has no address, so an empty array borrows that of one element.
        array = np.ndarray(sizes, dtype, data) if needed else np.frombuffer(bytes(8), dtype)[:0].reshape(sizes)
    except ValueError as error:
        raise DecodeError(f"{named(path)} is no array: {error}") from None
    if dtype.kind == "b" and array.size and int(array.view(np.uint8).max()) > 1:
        raise DecodeError(f"{named(path)} is an array of bool with a byte that is neither 0 nor 1")
    return array


@functools.lru_cache(maxsize=256)
def carried_dtype(name: str) -> Optional[np.dtype[Any]]:
    """Return the dtype of that name, None where it is none that the wire carries."""
    if not _DTYPE.fullmatch(name):
        return None
    try:
        return np.dtype(name)
    except TypeError:
        return None


def _shape(shape: Any, path: Path) -> Tuple[int, ...]:
    valid = isinstance(shape, (list, tuple)) and len(shape) <= MAX_DIMENSIONS
    for size in shape if valid else ():
        valid = valid and type(size) is int and 0 <= size < 2**63
    if not valid:
        raise DecodeError(f"{named(path)} is an array of the impossible shape {str(shape)[:80]}")
    return tuple(shape)


def _product(sizes: Tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count
