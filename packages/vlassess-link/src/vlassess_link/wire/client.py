"""The client's end of one connection: connects, says HELLO, asks and waits, never longer than a deadline.

One connection serves one thread. After any failure it is closed and stays closed: whoever goes on must open
a new one and start a new episode, so that no answer is ever taken for another question's.
"""

from __future__ import annotations

import inspect
import socket
import ssl
import struct
import time
import urllib.parse
from typing import Any, Dict, Mapping, Optional, Tuple

from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect

from vlassess_link.errors import (
    ConnectionLost,
    ContractError,
    DecodeError,
    HandshakeError,
    InferenceTimeout,
    PolicyUnavailable,
)
from vlassess_link.wire import messages
from vlassess_link.wire.access import PLAIN, Access
from vlassess_link.wire.codec import MAX_FRAME_BYTES
from vlassess_link.wire.messages import Hello, Message

LOADING_STATUSES = (502, 503, 504)
"""What a server, or a proxy before it, answers while the policy is still loading."""
CLOSE_SECONDS = 1.0
RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5)

# Keepalive came to the threading client with websockets 15; a long inference must not count as death.
_NO_KEEPALIVE: Dict[str, Any] = (
    {"ping_interval": None} if "ping_interval" in inspect.signature(connect).parameters else {}
)


class WireClient:
    """One open connection to a policy server, after HELLO.

    Attributes:
        url: Where the server is.
        hello: What it announced.
    """

    def __init__(self, url: str, websocket: ClientConnection, hello: Hello) -> None:
        self.url = url
        self.hello = hello
        self._websocket = websocket
        self._seq = 1
        self._awaiting = False

    @property
    def usable(self) -> bool:
        """Whether the connection is open and no answer is outstanding."""
        return not self._awaiting and self._websocket.protocol.state is State.OPEN

    def request(self, kind: str, payload: Mapping[str, Any], answer: str, deadline: float) -> Dict[str, Any]:
        """Send a message and return the payload of its answer.

        Args:
            kind: The message's type.
            payload: Its payload.
            answer: The type of the answer.
            deadline: Seconds until the answer must be there.

        Raises:
            EncodeError: the payload cannot be carried; nothing was sent.
            InferenceTimeout: no answer within the deadline.
            ConnectionLost: the connection broke, or the server refused to go on.
            PolicyFault: the server says that the policy failed.
            DecodeError: what came is no answer to this message.
        """
        until = time.monotonic() + deadline
        frame = self._frame(kind, payload)
        self._awaiting = True
        try:
            self._send(frame, until)
            message = self._receive(kind, deadline, until)
        except DecodeError as error:
            raise DecodeError(f"{self.url} sent no answer to the {kind} message: {error}") from error
        if message.type == messages.ERROR:
            raise messages.parse_error(message.payload)
        if message.seq != self._seq or message.type != answer:
            raise DecodeError(
                f"{self.url} answered {message.type} {message.seq} while {answer} {self._seq} was awaited: the answer "
                "belongs to another message"
            )
        self._awaiting = False
        return dict(message.payload)

    def notify(self, kind: str, payload: Mapping[str, Any], deadline: float) -> None:
        """Send a message that is not answered.

        Raises:
            EncodeError: the payload cannot be carried; nothing was sent.
            ConnectionLost: the connection broke.
            InferenceTimeout: the server took no bytes within the deadline.
        """
        frame = self._frame(kind, payload)
        self._awaiting = True
        self._send(frame, time.monotonic() + deadline)
        self._awaiting = False

    def close(self) -> None:
        """Close the connection; waits `CLOSE_SECONDS` at most for the server's goodbye."""
        self._websocket.close()

    def _frame(self, kind: str, payload: Mapping[str, Any]) -> bytes:
        if not self.usable:
            raise ConnectionLost(f"the connection to {self.url} is closed: start a new episode to open another")
        frame = Message(kind, payload, self._seq + 1).pack()
        self._seq += 1
        return frame

    def _send(self, frame: bytes, until: float) -> None:
        try:
            self._websocket.send(frame)
        except (ConnectionClosed, OSError) as error:
            if time.monotonic() >= until:
                raise InferenceTimeout(f"{self.url} took no bytes within the inference deadline") from None
            raise ConnectionLost(f"the connection to {self.url} broke while sending: {error}") from None

    def _receive(self, kind: str, deadline: float, until: float) -> Message:
        try:
            return Message.unpack(self._websocket.recv(max(0.0, until - time.monotonic())))
        except TimeoutError:
            raise InferenceTimeout(
                f"{self.url} did not answer the {kind} message within {deadline:g} s: mend the policy or raise the "
                "inference deadline"
            ) from None
        except (ConnectionClosed, OSError) as error:
            raise ConnectionLost(
                f"the connection to {self.url} broke while the answer to the {kind} message was awaited: {error}"
            ) from None


