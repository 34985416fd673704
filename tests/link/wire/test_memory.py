"""Memory that both ends share: who may have it, that it never leaks, and that everything works without it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.link.models import START, Counter, observation
from vlassess_link.errors import ConnectionLost, DecodeError
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire import codec, memory, messages
from vlassess_link.wire.client import Options
from vlassess_link.wire.messages import Message
from vlassess_link.wire.server import PolicyServer

LIMIT = 2**28


def mapped(pid: int) -> int:
    """How many of our shared memories a process has mapped."""
    return Path(f"/proc/{pid}/maps").read_text().count("memfd:vlassess")


def test_both_ends_see_the_same_bytes() -> None:
    own = memory.share(4096)
    assert own is not None
    theirs = memory.attach(own.offer, LIMIT)
    assert theirs is not None
    assert (len(own.view), len(theirs), theirs.readonly) == (4096, 4096, True)
    own.view[7:10] = b"abc"
    assert bytes(theirs[7:10]) == b"abc"
    with pytest.raises(PermissionError):
        os.ftruncate(own.offer["descriptor"], 10)
    own.close()
    assert bytes(theirs[7:10]) == b"abc"


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": bytes(16)},
        {"nonce": b""},
        {"size": 8192},
        {"size": 0},
        {"size": 2**40},
        {"descriptor": 0},
        {"descriptor": 10**6},
        {"descriptor": -1},
        {"pid": 1},
        {"pid": 2**31 - 1},
        {"pid": "self"},
        {"pid": True},
        {"descriptor": None},
    ],
    ids=str,
)
def test_what_is_not_offered_truly_is_not_had(change: dict[str, Any]) -> None:
    own = memory.share(4096)
    assert own is not None
    assert memory.attach({**own.offer, **change}, LIMIT) is None
    assert memory.attach(own.offer, 100) is None
    own.close()


@pytest.mark.parametrize("offer", [None, 3, [], {}, "pid"])
def test_an_offer_that_is_none_is_refused(offer: Any) -> None:
    assert memory.attach(offer, LIMIT) is None


def test_a_file_that_could_shrink_is_not_mapped() -> None:
    descriptor = os.memfd_create("vlassess", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 4096 + 64)
    os.pwrite(descriptor, b"n" * 16, 0)
    offer = {"pid": os.getpid(), "descriptor": descriptor, "size": 4096, "nonce": b"n" * 16}
    assert memory.attach(offer, LIMIT) is None
    os.close(descriptor)


def test_arrays_in_shared_memory_are_copied_out() -> None:
    shared = memoryview(bytearray(10_000))
    message = {"a": np.arange(600), "b": np.full((80, 40), 7, np.uint8), "small": np.arange(3)}
    frame = codec.pack_parts(message, shared)
    assert isinstance(frame, bytes)
    assert len(frame) < 500
    back = codec.unpack(frame, shared.toreadonly())
    shared[:] = bytes(10_000)
    for name, array in message.items():
        np.testing.assert_array_equal(back[name], array)
        assert not back[name].flags.writeable


def test_what_does_not_fit_goes_in_the_frame() -> None:
    shared = memoryview(bytearray(5000))
    frame = codec.pack_parts({"a": np.zeros(6000, np.uint8)}, shared)
    assert isinstance(frame, list)
    assert codec.unpack(b"".join(frame))["a"].shape == (6000,)


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda frame: frame[:8],
        lambda frame: frame[:1] + b"\x02" + frame[2:],
        lambda frame: frame[:2] + b"\x01" + frame[3:],
        lambda frame: frame[:4] + b"\xff\xff\xff\x7f" + frame[8:],
        lambda frame: frame[:8] + b"\xff\xff\xff\x7f" + frame[12:],
        lambda frame: frame + b"x",
        lambda frame: frame[:-1],
        lambda frame: frame.replace(b"\xa2at\x00", b"\xa2at\x7f\x7f"),
    ],
)
def test_a_frame_whose_lengths_lie_is_refused(spoilt: Any) -> None:
    for shared in (None, memoryview(bytearray(8000))):
        parts = codec.pack_parts({"a": np.zeros((60, 60), np.uint8)}, shared)
        frame = parts if isinstance(parts, bytes) else b"".join(parts)
        with pytest.raises(DecodeError):
            codec.unpack(spoilt(frame), shared)
    with pytest.raises(DecodeError, match="0 are shared"):
        codec.unpack(codec.pack_parts({"a": np.zeros(4000)}, memoryview(bytearray(40_000))))  # type: ignore[arg-type]


@pytest.mark.parametrize("offered", [True, False])
def test_a_policy_acts_the_same_with_it_and_without(offered: bool) -> None:
    image = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    model = Counter()
    with PolicyServer(model) as server:
        policy = RemotePolicy(server.url, options=Options(shared_memory=offered))
        client = policy._client
        assert client is not None
        assert (messages.SHARED_MEMORY in client.hello.capabilities) is offered
        policy.reset(START, 1)
        for step in range(3):
            policy.predict(observation(step, step, images={"front": np.roll(image, step)}))
        policy.close()
    for step, obs in enumerate(model.seen):
        np.testing.assert_array_equal(obs.images["front"], np.roll(image, step))


def test_a_server_that_cannot_have_it_is_sent_frames() -> None:
    """As one in another container: the offer leads nowhere."""
    with PolicyServer(Counter()) as server:
        session = server.hosted
        assert session.ready
        hello = messages.hello_request({"pid": 2**30, "descriptor": 5, "size": 4096, "nonce": bytes(16)})
        from_far = server._make_session(session, "far", lambda: True)
        answer = from_far.answer(Message(messages.HELLO, hello, 1).pack())
        assert not isinstance(answer, str)
        capabilities = messages.parse_hello(Message.unpack(answer).payload).capabilities
        assert messages.SHARED_MEMORY not in capabilities
        assert messages.OUT_OF_BAND in capabilities


CLIENT = """
import sys, time
import numpy as np
from tests.link.models import START, observation
from vlassess_link.policies.remote import RemotePolicy
policy = RemotePolicy(sys.argv[1])
policy.reset(START, 1)
policy.predict(observation(1, images={"front": np.zeros((200, 200, 3), np.uint8)}))
print("shared", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("victim", ["client", "server"])
def test_a_killed_end_leaves_nothing(victim: str) -> None:
    before = set(os.listdir("/dev/shm"))
    with PolicyServer(Counter()) as server:
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CLIENT), server.url], stdout=subprocess.PIPE, text=True
        ) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "shared\n"
            assert (mapped(client.pid), mapped(os.getpid())) == (1, 1)
            assert set(os.listdir("/dev/shm")) <= before
            client.send_signal(signal.SIGKILL if victim == "client" else signal.SIGTERM)
            client.wait(10)
        for _ in range(100):
            gc.collect()
            if mapped(os.getpid()) == 0:
                break
            server.hosted.call(lambda: None)
        survivor = RemotePolicy(server.url)
        survivor.reset(START, 1)
        assert survivor.predict(observation(1)).actions.shape == (3, 4)
        survivor.close()


def test_a_killed_server_leaves_nothing_with_the_client(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vlassess_link.policies.server", "tests.link.models:Counter"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split('"url": "')[1].split('"')[0]
        policy = RemotePolicy(url)
        policy.reset(START, 1)
        policy.predict(observation(1, images={"front": np.zeros((200, 200, 3), np.uint8)}))
        held = mapped(os.getpid())
        server.kill()
        server.wait(10)
        with pytest.raises(ConnectionLost):
            policy.predict(observation(1))
        assert mapped(os.getpid()) == held - 1
