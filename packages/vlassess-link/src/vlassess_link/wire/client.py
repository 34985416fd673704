"""The client's end of one connection: connects, says HELLO, asks and waits, never longer than a deadline.

One connection serves one thread. After any failure it is closed and stays closed: whoever goes on must open
a new one and start a new episode, so that no answer is ever taken for another question's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from websockets.exceptions import ConnectionClosed, WebSocketException

from vlassess_link.errors import ConnectionLost, DecodeError, HandshakeError, InferenceTimeout
from vlassess_link.wire import messages
from vlassess_link.wire.access import PLAIN, Access
from vlassess_link.wire.codec import Frame
from vlassess_link.wire.dialling import NotYet, address_of, connect, retried
from vlassess_link.wire.images import require_format
from vlassess_link.wire.memory import SharedMemory, share
from vlassess_link.wire.messages import Hello, Message
from vlassess_link.wire.patterns import Read, Reader, Writer
from vlassess_link.wire.websocket import WebSocket

CLOSE_SECONDS = 1.0


@dataclass(frozen=True)
class Options:
    """How arrays travel, as far as a client can choose; what both ends can is agreed in HELLO.

    Attributes:
        images: How images go, one of `images.FORMATS`: encoded ones are for slow networks, and "jpeg" changes
            what the policy sees.
        shared_memory: Whether to offer memory to a server on this host.
    """

    images: str = "raw"
    shared_memory: bool = True

    def __post_init__(self) -> None:
        require_format(self.images)


DEFAULT = Options()
"""Exact, and as fast as both ends can."""


class WireClient:
    """One open connection to a policy server, after HELLO.

    Attributes:
        url: Where the server is.
        hello: What it announced.
    """

    def __init__(self, url: str, websocket: WebSocket, hello: Hello, options: Options) -> None:
        self.url = url
        self.hello = hello
        self._websocket = websocket
        self._form = options.images
        self._memory: Optional[SharedMemory] = None
        self._reader = Reader()
        self._writer = Writer()
        self._out_of_band = messages.OUT_OF_BAND in hello.capabilities and options.images == "raw"
        websocket.trivial_mask = messages.OUT_OF_BAND in hello.capabilities
        self._seq = 1
        self._awaiting = False

    def use_memory(self, memory: SharedMemory) -> None:
        """Send arrays through memory that the server has mapped; the client closes it."""
        self._memory = memory
        self._writer = Writer(memory.view)

    @property
    def usable(self) -> bool:
        """Whether the connection is open, as far as the system knows, and no answer is outstanding."""
        return not self._awaiting and self._websocket.alive

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
            came, found, seq = self._receive(kind, deadline, until)
        except DecodeError as error:
            raise DecodeError(f"{self.url} sent no answer to the {kind} message: {error}") from error
        if came == messages.ERROR:
            raise messages.parse_error(found)
        if seq != self._seq or came != answer:
            raise DecodeError(
                f"{self.url} answered {came} {seq} while {answer} {self._seq} was awaited: the answer belongs to "
                "another message"
            )
        self._awaiting = False
        return found

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
        self._websocket.close(timeout=CLOSE_SECONDS)
        self._writer.close()
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _frame(self, kind: str, payload: Mapping[str, Any]) -> Frame:
        if self._awaiting or not self._websocket.open:
            raise ConnectionLost(f"the connection to {self.url} is closed: start a new episode to open another")
        seq = self._seq + 1
        if self._out_of_band:
            frame = self._writer.frame(kind, payload, seq)
        else:
            frame = Message(kind, payload, seq).pack(self._form)
        self._seq = seq
        return frame

    def _send(self, frame: Frame, until: float) -> None:
        try:
            self._websocket.send(frame, max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise InferenceTimeout(f"{self.url} took no bytes within the inference deadline") from None
        except (ConnectionClosed, OSError) as error:
            raise ConnectionLost(f"the connection to {self.url} broke while sending: {error}") from None

    def _receive(self, kind: str, deadline: float, until: float) -> Read:
        try:
            return self._reader.read(self._websocket.recv(max(0.0, until - time.monotonic())))
        except TimeoutError:
            raise InferenceTimeout(
                f"{self.url} did not answer the {kind} message within {deadline:g} s: mend the policy or raise the "
                "inference deadline"
            ) from None
        except (ConnectionClosed, OSError) as error:
            raise ConnectionLost(
                f"the connection to {self.url} broke while the answer to the {kind} message was awaited: {error}"
            ) from None


def open_client(url: str, connect_deadline: float, access: Access = PLAIN, options: Options = DEFAULT) -> WireClient:
    """Connect and say HELLO, retrying while nobody listens or the policy still loads.

    Args:
        url: ``ws://host:port``.
        connect_deadline: Seconds for all tries together.
        access: Token and trusted certificates.
        options: How arrays travel.

    Raises:
        ContractError: the url is none of a websocket.
        PolicyUnavailable: nobody answered in time.
        HandshakeError: somebody answered who speaks another protocol; at once.
    """
    return retried(url, connect_deadline, lambda seconds: _open_once(url, seconds, access, options))


def _open_once(url: str, seconds: float, access: Access, options: Options) -> WireClient:
    websocket = connect(url, seconds, access)
    wanted = options.shared_memory and options.images == "raw" and _is_here(address_of(url)[0])
    memory = share() if wanted else None
    client: Optional[WireClient] = None
    try:
        hello = _shake_hands(websocket, url, seconds, memory)
        client = WireClient(url, websocket, hello, options)
        if memory is not None and messages.SHARED_MEMORY in hello.capabilities:
            client.use_memory(memory)
            memory.forget_descriptor()
            memory = None
    finally:
        if memory is not None:
            memory.close()
        if client is None:
            websocket.close(timeout=CLOSE_SECONDS)
    return client


def _is_here(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _shake_hands(websocket: WebSocket, url: str, seconds: float, memory: Optional[SharedMemory]) -> Hello:
    try:
        offer = memory.offer if memory is not None else None
        websocket.send(Message(messages.HELLO, messages.hello_request(offer), 1).pack(), seconds)
        answer = Message.unpack(websocket.recv(seconds))
    except TimeoutError:
        raise NotYet("it accepted the connection but did not answer HELLO") from None
    except (WebSocketException, OSError) as error:
        raise NotYet(f"it closed the connection on HELLO: {error}") from None
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
