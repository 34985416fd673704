"""One websocket on a blocking socket: whoever asks also reads, so that no other thread has to wake up.

The opening handshake is that of the websockets library (its sans-I/O protocols); the frames after it are read
and written here (RFC 6455), because an observation is some hundred kilobytes and each copy of it, and each
hand-over between threads, costs more than everything else on the wire. What is sent goes from its owner's
memory to the socket; what is received goes from the socket into the buffer that its arrays will be views of.

A client must mask what it sends with a key of four bytes, so that no script in a browser can make a proxy
see a request of its choosing. Towards a server of ours the key is zero, which changes no byte and is as legal:
here no stranger chooses the bytes, and masking would be one more pass over every image.
"""

from __future__ import annotations

import os
import threading
import time
from typing import List, Optional, Sequence, Tuple, Union

import numpy as np
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, ConnectionClosedOK
from websockets.frames import Close

from vlassess_link.wire import frames
from vlassess_link.wire.frames import (
    BAD_TEXT,
    BINARY,
    CLOSE,
    CONTINUATION,
    GOING_AWAY,
    NO_MASK,
    NORMAL,
    PING,
    PONG,
    PROTOCOL_ERROR,
    TEXT,
    TOO_BIG,
    Broken,
)
from vlassess_link.wire.sockets import Buffer, Stream

_CHUNK_BYTES = 8192
_FRAGMENTS = 512


FRESH_SECONDS = 0.05
"""For how long a peer is taken to be still there after its last message."""


