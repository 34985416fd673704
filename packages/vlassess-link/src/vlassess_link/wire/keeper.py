"""Who answers for a connection while nobody reads it."""

from __future__ import annotations

import threading
from typing import Set

from vlassess_link.wire.websocket import WebSocket

SERVICE_SECONDS = 2.0
"""How often a `Keeper` looks; far below what any peer takes for death."""


class Keeper:
    """Answers the pings of peers whose connections nobody reads at the moment, from one thread for all.

    Many peers ping every 20 seconds and take 20 seconds of silence for death, which one long inference, or one
    long reset of a simulator, exceeds.
    """

    def __init__(self) -> None:
        self._kept: Set[WebSocket] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def add(self, websocket: WebSocket) -> None:
        """Look after a connection from now on."""
        self._kept.add(websocket)

    def discard(self, websocket: WebSocket) -> None:
        """Look after it no longer."""
        self._kept.discard(websocket)

    def stop(self) -> None:
        """End; returns at once."""
        self._stop.set()

    def _keep(self) -> None:
        while not self._stop.wait(SERVICE_SECONDS):
            for websocket in tuple(self._kept):
                websocket.service()
