"""A million mutated frames at a server that others are using at the same time.

    python -m tests.link.wire.fuzz --frames 1000000 --seconds 1200

Each frame begins as a sound one of some dialect and form, and is cut, flipped, spliced, or given other lengths. It
goes through the decoders, where only `DecodeError` may come out (and out of a `Reader` that has seen the like the same
as out of one that has not), and one in ``--every`` of them to a server as well,
as a message or as raw bytes in place of websocket frames. A policy of another session is asked all the while, and
must get its own answers. Prints one line of figures; the exit code is 1 where something was not as it must be.
"""

from __future__ import annotations

import argparse
import itertools
import random
import resource
import socket
import sys
import threading
import time
from collections import Counter as Tally
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np
from websockets.exceptions import ConnectionClosed

from tests.link.models import START, Counter, observation
from vlassess_link.errors import DecodeError, EncodeError
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire import codec, messages, openpi
from vlassess_link.wire.access import PLAIN
from vlassess_link.wire.dialling import connect
from vlassess_link.wire.messages import Message
from vlassess_link.wire.patterns import Reader, Writer
from vlassess_link.wire.server import PolicyServer, ServerOptions

MAPPING = {"images": {"observation/image": "front"}, "state": {"observation/state": [0, None]}}
MEMORY_KB = 700_000
"""Most that the process may grow by: twice the largest frame, and what images of one frame may decode to."""
SPECIAL = (0x00, 0x7F, 0x80, 0xC0, 0xC1, 0xC4, 0xC6, 0xC9, 0xD9, 0xDB, 0xDC, 0xDD, 0xDE, 0xDF, 0xFF)


@dataclass
class Result:
    """What came of it.

    Attributes:
        frames: Mutated frames that the decoders were given.
        sent: Of these, how many a server was given.
        outcomes: Of decoding, by kind.
        wrong: What was not as it must be; empty for a pass.
        grown_kb: By how much the process's memory grew at most.
        slowest: Seconds of the slowest decoding.
        asked: Observations that the undisturbed session got answered.
    """

    frames: int = 0
    sent: int = 0
    outcomes: Tally[str] = field(default_factory=Tally)
    wrong: list[str] = field(default_factory=list)
    grown_kb: int = 0
    slowest: float = 0.0
    asked: int = 0

    def __str__(self) -> str:
        outcomes = ", ".join(f"{count} {name}" for name, count in self.outcomes.most_common())
        return (
            f"{self.frames} frames decoded ({outcomes}), slowest {self.slowest * 1000:.0f} ms; {self.sent} sent; "
            f"{self.asked} answers of the undisturbed session; memory grew by {self.grown_kb / 1000:.0f} MB; "
            f"wrong: {self.wrong or 'nothing'}"
        )


def of_one_make(memory: memoryview | None) -> list[bytes]:
    """Return observations as one connection sends them one after the other, by pattern."""
    writer = Writer(memory)
    image = np.tile(np.arange(48, dtype=np.uint8), (40, 1))[:, :, None].repeat(3, axis=2)
    frames = []
    for step in range(3):
        payload = messages.observation_payload(observation(1, step, images={"front": image}))
        frame = writer.frame(messages.OBSERVATION, payload, step + 3)
        frames.append(frame if isinstance(frame, bytes) else b"".join(frame))
    return frames


def experienced() -> Reader:
    """Return a reader that knows the patterns of `of_one_make`."""
    reader = Reader()
    reader.memory = memoryview(bytes(8192))
    for memory in (None, memoryview(bytearray(8192))):
        for frame in of_one_make(memory):
            reader.read(memoryview(frame))
    return reader


def wholes() -> list[bytes]:
    """Return sound frames of every form."""
    image = np.tile(np.arange(48, dtype=np.uint8), (40, 1))[:, :, None].repeat(3, axis=2)
    obs = observation(1, images={"front": image}, extras={"depth": np.ones((3, 3), ">f4"), "flag": np.bool_(True)})
    plain = Message(messages.OBSERVATION, messages.observation_payload(obs), 3)
    parts = plain.parts()
    assert isinstance(parts, list)
    offer = {"pid": 1, "descriptor": 3, "size": 4096, "nonce": bytes(16)}
    return [
        plain.pack(),
        plain.pack("png"),
        plain.pack("jpeg"),
        b"".join(parts),
        of_one_make(None)[2],
        of_one_make(memoryview(bytearray(8192)))[2],
        Message(messages.HELLO, messages.hello_request(offer), 1).pack(),
        Message(messages.EPISODE_START, messages.start_payload(START, 1), 2).pack(),
        Message(messages.QUERY, messages.query_payload([observation(1)] * 2, 1), 4).pack(),
        openpi.pack({"observation/image": image, "observation/state": np.zeros(2), "prompt": "go"}),
        msgpack.packb({"a": {b"nd": True, b"type": "<f8", b"kind": b"", b"shape": [2], b"data": bytes(16)}}),
    ]


