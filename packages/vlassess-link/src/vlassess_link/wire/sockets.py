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
import threading
import time
from typing import List, Optional, Sequence, Union

Buffer = Union[bytes, bytearray, memoryview]

_BUFFERS = 512  # well below what one sendmsg() takes


class Stream(abc.ABC):
    """A connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(sock, select.POLLIN)
        self._writable.register(sock, select.POLLOUT)

    @abc.abstractmethod
    def recv_into(self, view: memoryview, until: Optional[float]) -> int:
        """Read at least one byte and return how many.

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
    """A socket without TLS: buffers go to the system as they are."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def recv_into(self, view: memoryview, until: Optional[float]) -> int:
        """See `Stream.recv_into`."""
        if until is not None:
            _wait(self._readable, until, "sent nothing")
        return _some(self._sock.recv_into(view))

    def send(self, parts: Sequence[Buffer], until: Optional[float]) -> None:
        """See `Stream.send`."""
        rest: List[Buffer] = [part for part in parts if len(part)]
        flags = 0 if until is None else socket.MSG_DONTWAIT
        while rest:
            try:
                sent = self._sock.sendmsg(rest[:_BUFFERS], (), flags)
            except BlockingIOError:
                _wait(self._writable, until, "took no bytes")
                continue
            while rest and sent >= len(rest[0]):
                sent -= len(rest.pop(0))
            if sent:
                rest[0] = memoryview(rest[0])[sent:]


class TlsStream(Stream):
    """A socket with TLS: never blocks inside the library, which reads when it writes and the reverse."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        super().__init__(sock)
        self._tls = sock
        self._one_at_a_time = threading.Lock()
        sock.setblocking(False)

    def recv_into(self, view: memoryview, until: Optional[float]) -> int:
        """See `Stream.recv_into`."""
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


def _some(count: int) -> int:
    if count == 0:
        raise ConnectionResetError("the peer closed the connection")
    return count
