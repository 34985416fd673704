"""The opening handshake of a websocket, both ends, with the sans-I/O protocols of the websockets library.

They are fed no byte beyond the handshake: what follows belongs to `WebSocket`.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Mapping, Optional, Tuple

from websockets.client import ClientProtocol
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from vlassess_link.wire.sockets import Stream
from vlassess_link.wire.websocket import WebSocket

HEAD_BYTES = 65536
"""Longest head of a request or response that is read."""
_END = b"\r\n\r\n"

Answer = Callable[[ServerProtocol, Request], Optional[Response]]


def open_websocket(stream: Stream, url: str, seconds: float, max_size: int, headers: Mapping[str, str]) -> WebSocket:
    """Ask the server at the other end of a connected socket for a websocket.

    Raises:
        TimeoutError: no answer within ``seconds``.
        EOFError: the server closed the connection instead.
        OSError: the connection broke.
        InvalidHandshake: it answered something else (`InvalidStatus`, `InvalidMessage` ...).
        InvalidURI: the url is none of a websocket.
    """
    until = time.monotonic() + seconds
    protocol = ClientProtocol(parse_uri(url))
    request = protocol.connect()
    for name, value in headers.items():
        request.headers[name] = value
    protocol.send_request(request)
    stream.send(protocol.data_to_send(), until)
    rest = _exchange_head(protocol, stream, until)
    if protocol.handshake_exc is not None:
        raise protocol.handshake_exc
    return WebSocket(stream, True, max_size, rest)


def accept_websocket(stream: Stream, answer: Answer, seconds: float) -> Optional[Tuple[Request, bytes]]:
    """Answer the request of a client that connected.

    Args:
        stream: Of the connection.
        answer: Returns the response to a request that shall get no websocket, else None.
        seconds: For the whole handshake.

    Returns:
        The request and what was received behind it; None where it got no websocket.

    Raises:
        TimeoutError: no request within ``seconds``.
        EOFError: the client closed the connection.
        OSError: the connection broke.
        InvalidHandshake: what came is no request.
    """
    until = time.monotonic() + seconds
    protocol = ServerProtocol()
    rest = _exchange_head(protocol, stream, until)
    request: Any = next(iter(protocol.events_received()), None)
    if request is None:
        stream.send(protocol.data_to_send(), until)
        raise protocol.handshake_exc or EOFError("no request came")
    response = answer(protocol, request) or protocol.accept(request)
    protocol.send_response(response)
    stream.send(protocol.data_to_send(), until)
    return (request, rest) if response.status_code == 101 else None


def _exchange_head(protocol: Any, stream: Stream, until: float) -> bytes:
    """Feed the protocol one head, or more where it wants a body; return what came behind the head."""
    scratch = memoryview(bytearray(HEAD_BYTES))
    seen = b""
    fed = 0
    while not _decided(protocol):
        try:
            seen += scratch[: stream.recv_into(scratch, until)]
        except ConnectionResetError:
            protocol.receive_eof()
            if _decided(protocol):
                break
            raise EOFError("the peer closed the connection during the handshake") from None
        end = seen.find(_END, max(0, fed - 3))
        stop = end + len(_END) if end >= 0 else len(seen)
        protocol.receive_data(seen[fed:stop])
        fed = stop
        if end >= 0 and not _decided(protocol):
            # A refusal may have a body, which nobody reads; its head is enough to know that.
            protocol.receive_data(seen[fed:])
            fed = len(seen)
        if fed > HEAD_BYTES:
            raise EOFError(f"the head is longer than {HEAD_BYTES} bytes")
    return seen[fed:]


def _decided(protocol: Any) -> bool:
    return protocol.handshake_exc is not None or bool(protocol.events)
