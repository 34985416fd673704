"""Accepts connections: a thread each, in which whoever answers also reads.

Used as the threading server of the websockets library would be, whose one thread more per connection, and the
copies that go with it, cost more than everything else on the wire.
"""

from __future__ import annotations

import contextlib
import http
import logging
import socket
import ssl
import threading
import time
from typing import Callable, Optional

from websockets.exceptions import InvalidHandshake
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from vlassess_link.wire.handshake import accept_websocket
from vlassess_link.wire.keeper import Keeper
from vlassess_link.wire.sockets import Stream, stream
from vlassess_link.wire.websocket import WebSocket

log = logging.getLogger(__name__)

OPEN_SECONDS = 10.0
"""How long a client may take for the handshake."""
LINGER_SECONDS = 1.0
"""How long a client that got no websocket may take to read why and hang up."""


class Handshake:
    """What `process_request` is given to answer with, before there is a websocket."""

    def __init__(self, protocol: ServerProtocol) -> None:
        self._protocol = protocol

    def respond(self, status: http.HTTPStatus, text: str) -> Response:
        """Return a plain HTTP response, after which the connection ends."""
        return self._protocol.reject(status, text)


ProcessRequest = Callable[[Handshake, Request], Optional[Response]]


class WebSocketServer:
    """Serves websockets, and plain HTTP beside them, on one listening socket.

    Args:
        handler: Called with each websocket, in a thread of its own; the connection is closed when it returns.
        sock: Listening.
        process_request: Returns the response to a request that shall get no websocket, else None.
        max_size: Most bytes of one message.
        context: For TLS; None: without.
        on_timeout: Called when a client was dropped for taking too long over the handshake.
    """

    def __init__(
        self,
        handler: Callable[[WebSocket], None],
        sock: socket.socket,
        process_request: ProcessRequest,
        max_size: int,
        context: ssl.SSLContext | None = None,
        on_timeout: Callable[[], None] = lambda: None,
    ) -> None:
        self._handler = handler
        self._socket = sock
        self._process_request = process_request
        self._max_size = max_size
        self._context = context
        self._on_timeout = on_timeout
        self._stopped = False
        self._keeper = Keeper()

    def serve_forever(self) -> None:
        """Accept until `shutdown`. Threads of connections inherit being daemons from this one."""
        self._keeper.start()
        while not self._stopped:
            try:
                raw, _ = self._socket.accept()
            except OSError as error:
                if not self._stopped:
                    log.warning("cannot accept a connection: %s", error)
                    time.sleep(0.05)  # out of descriptors: those that end give theirs back
                continue
            threading.Thread(target=self._serve, args=(raw,), name="connection").start()

    def shutdown(self) -> None:
        """Accept no more; connections that are open go on."""
        self._stopped = True
        self._keeper.stop()
        with contextlib.suppress(OSError):  # where it was not listening yet
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self, raw: socket.socket) -> None:
        with raw:
            try:
                websocket = self._open(raw)
            except (OSError, EOFError, InvalidHandshake) as error:
                log.info("a client got no websocket: %s", error)
                if isinstance(error, TimeoutError):
                    self._on_timeout()
                return
            if websocket is None:
                return
            self._keeper.add(websocket)
            try:
                self._handler(websocket)
            finally:
                self._keeper.discard(websocket)
                websocket.close()

    def _open(self, raw: socket.socket) -> WebSocket | None:
        if self._context is not None:
            raw.settimeout(OPEN_SECONDS)
            raw = self._context.wrap_socket(raw, server_side=True)
        way = stream(raw)
        accepted = None
        try:
            accepted = accept_websocket(
                way, lambda p, request: self._process_request(Handshake(p), request), OPEN_SECONDS
            )
            if accepted is None:
                _linger(raw, way)
        finally:
            if accepted is None:
                way.close()
        return None if accepted is None else WebSocket(way, False, self._max_size, accepted[1])


def _linger(raw: socket.socket, way: Stream) -> None:
    """Wait for the client to hang up: closed with bytes unread, a socket tears down the answer on its way."""
    raw.shutdown(socket.SHUT_WR)
    until = time.monotonic() + LINGER_SECONDS
    scratch = memoryview(bytearray(4096))
    with contextlib.suppress(OSError):
        while True:
            way.recv_into(scratch, until)
