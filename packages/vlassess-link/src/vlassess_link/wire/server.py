"""The policy server's socket: websockets for sessions, plain HTTP for `/health`, `/spec` and `/config`.

One thread a connection does nothing but wait and copy bytes; the model has a thread of its own.
"""

from __future__ import annotations

import http
import inspect
import json
import logging
import os
import socket
import threading
import urllib.parse
import uuid
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.sync.server import ServerConnection, serve

from vlassess_link.errors import PolicyFault, WireError
from vlassess_link.jsonable import to_json
from vlassess_link.policies.inference import ModelHost
from vlassess_link.policies.model import PredictModelServer
from vlassess_link.wire.codec import MAX_FRAME_BYTES
from vlassess_link.wire.session import ServerSession

log = logging.getLogger(__name__)

GRACE_SECONDS = 5.0
"""How long close() waits for running answers, and again for connections to say goodbye."""

# Keepalive came to the threading server with websockets 15; a silent client is simulating, not dead.
_NO_KEEPALIVE: dict[str, Any] = (
    {"ping_interval": None} if "ping_interval" in inspect.signature(serve).parameters else {}
)


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        WireError: the address is taken or not this machine's.
    """
    try:
        return socket.create_server((host, port), backlog=256)
    except (OSError, OverflowError) as error:
        # create_server() puts the address into strerror; the number alone gives the plain reason.
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise WireError(f"cannot listen on {host}:{port}: {reason}; choose another port (0: any free one)") from None


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

    Raises:
        WireError: the address is taken or not this machine's.
    """

    def __init__(self, model: PredictModelServer | None, host: str = "127.0.0.1", port: int = 0) -> None:
        self._socket = bind(host, port)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        self._pending = model
        self._model_host = ModelHost()
        self._connections: set[ServerConnection] = set()
        self._server = serve(
            self._serve_connection,
            sock=self._socket,
            process_request=self._on_http,
            compression=None,
            max_size=MAX_FRAME_BYTES,
            close_timeout=1.0,
            logger=log,
            **_NO_KEEPALIVE,
        )
        # Threads of connections inherit being daemons, so that a model that hangs cannot keep the process.
        self._accepting = threading.Thread(target=self._server.serve_forever, name="accept", daemon=True)

    @property
    def url(self) -> str:
        """Where policies are asked: ``ws://host:port``."""
        name = "127.0.0.1" if self.host in ("", "0.0.0.0") else self.host
        return f"ws://[{name}]:{self.port}" if ":" in name else f"ws://{name}:{self.port}"

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

    def close(self, grace: float = GRACE_SECONDS) -> None:
        """Refuse new requests, let running ones end for ``grace`` seconds, then close every connection."""
        self._model_host.close(grace)
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
        # Before websockets 17 that only stops the listening.
        for connection in tuple(self._connections):
            connection.close(1001)

    def _serve_connection(self, connection: ServerConnection) -> None:
        self._connections.add(connection)
        try:
            self._answer(connection)
        except ConnectionClosed as closed:
            log.info("a client left: %s", closed)
        finally:
            self._connections.discard(connection)

    def _answer(self, connection: ServerConnection) -> None:
        session = ServerSession(self._model_host, uuid.uuid4().hex, lambda: connection.protocol.state is State.OPEN)
        while not session.over:
            reply = session.answer(connection.recv())
            if reply is not None:
                connection.send(reply)

    def _on_http(self, connection: ServerConnection, request: Request) -> Response | None:
        parts = urllib.parse.urlsplit(request.path)
        if parts.path == "/health":
            return self._health(connection)
        if not self._model_host.ready:
            return _json(connection, http.HTTPStatus.SERVICE_UNAVAILABLE, {"status": self._status()})
        if parts.path == "/spec":
            return _json(connection, http.HTTPStatus.OK, to_json(self._model_host.spec))
        if parts.path == "/config":
            return _config(connection, parts.query)
        return None

    def _health(self, connection: ServerConnection) -> Response:
        ready = self._model_host.ready
        status = http.HTTPStatus.OK if ready else http.HTTPStatus.SERVICE_UNAVAILABLE
        body = {"status": self._status()}
        if ready:
            identity = self._model_host.spec.identity
            body.update(policy=identity.name, identity=identity.digest)
        return _json(connection, status, body)

    def _status(self) -> str:
        if self._model_host.ready:
            return "ok"
        loaded = self._model_host.loaded
        return "failed" if loaded.done() and loaded.exception() is not None else "loading"


def _config(connection: ServerConnection, query: str) -> Response:
    """Answer vla-eval's question for settings that can be changed while running: there are none."""
    keys = sorted(urllib.parse.parse_qs(query, keep_blank_values=True))
    body: dict[str, Any] = {"applied": {}, "config": {}}
    if not keys:
        return _json(connection, http.HTTPStatus.OK, body)
    errors = [f"unknown key: {key}" for key in keys]
    return _json(connection, http.HTTPStatus.UNPROCESSABLE_ENTITY, {**body, "errors": errors})


def _json(connection: ServerConnection, status: http.HTTPStatus, body: Any) -> Response:
    response = connection.respond(status, json.dumps(body, allow_nan=False) + "\n")
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = "application/json"
    return response
