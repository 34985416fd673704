"""Our frames against those of the websockets library, and every way to break them."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, ConnectionClosedOK
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.sync.client import connect
from websockets.sync.server import serve
from websockets.uri import parse_uri

from vlassess_link.wire.access import PLAIN
from vlassess_link.wire.dialling import connect as dial
from vlassess_link.wire.serving import WebSocketServer
from vlassess_link.wire.sockets import stream
from vlassess_link.wire.websocket import WebSocket

LIMIT = 2**20


@contextmanager
def pair(client: bool) -> Iterator[tuple[WebSocket, socket.socket]]:
    """One end of ours and the bare socket of the other."""
    ours, theirs = socket.socketpair()
    listening = socket.create_server(("127.0.0.1", 0))
    theirs.close()
    ours.close()
    theirs = socket.create_connection(listening.getsockname())
    ours, _ = listening.accept()
    listening.close()
    theirs.settimeout(5)
    websocket = WebSocket(stream(ours), client, LIMIT)
    try:
        yield websocket, theirs
    finally:
        theirs.close()
        websocket.close(timeout=0.1)


def their_protocol(client: bool) -> Any:
    """The other end, as the library has it."""
    if client:
        return ServerProtocol(state=State.OPEN, max_size=None)
    return ClientProtocol(parse_uri("ws://localhost"), state=State.OPEN, max_size=None)


def frames_of(protocol: Any, sock: socket.socket, count: int) -> list[Frame]:
    found: list[Frame] = []
    while len(found) < count:
        protocol.receive_data(sock.recv(65536))
        assert protocol.parser_exc is None
        found += protocol.events_received()
    return found


@pytest.mark.parametrize("client", [True, False])
@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 400_001])
def test_both_ways_agree_with_the_library(client: bool, size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    protocol = their_protocol(client)
    with pair(client) as (ours, theirs):
        sender = threading.Thread(target=ours.send, args=([data[: size // 3], b"", data[size // 3 :]],))
        sender.start()
        (frame,) = frames_of(protocol, theirs, 1)
        sender.join()
        assert (frame.opcode, frame.fin, bytes(frame.data)) == (Opcode.BINARY, True, data)
        protocol.send_binary(data)
        pieces = b"".join(protocol.data_to_send())
        writer = threading.Thread(target=theirs.sendall, args=(pieces,))
        writer.start()
        got = ours.recv(5)
        writer.join()
        assert isinstance(got, memoryview)
        assert got.readonly
        assert bytes(got) == data


def test_a_trivial_mask_is_a_legal_one() -> None:
    protocol = their_protocol(client=True)
    with pair(client=True) as (ours, theirs):
        ours.trivial_mask = True
        ours.send(b"abc" * 100)
        head = theirs.recv(4, socket.MSG_PEEK)
        assert head[1] & 0x80
        (frame,) = frames_of(protocol, theirs, 1)
        assert bytes(frame.data) == b"abc" * 100


@given(st.binary(max_size=600), st.lists(st.integers(0, 600), max_size=6), st.booleans())
def test_fragments_with_pings_between_are_one_message(data: bytes, cuts: list[int], client: bool) -> None:
    protocol = their_protocol(client)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    pieces = [data[a:b] for a, b in itertools.pairwise(places)] or [b""]
    with pair(client) as (ours, theirs):
        for number, piece in enumerate(pieces):
            last = number == len(pieces) - 1
            if number == 0:
                protocol.send_binary(piece, fin=last)
            else:
                protocol.send_continuation(piece, fin=last)
            protocol.send_ping(b"%d" % number)
        theirs.sendall(b"".join(protocol.data_to_send()))
        got = ours.recv(5)
        assert isinstance(got, memoryview)
        assert bytes(got) == data
        ours.service()
        pongs = frames_of(protocol, theirs, len(pieces))
        assert [bytes(pong.data) for pong in pongs] == [b"%d" % number for number in range(len(pieces))]


def head(first: int, second: int, *more: int) -> bytes:
    return bytes([first, second, *more])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (head(0x82, 0x01) + b"x", 1002),  # no mask
        (head(0xC2, 0x80) + bytes(4), 1002),  # a reserved bit
        (head(0x83, 0x80) + bytes(4), 1002),  # an unknown kind
        (head(0x80, 0x80) + bytes(4), 1002),  # continues nothing
        (head(0x02, 0x80) + bytes(4) + head(0x82, 0x80) + bytes(4), 1002),  # a message inside another
        (head(0x09, 0x80) + bytes(4), 1002),  # a ping in parts
        (head(0x89, 0xFE, 0, 200) + bytes(204), 1002),  # a ping too long
        (head(0x81, 0x82) + bytes(4) + b"\xff\xfe", 1007),  # no UTF-8
        (head(0x82, 0xFF) + (LIMIT + 1).to_bytes(8, "big") + bytes(4), 1009),  # too big
        (head(0x82, 0xFF) + b"\xff" * 8 + bytes(4), 1009),
        ((head(0x02, 0x80) + bytes(4)) + (head(0x00, 0x80) + bytes(4)) * 600, 1002),  # fragments without end
    ],
)
def test_what_breaks_the_protocol_ends_it_with_its_code(data: bytes, code: int) -> None:
    protocol = their_protocol(client=False)
    with pair(client=False) as (ours, theirs):
        theirs.sendall(data)
        with pytest.raises(ConnectionClosedError) as closed:
            ours.recv(5)
        assert closed.value.sent is not None
        assert closed.value.sent.code == code
        (goodbye,) = frames_of(protocol, theirs, 1)
        assert int.from_bytes(bytes(goodbye.data)[:2], "big") == code
        with pytest.raises(ConnectionClosed):
            ours.recv(1)
        with pytest.raises(ConnectionClosed):
            ours.send(b"x")


def test_a_text_is_a_text() -> None:
    protocol = their_protocol(client=False)
    with pair(client=False) as (ours, theirs):
        protocol.send_text("größer".encode())
        theirs.sendall(b"".join(protocol.data_to_send()))
        assert ours.recv(5) == "größer"
        ours.send("wörter")
        (frame,) = frames_of(protocol, theirs, 1)
        assert (frame.opcode, bytes(frame.data).decode()) == (Opcode.TEXT, "wörter")


def test_a_goodbye_is_answered_and_seen_without_reading() -> None:
    protocol = their_protocol(client=False)
    with pair(client=False) as (ours, theirs):
        assert ours.alive
        protocol.send_close(1001, "later")
        theirs.sendall(b"".join(protocol.data_to_send()))
        assert not until(lambda: ours.alive, False)
        (goodbye,) = frames_of(protocol, theirs, 1)
        assert goodbye.opcode is Opcode.CLOSE
        with pytest.raises(ConnectionClosedOK):
            ours.recv(1)


def test_a_peer_that_vanished_is_seen_without_reading() -> None:
    with pair(client=False) as (ours, theirs):
        theirs.close()
        assert not until(lambda: ours.alive, False)


def until(ask: Callable[[], bool], wanted: bool) -> bool:
    for _ in range(100):
        if ask() is wanted:
            return wanted
        time.sleep(0.01)
    return not wanted


def test_a_peer_that_was_just_heard_is_taken_for_alive_without_asking() -> None:
    protocol = their_protocol(client=False)
    with pair(client=False) as (ours, theirs):
        assert not ours.fresh
        protocol.send_binary(b"x")
        theirs.sendall(b"".join(protocol.data_to_send()))
        ours.recv(5)
        assert ours.fresh
        assert not until(lambda: ours.fresh, False)
        assert ours.alive


@pytest.mark.parametrize("size", [0, 10, 5_000, 100_000])
def test_messages_that_come_together_or_in_crumbs_are_read_one_by_one(size: int) -> None:
    protocol = their_protocol(client=False)
    with pair(client=False) as (ours, theirs):
        for number in range(5):
            protocol.send_binary(bytes([number]) * size)
        data = b"".join(protocol.data_to_send())

        def write() -> None:
            theirs.sendall(data[: len(data) // 2])
            rest = data[len(data) // 2 :]
            cut = max(1, len(rest) // 40)
            for begin in range(0, len(rest), cut):
                theirs.sendall(rest[begin : begin + cut])
                time.sleep(0.001)

        writer = threading.Thread(target=write)
        writer.start()
        assert [bytes(ours.recv(5)) for _ in range(5)] == [bytes([n]) * size for n in range(5)]  # type: ignore[arg-type]
        writer.join()


@pytest.mark.parametrize("timeout", [1.3, None])
def test_a_long_patience_is_kept_to_the_end(timeout: float | None) -> None:
    """Longer than a second the system itself ends the read, a little too soon at first."""
    with pair(client=False) as (ours, theirs):
        for _ in range(2):
            begun = time.monotonic()
            if timeout is None:
                threading.Timer(1.2, theirs.sendall, (head(0x82, 0x80) + bytes(4),)).start()
                assert len(ours.recv(None)) == 0
            else:
                with pytest.raises(TimeoutError):
                    ours.recv(timeout)
            assert 1.1 < time.monotonic() - begun < 3.0


def test_a_message_that_waits_stays_unread_while_pings_are_served() -> None:
    protocol = their_protocol(client=False)
    with pair(client=False) as (ours, theirs):
        protocol.send_ping(b"one")
        protocol.send_binary(b"x" * 50_000)
        theirs.sendall(b"".join(protocol.data_to_send()))
        assert ours.alive
        assert ours.alive
        (pong,) = frames_of(protocol, theirs, 1)
        assert bytes(pong.data) == b"one"
        assert len(ours.recv(5)) == 50_000


def test_waiting_ends_in_time_and_half_a_message_ends_the_connection() -> None:
    with pair(client=False) as (ours, theirs):
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            ours.recv(0.2)
        assert 0.15 < time.monotonic() - begun < 2.0
        assert ours.open
        theirs.sendall(head(0x82, 0x90) + bytes(4) + b"half")
        with pytest.raises(TimeoutError):
            ours.recv(0.2)
        assert not ours.open


def test_sending_ends_in_time() -> None:
    with pair(client=False) as (ours, _):
        with pytest.raises(TimeoutError):
            ours.send(bytes(50 * LIMIT), 0.2)
        assert not ours.open


def test_closing_wakes_a_reader_in_another_thread() -> None:
    with pair(client=False) as (ours, _):
        seen: list[Exception] = []

        def read() -> None:
            try:
                ours.recv()
            except ConnectionClosed as error:
                seen.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        time.sleep(0.05)
        ours.close(timeout=0.1)
        reader.join(5)
        assert len(seen) == 1


def test_against_the_librarys_own_server_and_client() -> None:
    def echo(connection: Any) -> None:
        for message in connection:
            connection.send(message)

    with serve(echo, "127.0.0.1", 0, compression=None, max_size=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ours = dial(f"ws://127.0.0.1:{server.socket.getsockname()[1]}", 5, PLAIN)
        for message in (b"", b"x" * 300_000):
            ours.send([message])
            assert bytes(ours.recv(5)) == message  # type: ignore[arg-type]
        ours.close()
        server.shutdown()

    def handler(websocket: WebSocket) -> None:
        with suppress(ConnectionClosed):
            while True:
                websocket.send(websocket.recv(5))

    listening = socket.create_server(("127.0.0.1", 0))
    own = WebSocketServer(handler, listening, lambda handshake, request: None, LIMIT)
    threading.Thread(target=own.serve_forever, daemon=True).start()
    with connect(f"ws://127.0.0.1:{listening.getsockname()[1]}", compression=None, max_size=None) as theirs:
        for sent in ("text", b"x" * 300_000):
            theirs.send(sent)
            assert theirs.recv(5) == sent
        theirs.ping().wait(5)
    own.shutdown()