def open_client(url: str, connect_deadline: float, send_deadline: float, access: Access = PLAIN) -> WireClient:
    """Connect and say HELLO, retrying while nobody listens or the policy still loads.

    Args:
        url: ``ws://host:port``.
        connect_deadline: Seconds for all tries together.
        send_deadline: Seconds that the server may take to accept bytes, once connected.
        access: Token and trusted certificates.

    Raises:
        ContractError: the url is none of a websocket.
        PolicyUnavailable: nobody answered in time.
        HandshakeError: somebody answered who speaks another protocol; at once.
    """
    address = _address(url)
    until = time.monotonic() + connect_deadline
    tries = 0
    while True:
        try:
            return _open_once(url, address, max(0.05, until - time.monotonic()), send_deadline, access)
        except _NotYet as error:
            reason = str(error)
        pause = RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)]
        if time.monotonic() + pause >= until:
            raise PolicyUnavailable(
                f"no policy answered at {url} within {connect_deadline:g} s ({reason}): start its server there, "
                "correct the url or raise the connect deadline"
            )
        time.sleep(pause)
        tries += 1


class _NotYet(Exception):
    """The server may still come up; the text says what was seen."""


def _address(url: str) -> Tuple[str, int]:
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ContractError(f"the policy url {url!r} cannot be read: {error}") from None
    if parts.scheme not in ("ws", "wss") or not host:
        raise ContractError(f"the policy url is {url!r}; it must look like ws://host:port")
    return host, port or (443 if parts.scheme == "wss" else 80)


def _open_once(url: str, address: Tuple[str, int], seconds: float, send_deadline: float, access: Access) -> WireClient:
    websocket = _open_socket(url, address, seconds, send_deadline, access)
    hello: Optional[Hello] = None
    try:
        hello = _shake_hands(websocket, url, seconds)
    finally:
        if hello is None:
            websocket.close()
    return WireClient(url, websocket, hello)


def _open_socket(
    url: str, address: Tuple[str, int], seconds: float, send_deadline: float, access: Access
) -> ClientConnection:
    context = access.context(url)
    try:
        raw = socket.create_connection(address, timeout=seconds)
    except OSError as error:
        raise _NotYet(f"{error.strerror or error}") from None
    raw.settimeout(None)
    # Without this a server that reads nothing could hold a large observation for ever.
    whole = int(send_deadline)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", whole, int((send_deadline - whole) * 1e6)))
    try:
        # Entering is how every version of websockets hands out the connection itself; close() leaves it.
        websocket: ClientConnection = connect(
            url,
            sock=raw,
            ssl=context,
            additional_headers=access.headers(),
            compression=None,
            open_timeout=seconds,
            close_timeout=CLOSE_SECONDS,
            max_size=MAX_FRAME_BYTES,
            **_NO_KEEPALIVE,
        ).__enter__()
        return websocket
    except (TimeoutError, OSError, EOFError, ConnectionClosed) as error:
        raise _not_opened(url, address, error) from None
    except InvalidStatus as error:
        status = error.response.status_code
        if status in LOADING_STATUSES:
            raise _NotYet(f"it answers {status}, still loading") from None
        raise _refused(url, status) from None
    except InvalidMessage as error:
        if isinstance(error.__cause__, (EOFError, OSError)):
            raise _NotYet("it closed the connection during the handshake") from None
        raise _no_websocket(url) from None
    except ValueError:
        # websockets 13 lets the parser's error through.
        raise _no_websocket(url) from None
    except (InvalidHandshake, InvalidURI) as error:
        raise HandshakeError(f"{url} is no policy server: {error}") from None


def _not_opened(url: str, address: Tuple[str, int], error: Exception) -> Exception:
    if isinstance(error, ssl.SSLCertVerificationError):
        return HandshakeError(f"{url} shows a certificate that is not trusted ({error.verify_message}): name ca_file")
    return _NotYet(f"{address[0]}:{address[1]} accepted but gave no websocket: {error}")


def _refused(url: str, status: int) -> HandshakeError:
    if status == 401:
        return HandshakeError(f"{url} refuses the token: give the right one with token_file or VLASSESS_TOKEN")
    return HandshakeError(f"{url} is no policy server: it answered HTTP {status} to the websocket")


def _no_websocket(url: str) -> HandshakeError:
    return HandshakeError(f"{url} is no policy server: what it answered is no websocket handshake")


def _shake_hands(websocket: ClientConnection, url: str, seconds: float) -> Hello:
    try:
        websocket.send(Message(messages.HELLO, messages.hello_request(), 1).pack())
        answer = Message.unpack(websocket.recv(seconds))
    except TimeoutError:
        raise _NotYet("it accepted the connection but did not answer HELLO") from None
    except (WebSocketException, OSError) as error:
        raise _NotYet(f"it closed the connection on HELLO: {error}") from None
    except DecodeError as error:
        raise HandshakeError(f"{url} speaks another protocol: {error}") from None
    if answer.type == messages.ERROR:
        raise HandshakeError(f"{url} refused HELLO: {messages.parse_error(answer.payload)}")
    if answer.type != messages.HELLO or answer.seq != 1:
        raise HandshakeError(f"{url} speaks another protocol: it answered {answer.type} {answer.seq} to HELLO")
    hello = messages.parse_hello(answer.payload)
    if hello.spec is None:
        raise HandshakeError(f"{url} is no policy server: its HELLO names no model_server")
    return hello
