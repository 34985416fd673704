"""The policy server's socket: websockets for sessions, plain HTTP for `/health`, `/spec`, `/metrics` and `/config`.

One thread a connection does nothing but wait and copy bytes; the model has a thread of its own.
"""

from __future__ import annotations

import http
import logging
import os
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from vlassess_link.errors import PolicyFault, WireError
from vlassess_link.policies.inference import ModelHost
from vlassess_link.policies.model import PredictModelServer
from vlassess_link.wire.codec import MAX_FRAME_BYTES
from vlassess_link.wire.endpoints import Endpoints
from vlassess_link.wire.serving import Handshake, WebSocketServer
from vlassess_link.wire.sessions import Session, session_maker
from vlassess_link.wire.websocket import WebSocket

log = logging.getLogger(__name__)

GRACE_SECONDS = 5.0
"""How long close() waits for running answers, and again for connections to say goodbye."""
DRAIN_SECONDS = 0.05
SEND_SECONDS = 1.0
"""How long close() waits for the last answers to be sent, once the model has stopped."""
KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A machine that is gone is known to be after a minute; its own TCP answers for a client that only computes."""


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        WireError: the address is taken or not this machine's.
    """
    try:
        listening = socket.create_server((host, port), backlog=256)
    except (OSError, OverflowError) as error:
        # create_server() puts the address into strerror; the number alone gives the plain reason.
        number = error.errno if isinstance(error, OSError) else None
        if number is not None and number < 0:  # of getaddrinfo(), which strerror() does not know
            raise WireError(f"cannot listen on {host}:{port}: {host!r} is no address of this machine") from None
        reason = os.strerror(number) if number else str(error)
        raise WireError(f"cannot listen on {host}:{port}: {reason}; choose another port (0: any free one)") from None
    # Connections inherit these from the socket that accepts them.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return listening


@dataclass(frozen=True)
class Limits:
    """How long a client may keep the server waiting, in seconds, before it is dropped and counted.

    A client that simulates is silent for long, so only its machine's death, which TCP keepalive finds out, ends
    an episode early.

    Attributes:
        hello: From the websocket to HELLO.
        idle: Between two episodes.
        episode: Between two messages of one episode.
        send: For the client to take an answer.
        connections: Most clients at a time; more get HTTP 503.
    """

    hello: float = 10.0
    idle: float = 900.0
    episode: float = 3600.0
    send: float = 30.0
    connections: int = 1024


@dataclass(frozen=True)
class ServerOptions:
    """What a server is told beside its model and its address.

    Attributes:
        max_batch: Most observations of one batch; None: as the model says.
        token: What clients must show; None: nothing.
        tls: TLS with this certificate; None: none.
        limits: How patient it is.
        dialect: What clients speak, one of `dialects.DIALECTS`; None: the default one.
        mapping: Under which keys clients of another dialect send what.
    """

    max_batch: int | None = None
    token: str | None = None
    tls: ssl.SSLContext | None = None
    limits: Limits = Limits()
    dialect: str | None = None
    mapping: str | Mapping[str, Any] | None = None


