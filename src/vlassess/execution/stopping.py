"""How a run is asked to stop: once for "finish what runs", twice for "now"."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
