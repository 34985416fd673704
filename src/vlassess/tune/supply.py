"""mu(B): how many observations a second a policy answers when there are always enough to fill a batch."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from vlassess.tune.probing import ServerProbe
from vlassess_link import EpisodeStart, Observation
from vlassess_link.errors import VlassessError
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire.access import Access

WARM_UP = 0.3
"""Share of the measured time that passes before it."""
PER_BATCH = 2
"""Clients for each place in a batch: while one batch is computed, the next one is there."""

Connect = Callable[[], RemotePolicy]


def measure_supply(source: Mapping[str, Any], sample: Observation, batch: int, seconds: float) -> float:
    """Return the observations a second that a policy answers at a batch size, the wire included.

    Args:
        source: The policy's, with its url.
        sample: What it is asked about.
        batch: Batch size.
        seconds: For how long is measured.

    Raises:
        VlassessError: a client failed; it is the first one's error.
    """
    access = Access.of(source)
    clients = PER_BATCH * batch if ServerProbe(source["url"], access).set_batch(batch) else batch
    crowd = [_Client(lambda: RemotePolicy(source["url"], access=access), sample, number) for number in range(clients)]
    for client in crowd:
        client.start()
    time.sleep(WARM_UP * seconds)
    before, begin = sum(client.answers for client in crowd), time.monotonic()
    time.sleep(seconds)
    after, end = sum(client.answers for client in crowd), time.monotonic()
    for client in crowd:
        client.over = True
    for client in crowd:
        client.join()
    for client in crowd:
        if client.error is not None:
            raise client.error
    return (after - before) / (end - begin)


class _Client(threading.Thread):
    """Asks again as soon as it is answered."""

    def __init__(self, connect: Connect, sample: Observation, number: int) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self.answers = 0
        self.over = False
        self.error: VlassessError | None = None
        self._connect = connect
        self._sample = sample
        self._number = number

    def run(self) -> None:
        """Ask until it is over."""
        try:
            policy = self._connect()
            try:
                self._ask(policy)
            finally:
                policy.close()
        except VlassessError as error:
            self.error = error

    def _ask(self, policy: RemotePolicy) -> None:
        policy.reset(EpisodeStart(f"tune-{self._number}", "tune", "any", self._sample.instruction), self._number)
        while not self.over:
            policy.predict(dataclasses.replace(self._sample, step=self.answers))
            self.answers += 1