class PolicyServer:
    """Serves one model on one port until it is closed.

    ```python
    with PolicyServer(MyModel()) as server:     # loaded and ready inside the block
        print(server.url)
    ```

    The port is bound at once. `start` answers 503 until the model is loaded, and goes on in daemon threads.

    Args:
        model: To serve; None: `load` brings it later, while `/health` already answers.
        host: Interface to bind; loopback unless told otherwise.
        port: 0: any free one.
        options: Batches, token, TLS, limits.

    Raises:
        WireError: the address is taken or not this machine's.
    """

    def __init__(
        self,
        model: PredictModelServer | None,
        host: str = "127.0.0.1",
        port: int = 0,
        options: ServerOptions | None = None,
    ) -> None:
        options = options or ServerOptions()
        self._make_session = session_maker(options.dialect, options.mapping)
        self._socket = bind(host, port)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        self._pending = model
        self._options = options
        self._model_host = ModelHost(options.max_batch)
        self._endpoints = Endpoints(self._model_host, options.token, self._gauges)
        self._sessions: dict[WebSocket, Session] = {}
        self._answering: set[WebSocket] = set()
        self._server = WebSocketServer(
            self._serve_connection,
            self._socket,
            self._on_http,
            MAX_FRAME_BYTES,
            options.tls,
            lambda: self._model_host.metrics.count("dropped", "handshake"),
        )
        # Threads of connections inherit being daemons, so that a model that hangs cannot keep the process.
        self._accepting = threading.Thread(target=self._server.serve_forever, name="accept", daemon=True)

    @property
    def url(self) -> str:
        """Where policies are asked: ``ws://host:port``, with TLS ``wss://host:port``."""
        scheme = "ws" if self._options.tls is None else "wss"
        name = "127.0.0.1" if self.host in ("", "0.0.0.0") else self.host
        return f"{scheme}://[{name}]:{self.port}" if ":" in name else f"{scheme}://{name}:{self.port}"

    @property
    def hosted(self) -> ModelHost:
        """The model and its thread."""
        return self._model_host

    def start(self) -> None:
        """Accept connections, and begin to load the model where there is one."""
        self._accepting.start()
        if self._pending is not None:
            self.load(self._pending)

    def load(self, model: PredictModelServer) -> None:
        """Begin to load a model; returns at once."""
        self._model_host.load(model)

    def wait_ready(self, timeout: float | None = None) -> None:
        """Wait until the model is loaded.

        Raises:
            PredictError: its `load` raised.
            TimeoutError: it took longer.
        """
        self._model_host.loaded.result(timeout)

    def drain(self, grace: float) -> int:
        """Begin no new episode, let running ones end for ``grace`` seconds; return how many are running still."""
        self._model_host.draining = True
        until = time.monotonic() + grace
        while self._episodes() and time.monotonic() < until:
            time.sleep(DRAIN_SECONDS)
        return self._episodes()

    def close(self, grace: float = GRACE_SECONDS) -> None:
        """Refuse new requests, let running ones end for ``grace`` seconds, then close every connection."""
        self._model_host.close(grace)
        until = time.monotonic() + SEND_SECONDS
        while self._answering and time.monotonic() < until:
            time.sleep(DRAIN_SECONDS / 10)
        if self._accepting.is_alive():
            stopping = threading.Thread(target=self._shut_down, name="shutdown", daemon=True)
            stopping.start()
            stopping.join(grace)
        else:
            self._socket.close()

    def __enter__(self) -> PolicyServer:
        self.start()
        try:
            self.wait_ready()
        except PolicyFault:
            self.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _shut_down(self) -> None:
        self._server.shutdown()
        for connection in tuple(self._sessions):
            connection.close(1001)

    def _episodes(self) -> int:
        return sum(session.in_episode for session in tuple(self._sessions.values()))

    def _gauges(self) -> dict[str, tuple[str, float]]:
        return {
            "sessions": ("Clients that are connected.", float(len(self._sessions))),
            "episodes_running": ("Sessions in an episode.", float(self._episodes())),
        }

    def _serve_connection(self, connection: WebSocket) -> None:
        session = self._make_session(self._model_host, uuid.uuid4().hex, lambda: connection.fresh or connection.alive)
        self._sessions[connection] = session
        try:
            self._answer(connection, session)
        except ConnectionClosed as closed:
            log.info("a client left: %s", closed)
            if closed.rcvd is None and closed.sent is None:
                self._model_host.metrics.count("dropped", "vanished")
        finally:
            del self._sessions[connection]
            session.close()

    def _answer(self, connection: WebSocket, session: Session) -> None:
        limits = self._options.limits
        greeting = session.greeting()
        if greeting is not None:
            connection.send(greeting, limits.send)
        while not session.over:
            try:
                frame = connection.recv(_patience(session, limits))
            except TimeoutError:
                self._drop(connection, session, "silent" if session.greeted else "no_hello")
                return
            self._answering.add(connection)
            try:
                reply = session.answer(frame)
                del frame  # an image, perhaps, that nobody needs while the client thinks
                if reply is not None:
                    connection.send(reply, limits.send)
            except TimeoutError:
                self._drop(connection, session, "slow")
                return
            finally:
                self._answering.discard(connection)

    def _drop(self, connection: WebSocket, session: Session, reason: str) -> None:
        log.warning("a client was dropped: %s%s", reason, " in mid-episode" if session.in_episode else "")
        self._model_host.metrics.count("dropped", reason)
        connection.close(1008, reason)

    def _on_http(self, connection: Handshake, request: Request) -> Response | None:
        answer = self._endpoints.answer(request.path, request.headers.get("Authorization"))
        if answer is None and len(self._sessions) >= self._options.limits.connections:
            return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, "too many clients\n")
        if answer is None:
            return None
        response = connection.respond(http.HTTPStatus(answer.status), answer.body)
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = answer.kind
        if answer.status == http.HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response


def _patience(session: Session, limits: Limits) -> float:
    if not session.greeted:
        return limits.hello
    return limits.episode if session.in_episode else limits.idle
