"""Array bodies outside the map: what two ends of ours agree on in HELLO (`out_of_band`, `shared_memory`).

```
byte 0       0xC1, which begins no MessagePack value, so that no frame of the plain form is taken for one
byte 1       0: the bodies follow in this frame; 1: they lie in the memory that both ends share
bytes 2-3    0
bytes 4-7    length of the map, little-endian
bytes 8-11   length of the bodies, little-endian
then the map, zeros up to a multiple of 64, and the bodies, each at a multiple of 64
```

An array in the map says ``"at"``, where its body begins, instead of ``"data"``. The sender hands its own
arrays to the socket, the receiver's arrays are views of what the socket wrote, and nobody copies in between.
"""

from __future__ import annotations

import struct
from typing import List, Optional, Tuple, Union

import numpy as np

from vlassess_link.errors import DecodeError

Buffer = Union[bytes, memoryview]
Parts = List[Buffer]

LEAST_BODY = 2048
"""Fewer bytes than this stay in the map, where they are cheaper."""
ALIGNMENT = 64

HEAD = struct.Struct("<BBHII")
MARK = 0xC1
INLINE, SHARED = 0, 1
_ZEROS = bytes(ALIGNMENT)


class Bodies:
    """Bodies of one frame in the making.

    Attributes:
        size: Bytes so far, the last one's padding not counted.
        places: Where each of them will be.
    """

    def __init__(self) -> None:
        self.size = 0
        self.places: List[int] = []
        self._parts: Parts = []

    def add(self, body: Buffer) -> int:
        """Keep a body for this frame and return where it will be."""
        gap = padding(self.size)
        if gap:
            self._parts.append(_ZEROS[:gap])
        at = self.size + gap
        self._parts.append(body)
        self.places.append(at)
        self.size = at + len(body)
        return at

    @property
    def parts(self) -> Parts:
        """The bodies and the gaps between them."""
        return self._parts

    def write(self, memory: memoryview) -> None:
        """Copy them into memory that is long enough."""
        at = 0
        for part in self._parts:
            memory[at : at + len(part)] = part
            at += len(part)


def close(packed: bytes, bodies: Bodies, memory: Optional[memoryview]) -> Parts:
    """Return the frame of a map and its bodies, as buffers; the map alone where it has no bodies."""
    if not bodies.size:
        return [packed]
    if memory is not None and bodies.size <= len(memory):
        bodies.write(memory)
        return [HEAD.pack(MARK, SHARED, 0, len(packed), bodies.size) + packed]
    gap = padding(HEAD.size + len(packed))
    head = HEAD.pack(MARK, INLINE, 0, len(packed), bodies.size) + packed + _ZEROS[:gap]
    return [head, *bodies.parts]


def padding(size: int) -> int:
    """Return how many bytes are missing to the next place where a body may begin."""
    return -size % ALIGNMENT


def open_frame(frame: Buffer, memory: Optional[memoryview]) -> Tuple[Buffer, Optional[memoryview]]:
    """Return a frame's map and its bodies, which are None where it has none; both read-only.

    Raises:
        DecodeError: the lengths do not fit, or there is no shared memory.
    """
    if len(frame) == 0 or frame[0] != MARK:
        return frame, None
    if len(frame) < HEAD.size:
        raise DecodeError(f"the frame of {len(frame)} bytes is too short for its head")
    _, place, reserved, map_size, size = HEAD.unpack_from(frame)
    if reserved or place not in (INLINE, SHARED):
        raise DecodeError(f"the frame puts its arrays at place {place}/{reserved}, which this version does not know")
    view = memoryview(frame).toreadonly()
    end = HEAD.size + map_size
    begin = end + (padding(end) if place == INLINE else 0)
    if len(view) != begin + (size if place == INLINE else 0):
        raise DecodeError(f"the frame has {len(view)} bytes; its head says {map_size} of a map and {size} of arrays")
    if place == INLINE:
        return view[HEAD.size : end], view[begin:]
    return view[HEAD.size :], copied(memory, size)


def copied(memory: Optional[memoryview], size: int) -> memoryview:
    """Return so many bytes of shared memory, read-only and of the receiver's own.

    Raises:
        DecodeError: there are not so many.
    """
    if memory is None or size > len(memory):
        raise DecodeError(f"the frame points at {size} bytes of shared memory; {len(memory or b'')} are shared")
    # The sender writes its next arrays there, while the model may still remember these.
    own = np.empty(size, np.uint8)
    own.data[:] = memory[:size]
    return own.data.toreadonly()
