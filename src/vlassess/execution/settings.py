"""How a fleet of workers behaves; nothing here changes a result."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FleetSettings:
    """Sizes and patience.

    Attributes:
        workers: How many worker processes at most.
        attempts: Attempts per episode and coordinator, at least 1.
        deadlines: Phase -> seconds.
        lease: Seconds after which a worker that hears nothing ends itself.
        beat: Seconds between the coordinator's heartbeats.
        silence_grace: Seconds of silence beyond the longest deadline before a worker is killed.
        fruitless: How often, beyond once per worker, the same thing may go wrong with no episode finished in
            between.
    """

    workers: int
    attempts: int = 3
    deadlines: Mapping[str, float] = field(default_factory=dict)
    lease: float = 120.0
    beat: float = 5.0
    silence_grace: float = 10.0
    fruitless: int = 4


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))
