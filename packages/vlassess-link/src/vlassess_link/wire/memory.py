"""Memory that a client and a server on one host share, so that an image is copied and never sent.

The client makes it (`SharedMemory`), without a name in any file system, and tells the server in HELLO under
which of its descriptors it lies. The server opens that through ``/proc``, which works for the same user in the
same process namespace and for nobody else; where it fails, arrays travel in frames. So there is nothing to
clean up, whichever end is killed and whenever: the system takes the memory back with the last of the two.

The client cannot harm the server with it: the server maps it for reading only, its size is sealed (a mapping
that shrinks would kill whoever reads it), and a nonce inside proves that the client means this memory. What the
server reads there, it copies first and checks afterwards.
"""

from __future__ import annotations

import fcntl
import hmac
import mmap
import os
import secrets
import stat
from typing import Any, Dict, Mapping, Optional

SIZE = 64 * 2**20
"""Bytes that one connection shares; only those that were written take memory."""

_NAME = "vlassess"
_NONCE_BYTES = 16
_HEAD_BYTES = 64
# fcntl has names for these since Python 3.9.
_ADD_SEALS, _GET_SEALS = 1033, 1034
_SEALS = 0x0001 | 0x0002 | 0x0004  # seal, shrink, grow


class SharedMemory:
    """The client's end.

    Attributes:
        view: The memory, writable.
        offer: What the server must be told.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self._map = mmap.mmap(descriptor, _HEAD_BYTES + size)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        self._map[:_NONCE_BYTES] = nonce
        self._whole = memoryview(self._map)
        self.view = self._whole[_HEAD_BYTES:]
        self.offer: Dict[str, Any] = {"pid": os.getpid(), "descriptor": descriptor, "size": size, "nonce": nonce}

    def forget_descriptor(self) -> None:
        """Close the descriptor, once the server has opened its own or refused."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def close(self) -> None:
        """Give the memory back."""
        self.forget_descriptor()
        self.view.release()
        self._whole.release()
        self._map.close()


def share(size: int = SIZE) -> Optional[SharedMemory]:
    """Return new memory to share, None where the system has no such thing or grants none."""
    try:
        descriptor = os.memfd_create(_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except (AttributeError, OSError):
        return None
    try:
        os.ftruncate(descriptor, _HEAD_BYTES + size)
        fcntl.fcntl(descriptor, _ADD_SEALS, _SEALS)
        return SharedMemory(descriptor, size)
    except (OSError, ValueError):
        os.close(descriptor)
        return None


def attach(offer: Any, limit: int) -> Optional[memoryview]:
    """Return the memory that a client offers, read-only, None where it cannot be had from here.

    Args:
        offer: As received; anything.
        limit: Most bytes that are mapped.
    """
    if not isinstance(offer, Mapping):
        return None
    pid, number, size, nonce = (offer.get(key) for key in ("pid", "descriptor", "size", "nonce"))
    numbers = all(type(value) is int and 0 <= value < 2**31 for value in (pid, number, size))
    if not numbers or not isinstance(nonce, bytes) or len(nonce) != _NONCE_BYTES or not 0 < int(str(size)) <= limit:
        return None
    path = f"/proc/{pid}/fd/{number}"
    try:
        if not os.readlink(path).startswith(f"/memfd:{_NAME}"):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return _mapped(descriptor, int(str(size)), nonce)
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def _mapped(descriptor: int, size: int, nonce: bytes) -> Optional[memoryview]:
    status = os.fstat(descriptor)
    sealed = fcntl.fcntl(descriptor, _GET_SEALS) & _SEALS == _SEALS
    if not stat.S_ISREG(status.st_mode) or status.st_size != _HEAD_BYTES + size or not sealed:
        return None
    mapped = mmap.mmap(descriptor, _HEAD_BYTES + size, prot=mmap.PROT_READ)
    if not hmac.compare_digest(mapped[:_NONCE_BYTES], nonce):
        mapped.close()
        return None
    return memoryview(mapped)[_HEAD_BYTES:]
