"""From a url to a websocket: the connection, TLS, the handshake, and whether trying again can help.

Every dialect's client begins here.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
import urllib.parse
from typing import Callable, Iterator, List, Optional, Tuple, TypeVar

from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI

from vlassess_link.errors import ContractError, HandshakeError, PolicyUnavailable
from vlassess_link.wire.access import Access
from vlassess_link.wire.codec import MAX_FRAME_BYTES
from vlassess_link.wire.handshake import open_websocket
from vlassess_link.wire.sockets import stream
from vlassess_link.wire.websocket import WebSocket

T = TypeVar("T")

log = logging.getLogger(__name__)

LOADING_STATUSES = (502, 503, 504)
"""What a server, or a proxy before it, answers while the policy is still loading."""
RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5)
TELL_SECONDS = (0.5, 10.0)
"""After how long it is said that nobody has answered yet, and how often again."""


class NotYet(Exception):
    """The server may still come up; the text says what was seen."""


def retried(url: str, connect_deadline: float, attempt: Callable[[float], T]) -> T:
    """Return what ``attempt(seconds)`` returns, tried again while it raises `NotYet`.

    While it lasts, warnings in the log count the seconds down.

    Raises:
        PolicyUnavailable: it did not succeed in time.
    """
    until = time.monotonic() + connect_deadline
    seen: List[str] = []
    with _telling(url, until, seen):
        while True:
            try:
                return attempt(max(0.05, until - time.monotonic()))
            except NotYet as error:
                seen.append(str(error))
            pause = RETRY_SECONDS[min(len(seen), len(RETRY_SECONDS)) - 1]
            if time.monotonic() + pause >= until:
                raise PolicyUnavailable(
                    f"no policy answered at {url} within {connect_deadline:g} s ({seen[-1]}): start its server there, "
                    "correct the url or raise the connect deadline"
                )
            time.sleep(pause)


@contextlib.contextmanager
def _telling(url: str, until: float, seen: List[str]) -> Iterator[None]:
    """Warn while the block lasts that it does, and why, as far as was seen; a try of its own may take long."""
    over = threading.Event()

    def tell() -> None:
        first, further = TELL_SECONDS
        pause = first
        while not over.wait(pause):
            why = f" ({seen[-1]})" if seen else ""
            left = max(0.0, until - time.monotonic())
            log.warning("no policy answers at %s yet%s; trying for %.0f s more", url, why, left)
            pause = further

    teller = threading.Thread(target=tell, name="teller", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()


def address_of(url: str) -> Tuple[str, int]:
    """Return host and port of a websocket's url.

    Raises:
        ContractError: it is none.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ContractError(f"the policy url {url!r} cannot be read: {error}") from None
    if parts.scheme not in ("ws", "wss") or not host:
        raise ContractError(f"the policy url is {url!r}; it must look like ws://host:port")
    return host, port or (443 if parts.scheme == "wss" else 80)


def connect(url: str, seconds: float, access: Access, scheme: str = "Bearer") -> WebSocket:
    """Return a websocket to a server of whatever dialect; ``scheme``: how it wants the token announced.

    Raises:
        ContractError: the url is none of a websocket, or the file with the trusted certificates cannot be read.
        NotYet: nobody answers, or the policy is still loading.
        HandshakeError: who answers there has no websocket for us, or no certificate that is trusted.
    """
    host, port = address_of(url)
    context = access.context(url)
    until = time.monotonic() + seconds
    try:
        raw = socket.create_connection((host, port), timeout=seconds)
    except OSError as error:
        raise NotYet(f"{error.strerror or error}") from None
    opened: Optional[WebSocket] = None
    try:
        raw = raw if context is None else context.wrap_socket(raw, server_hostname=host)
        opened = open_websocket(stream(raw), url, until - time.monotonic(), MAX_FRAME_BYTES, access.headers(scheme))
    except ssl.SSLCertVerificationError as error:
        raise HandshakeError(
            f"{url} shows a certificate that is not trusted ({error.verify_message}): name ca_file"
        ) from None
    except (OSError, EOFError) as error:
        raise NotYet(f"{host}:{port} accepted but gave no websocket: {error}") from None
    except (InvalidHandshake, InvalidURI, ValueError) as error:
        raise _no_websocket(url, error) from None
    finally:
        if opened is None:
            raw.close()
    return opened


def _no_websocket(url: str, error: Exception) -> Exception:
    if isinstance(error, InvalidStatus):
        status = error.response.status_code
        if status in LOADING_STATUSES:
            return NotYet(f"it answers {status}, still loading")
        if status == 401:
            return HandshakeError(f"{url} refuses the token: give the right one with token_file or VLASSESS_TOKEN")
        return HandshakeError(f"{url} is no policy server: it answered HTTP {status} to the websocket")
    if isinstance(error, InvalidMessage) and isinstance(error.__cause__, (EOFError, OSError)):
        return NotYet("it closed the connection during the handshake")
    if isinstance(error, (InvalidMessage, ValueError)):  # websockets 13 lets the parser's error through
        return HandshakeError(f"{url} is no policy server: what it answered is no websocket handshake")
    return HandshakeError(f"{url} is no policy server: {error}")
