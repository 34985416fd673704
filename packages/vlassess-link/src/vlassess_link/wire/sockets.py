"""Blocking reads and writes with a moment by which they must be done, on plain and on TLS sockets.

``until`` is a time of `time.monotonic`; None: wait for ever; one that has passed: do not wait at all. A socket
may be read by one thread and written by another at the same time.
"""

from __future__ import annotations

import abc
import contextlib
import select
import socket
import ssl
import struct
import sys
import threading
import time
from typing import Optional, Sequence, Union

Buffer = Union[bytes, bytearray, memoryview]

_BUFFERS = 512  # well below what one sendmsg() takes
_SHORT_SECONDS = 1.0
_TIMEVAL = struct.Struct("@ll")


class Stream(abc.ABC):
    """A connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(sock, select.POLLIN)
        self._writable.register(sock, select.POLLOUT)

    @abc.abstractmethod
    def recv_into(self, view: memoryview, until: Optional[float], whole: bool = False) -> int:
        """Read at least one byte and return how many; ``whole``: rather wait for all than return some.

        Raises:
            TimeoutError: none came in time.
            OSError: the connection broke or ended.
        """

    @abc.abstractmethod
    def send(self, parts: Sequence[Buffer], until: Optional[float]) -> None:
        """Write all buffers, one after the other.

        Raises:
            TimeoutError: the peer took too little in time.
            OSError: the connection broke.
        """

    def shut(self) -> None:
        """End the connection; whoever waits in another thread wakes up."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the socket back; nobody may be using it."""
        self._sock.close()


class PlainStream(Stream):
    """A socket without TLS: buffers go to the system as they are.

    The system itself ends a read that takes too long (SO_RCVTIMEO), which saves the call that asks whether there is
    anything to read. It is told a shorter time than is left, so that the same serves many messages.
    """

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._limit = 0.0  # the system's, 0.0: none

    def recv_into(self, view: memoryview, until: Optional[float], whole: bool = False) -> int:
        """See `Stream.recv_into`."""
        waiting = socket.MSG_WAITALL if whole else 0
        if until is None:
            self._end_reads_after(0.0)
            return _some(self._sock.recv_into(view, 0, waiting))
        left = until - time.monotonic()
        if left > _SHORT_SECONDS and sys.platform == "linux":
            if not left / 2 <= self._limit <= left:
                self._end_reads_after(left * 0.75)
            try:
                return _some(self._sock.recv_into(view, 0, waiting))
            except BlockingIOError:
                pass  # the rest of the time is waited for below
        while True:
            try:
                return _some(self._sock.recv_into(view, 0, socket.MSG_DONTWAIT))
            except BlockingIOError:
                _wait(self._readable, until, "sent nothing")

    def send(self, parts: Sequence[Buffer], until: Optional[float]) -> None:
        """See `Stream.send`."""
        flags = 0 if until is None else socket.MSG_DONTWAIT
        while parts:
            try:
                sent = self._sock.sendmsg(parts[:_BUFFERS], (), flags)
            except BlockingIOError:
                _wait(self._writable, until, "took no bytes")
            else:
                parts = _behind(parts, sent)

    def _end_reads_after(self, seconds: float) -> None:
        if seconds != self._limit:
            value = _TIMEVAL.pack(int(seconds), int(seconds % 1 * 1e6))
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
            self._limit = seconds


class TlsStream(Stream):
    """A socket with TLS: never blocks inside the library, which reads when it writes and the reverse."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        super().__init__(sock)
        self._tls = sock
        self._one_at_a_time = threading.Lock()
        sock.setblocking(False)

    def recv_into(self, view: memoryview, until: Optional[float], whole: bool = False) -> int:
        """See `Stream.recv_into`; never waits for all, which is its right."""
        while True:
            try:
                with self._one_at_a_time:
                    return _some(self._tls.recv_into(view))
            except ssl.SSLWantReadError:
                _wait(self._readable, until, "sent nothing")
            except ssl.SSLWantWriteError:
                _wait(self._writable, until, "took no bytes")

    def send(self, parts: Sequence[Buffer], until: Optional[float]) -> None:
        """See `Stream.send`."""
        rest = memoryview(b"".join(parts))
        while rest:
            try:
                with self._one_at_a_time:
                    rest = rest[self._tls.send(rest) :]
            except ssl.SSLWantWriteError:
                _wait(self._writable, until, "took no bytes")
            except ssl.SSLWantReadError:
                _wait(self._readable, until, "sent nothing")


def stream(sock: socket.socket) -> Stream:
    """Return the stream of a connected socket."""
    return TlsStream(sock) if isinstance(sock, ssl.SSLSocket) else PlainStream(sock)


def _wait(poller: select.poll, until: Optional[float], what: str) -> None:
    milliseconds = None if until is None else max(0.0, until - time.monotonic()) * 1000.0
    if not poller.poll(milliseconds):
        raise TimeoutError(f"the peer {what} in time")


def _behind(parts: Sequence[Buffer], sent: int) -> Sequence[Buffer]:
    """Return what is left of the buffers when so many of their bytes are sent."""
    for number, part in enumerate(parts):
        if sent < len(part):
            return [memoryview(part)[sent:], *parts[number + 1 :]]
        sent -= len(part)
    return ()


def _some(count: int) -> int:
    if count == 0:
        raise ConnectionResetError("the peer closed the connection")
    return count