def mutated(rng: random.Random, sound: list[bytes]) -> bytes:
    """Return a frame that began as a sound one."""
    frame = bytearray(rng.choice(sound))
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        place = rng.randrange(len(frame) or 1)
        kind = rng.random()
        if kind < 0.5 and frame:
            frame[place % len(frame)] = rng.randrange(256) if kind < 0.3 else rng.choice(SPECIAL)
        elif kind < 0.6:
            del frame[place:]
        elif kind < 0.7:
            del frame[place : place + rng.randint(1, 8)]
        elif kind < 0.8:
            frame[place:place] = bytes(rng.choice(SPECIAL) for _ in range(rng.randint(1, 12)))
        elif kind < 0.9:
            other = rng.choice(sound)
            start = rng.randrange(len(other))
            frame[place:place] = other[start : start + rng.randint(1, 400)]
        else:
            frame[place : place + 4] = rng.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00"))
    return bytes(frame)


def fuzz(frames: int, seconds: float, seed: int, every: int) -> Result:
    """Run until that many frames were decoded or the time is over."""
    result, rng, sound, reader = Result(), random.Random(seed), wholes(), experienced()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    until = time.monotonic() + seconds
    stop = threading.Event()
    with (
        PolicyServer(Counter()) as default,
        PolicyServer(Counter(), options=ServerOptions(dialect="openpi", mapping=MAPPING)) as other,
    ):
        asking = threading.Thread(target=ask, args=(default.url, stop, result), daemon=True)
        asking.start()
        for number in itertools.takewhile(lambda n: n < frames and time.monotonic() < until, itertools.count()):
            frame = mutated(rng, sound)
            decode(frame, result, reader)
            if number % every == 0:
                send(frame, rng, default if number % (2 * every) else other)
                result.sent += 1
        stop.set()
        asking.join(30)
        if asking.is_alive():
            result.wrong.append("the undisturbed session hangs")
    result.grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if result.grown_kb > MEMORY_KB:
        result.wrong.append(f"memory grew by {result.grown_kb} kB")
    return result


def decode(frame: bytes, result: Result, reader: Reader) -> None:
    """Give a frame to all decoders."""
    message = attempt("message", lambda: Message.unpack(frame, reader.memory), frame, result)
    read = attempt("pattern", lambda: reader.read(memoryview(frame)), frame, result)
    attempt("openpi", lambda: openpi.unpack(frame), frame, result)
    agree = message == read if message is None or read is None else said(*read) == said(*message_parts(message))
    if not agree:
        result.wrong.append(f"read by pattern otherwise: {frame[:200].hex()}")
    result.frames += 1


def attempt(name: str, call: Callable[[], Any], frame: bytes, result: Result) -> Any:
    """Return what a decoder returns, None where it refuses."""
    begun = time.perf_counter()
    found = None
    try:
        found = call()
        result.outcomes[f"read as {name}"] += 1
    except DecodeError:
        result.outcomes[f"refused by {name}"] += 1
    except Exception as error:  # what the test is for: anything else is a fault
        result.wrong.append(f"{name}: {type(error).__name__}: {error}: {frame[:200].hex()}")
    result.slowest = max(result.slowest, time.perf_counter() - begun)
    return found


def message_parts(message: Message) -> tuple[str, Any, int]:
    """Return what a `Reader` returns of a message."""
    return message.type, message.payload, message.seq


def said(kind: str, payload: Any, seq: int) -> tuple[str, int, bytes]:
    """Return what can be compared of a message that was read."""
    try:
        return kind, seq, codec.pack(payload)
    except EncodeError as error:  # a text that holds half a character is read, and never sent
        return kind, seq, str(error).encode("utf-8", "replace")


def send(frame: bytes, rng: random.Random, server: PolicyServer) -> None:
    """Give a frame to a server: as a message after a sound HELLO, as the first message, or as no message at all."""
    way = rng.random()
    if way < 0.2:
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
            raw.sendall(frame)
        return
    websocket = connect(server.url, 10, PLAIN)
    try:
        if way < 0.7:
            websocket.send(Message(messages.HELLO, messages.hello_request(), 1).pack())
        if way < 0.4:
            for sound in of_one_make(None):
                websocket.send(sound)
                websocket.recv(1.0)
        if way < 0.9:
            websocket.send(frame)
            websocket.recv(0.05)
        else:
            websocket._stream.send([frame], None)
    except (ConnectionClosed, TimeoutError, OSError):
        pass
    finally:
        websocket.close(timeout=0.05)


def ask(url: str, stop: threading.Event, result: Result) -> None:
    """Ask as an honest session and note every answer that is not this session's."""
    policy = RemotePolicy(url, 10.0, 30.0)
    policy.reset(START, 1)
    while not stop.is_set():
        value = float(1000 + result.asked)
        answer = policy.predict(observation(value, result.asked)).actions
        if (answer[0, 1], answer[0, 2]) != (value, result.asked + 1):
            result.wrong.append(f"the undisturbed session got {answer[0]} for {value}")
            return
        result.asked += 1
        time.sleep(0.002)
    policy.close()


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description="Mutated frames at the decoders and a server.")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=100, help="one frame in so many is sent to a server")
    options = parser.parse_args()
    result = fuzz(options.frames, options.seconds, options.seed, options.every)
    sys.stdout.write(f"{result}\n")
    return 1 if result.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