class WebSocket:
    """Sends and receives whole messages.

    One thread reads at a time. Any thread may send, and `close` or `service` from another one.

    Args:
        stream: Connected, after the handshake.
        client: Whether this end opened the connection, and so masks.
        max_size: Most bytes of one message.
        rest: What was received behind the handshake.

    Attributes:
        trivial_mask: Mask with zeros; for a client, set when the server is known to be of ours.
    """

    def __init__(self, stream: Stream, client: bool, max_size: int, rest: bytes = b"") -> None:
        self.trivial_mask = False
        self._stream = stream
        self._client = client
        self._max_size = max_size
        # What was read and not yet used lies in the buffer between begin and end.
        self._buffer = bytearray(rest.ljust(_CHUNK_BYTES, b"\0"))
        self._scratch = memoryview(self._buffer)
        self._begin, self._end = 0, len(rest)
        self._reading = threading.Lock()
        self._sending = threading.Lock()
        self._over = False
        self._ended = threading.Event()
        self._sent: Optional[Close] = None
        self._received: Optional[Close] = None
        self._until: Optional[float] = None
        self._heard = 0.0

    @property
    def open(self) -> bool:
        """Whether no goodbye was said on either side, as far as was read."""
        return not self._over and self._sent is None

    @property
    def alive(self) -> bool:
        """Whether the peer is still there, as far as the socket knows; answers its pings on the way."""
        self.service()
        return self.open

    @property
    def fresh(self) -> bool:
        """Whether it was there so lately that asking the socket is not worth the while."""
        return self.open and time.monotonic() - self._heard < FRESH_SECONDS

    def recv(self, timeout: Optional[float] = None) -> Union[str, memoryview]:
        """Return the next message: a text, or a read-only view of a buffer of its own.

        Args:
            timeout: Seconds for the whole message; None: for ever. A message of which a part has come by
                then cannot be taken up again, and closes the connection.

        Raises:
            TimeoutError: nothing, or not all, came in time.
            ConnectionClosed: the connection is closed, or was closed for breaking the protocol.
        """
        with self._reading:
            self._until = None if timeout is None else time.monotonic() + timeout
            try:
                message = self._message()
                self._heard = time.monotonic()
                return message
            except Broken as error:
                self._say_goodbye(error.code, str(error))
                self._finish()
                raise self._closed() from None
            except TimeoutError:
                raise
            except OSError:
                self._finish()
                raise self._closed() from None

    def send(self, message: Union[str, Buffer, Sequence[Buffer]], timeout: Optional[float] = None) -> None:
        """Send a message: a text, a buffer, or several that belong one after the other.

        Raises:
            TimeoutError: the peer took too little of it in time; the connection is closed.
            ConnectionClosed: the connection is closed.
        """
        kind = TEXT if isinstance(message, str) else BINARY
        parts: Sequence[Buffer]
        if isinstance(message, str):
            parts = (message.encode(),)
        else:
            parts = (message,) if isinstance(message, (bytes, bytearray, memoryview)) else message
        if not self.open:
            raise self._closed()
        try:
            self._write(kind, parts, timeout)
        except TimeoutError:
            self._finish()
            raise
        except OSError:
            self._finish()
            raise self._closed() from None

    def close(self, code: int = NORMAL, reason: str = "", timeout: float = 1.0) -> None:
        """Say goodbye, wait ``timeout`` seconds at most for the peer's, and close the socket."""
        self._say_goodbye(code, reason)
        if self._reading.acquire(blocking=False):
            try:
                self._drain(timeout)
            finally:
                self._reading.release()
        else:
            self._ended.wait(timeout)
        self._finish()
        # Only when nobody reads any more may the descriptor's number go to somebody else.
        if self._reading.acquire(timeout=timeout):
            self._stream.close()
            self._reading.release()

    def service(self) -> None:
        """Answer the peer's pings and take note of its goodbye, without waiting; messages stay unread.

        Whoever is busy for long has this called from time to time, or the peer may think it dead.
        """
        if self._over or not self._reading.acquire(blocking=False):
            return
        try:
            self._until = 0.0
            self._control_frames()
        except Broken as error:
            self._say_goodbye(error.code, str(error))
            self._finish()
        except TimeoutError:
            pass
        except OSError:
            self._finish()
        finally:
            self._reading.release()

    # Reading

    def _message(self) -> Union[str, memoryview]:
        kind: Optional[int] = None
        pieces: List[memoryview] = []
        size = 0
        while True:
            final, opcode, length, mask = self._head(begun=kind is not None)
            if final and opcode == BINARY and kind is None:
                return self._payload(length, mask).toreadonly()
            if opcode >= CLOSE:
                self._control(opcode, self._payload(length, mask))
                continue
            if (opcode == CONTINUATION) != (kind is not None):
                raise Broken(PROTOCOL_ERROR, "a fragment that continues nothing, or a message inside another")
            kind = opcode if kind is None else kind
            size += length
            if size > self._max_size:
                raise Broken(TOO_BIG, f"more than {self._max_size} bytes in one message")
            pieces.append(self._payload(length, mask))
            if final:
                break
            if len(pieces) > _FRAGMENTS:
                raise Broken(PROTOCOL_ERROR, f"more than {_FRAGMENTS} fragments")
        whole = pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))
        if kind == BINARY:
            return whole.toreadonly()
        try:
            return str(whole, "utf-8")
        except UnicodeDecodeError:
            raise Broken(BAD_TEXT, "a text that is not UTF-8") from None

    def _head(self, begun: bool) -> Tuple[bool, int, int, bytes]:
        """Return (final, opcode, length, mask) of the next frame; ``begun``: a message is half there."""
        parsed = self._parsed_head()
        if parsed is None:
            try:
                self._fill()
            except TimeoutError:
                if begun or self._begin < self._end:
                    self._finish()
                raise
            parsed = self._parsed_head()
        while parsed is None:
            self._fill(fatal=True)
            parsed = self._parsed_head()
        final, opcode, length, mask, used = parsed
        self._begin += used
        return final, opcode, length, mask

    def _parsed_head(self) -> Optional[frames.Head]:
        return frames.parse_head(self._buffer, self._begin, self._end, not self._client, self._max_size)

    def _payload(self, length: int, mask: bytes) -> memoryview:
        begin, ready = self._begin, self._end - self._begin
        if length <= ready:
            self._begin += length
            view = memoryview(self._buffer[begin : begin + length])
        else:
            view = np.empty(length, np.uint8).data
            view[:ready] = self._scratch[begin : self._end]
            self._begin = self._end = 0
            try:
                while ready < length:
                    ready += self._receive(view[ready:], whole=True)
            except TimeoutError:
                self._finish()
                raise
        if mask != NO_MASK and length:
            frames.apply_mask(np.frombuffer(view, np.uint8), mask)
        return view

    def _fill(self, fatal: bool = False) -> None:
        """Read what there is; ``fatal``: running out of time ends the connection."""
        if self._begin:
            rest = self._buffer[self._begin : self._end]
            self._scratch[: len(rest)] = rest
            self._begin, self._end = 0, len(rest)
        try:
            self._end += self._receive(self._scratch[self._end :] if self._end else self._scratch)
        except TimeoutError:
            if fatal:
                self._finish()
            raise

    def _receive(self, view: memoryview, whole: bool = False) -> int:
        if self._over:
            raise ConnectionResetError("the connection is closed")
        return self._stream.recv_into(view, self._until, whole)

    def _control_frames(self) -> None:
        while True:
            parsed = self._parsed_head()
            if parsed is not None and parsed[1] < CLOSE:
                return
            if parsed is not None and self._end - self._begin >= parsed[4] + parsed[2]:
                _, opcode, length, mask, used = parsed
                self._begin += used
                self._control(opcode, self._payload(length, mask))
            else:
                self._fill()

    def _control(self, opcode: int, payload: memoryview) -> None:
        if opcode == PING:
            self._write(PONG, [bytes(payload)], 1.0)
        elif opcode == CLOSE:
            self._received = frames.parse_goodbye(payload)
            self._say_goodbye(self._received.code if frames.is_sendable(self._received.code) else NORMAL, "")
            self._finish()
            raise OSError("the peer said goodbye")

    # Writing

    def _write(self, opcode: int, parts: Sequence[Buffer], timeout: Optional[float]) -> None:
        head = frames.head(opcode, sum(map(len, parts)), self._client)
        if self._client:
            mask = NO_MASK if self.trivial_mask else os.urandom(4)
            head += mask
            if mask != NO_MASK:
                parts = [frames.masked(parts, mask)]
        until = None if timeout is None else time.monotonic() + timeout
        with self._sending:
            self._stream.send([head, *parts], until)

    def _say_goodbye(self, code: int, reason: str) -> None:
        if self._sent is not None or self._over:
            return
        self._sent = Close(code, reason[:100])
        try:
            self._write(CLOSE, [self._sent.serialize()], 1.0)
        except OSError:
            self._finish()

    def _drain(self, timeout: float) -> None:
        self._until = time.monotonic() + timeout
        try:
            while not self._over:
                self._message()
        except (OSError, Broken):
            pass

    def _finish(self) -> None:
        if not self._over:
            self._over = True
            self._ended.set()
            self._stream.shut()

    def _closed(self) -> ConnectionClosed:
        kind = ConnectionClosedOK if _fine(self._received) and _fine(self._sent) else ConnectionClosedError
        return kind(self._received, self._sent, self._received is not None if self._sent and self._received else None)


def _fine(close: Optional[Close]) -> bool:
    return close is not None and close.code in (NORMAL, GOING_AWAY)
