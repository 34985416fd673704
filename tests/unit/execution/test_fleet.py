"""Who is charged when a worker ends in mid-episode."""

from __future__ import annotations

import queue
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vlassess.execution.fleet import Seat
from vlassess.execution.process import Event, LineProcess
from vlassess_link.worker import EXIT_LEASE


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    events: queue.Queue[Event] = queue.Queue()
    process = LineProcess((sys.executable, "-c", "input()"), {}, events, tmp_path / "worker.log")
    yield Seat(0, process, tmp_path / "worker-0.phase")
    process.close(patience=0.0)


@pytest.mark.parametrize(
    ("local", "phase", "origin", "kind"),
    [
        (False, "step", "benchmark", "PhaseTimeout"),
        # What was heard last is up to a second old, and waiting for a socket silences nobody.
        (False, "inference", "benchmark", "PhaseTimeout"),
        (True, "inference", "policy", "InferenceTimeout"),
        (True, "step", "benchmark", "PhaseTimeout"),
    ],
)
def test_a_worker_that_was_silenced(seat: Seat, local: bool, phase: str, origin: str, kind: str) -> None:
    seat.silenced, seat.local = True, local
    seat.hear({"phase": phase})
    fate = seat.fate(-signal.SIGKILL, 5.0)
    assert (fate.origin, fate.kind, fate.phase) == (origin, kind, phase)


@pytest.mark.parametrize(
    ("returncode", "phase", "origin"),
    [
        (-signal.SIGKILL, "step", "infrastructure"),
        (EXIT_LEASE, "step", "infrastructure"),
        (1, "connect", "infrastructure"),
        (1, "step", "benchmark"),
        (-signal.SIGSEGV, "step", "benchmark"),
    ],
)
def test_a_worker_that_died(seat: Seat, returncode: int, phase: str, origin: str) -> None:
    seat.hear({"phase": phase})
    fate = seat.fate(returncode, 5.0)
    assert (fate.origin, fate.kind) == (origin, "WorkerDied")


def test_the_last_words_of_a_huge_log_are_read_from_its_end(seat: Seat) -> None:
    with seat.process.log.open("wb") as file:
        file.truncate(2**34)  # sparse: 16 GiB that are nowhere
        file.seek(0, 2)
        file.write(b"\nout of luck\n")
    began = time.monotonic()
    assert seat.process.last_words(1) == "out of luck"
    assert time.monotonic() - began < 5
