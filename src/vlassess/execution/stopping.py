"""How a run ends early: it is asked to (once for "finish what runs", twice for "now"), or enough is known."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from vlassess_link.data import EpisodeRecord


class StoppingRule(Protocol):
    """Decides from results whether enough is known."""

    def learn(self, record: EpisodeRecord) -> None:
        """Take in an attempt that is on disk, final or not."""

    @property
    def decision(self) -> str | None:
        """What was decided, in one sentence; None while the run has to go on."""


class NeverEnough:
    """The rule of a run that runs its whole plan."""

    @property
    def decision(self) -> str | None:
        """Decide nothing."""
        return None

    def learn(self, record: EpisodeRecord) -> None:
        """Ignore it."""


class StopSwitch:
    """Counts the requests to stop.

    Attributes:
        requests: 0 go on, 1 finish the running episodes, 2 or more stop now.
    """

    def __init__(self) -> None:
        self.requests = 0

    def press(self) -> None:
        """Ask once more."""
        self.requests += 1


@contextmanager
def stop_on_signals(switch: StopSwitch) -> Iterator[None]:
    """Press the switch at every SIGINT and SIGTERM; outside the main thread, which alone receives them, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def press(signum: int, frame: FrameType | None) -> None:
        switch.press()

    before = {number: signal.signal(number, press) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
