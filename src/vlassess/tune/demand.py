"""lambda(K): how many observations a second K workers ask about when the policy answers at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vlassess.execution import (
    Coordinator,
    Fleet,
    FleetSettings,
    PolicyServers,
    PolicySide,
    StopSwitch,
    Work,
    WorkerLaunch,
    server_launch,
)
from vlassess.schema.events import SilentListener
from vlassess.schema.items import WorkItem
from vlassess.tune.probing import ServerProbe
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import VlassessError
from vlassess_link.jsonable import to_json
from vlassess_link.specs import BenchmarkSpec, PolicySpec
from vlassess_link.wire.access import Access

INSTANT = "vlassess_link.policies.instant:Instant"
LABEL = "instant"
POLL_SECONDS = 0.1


class TuningFailedError(VlassessError):
    """Nothing could be measured; says why."""


class _NoRecords:
    def append(self, records: Sequence[EpisodeRecord]) -> None:
        """Keep nothing."""


@dataclass(frozen=True)
class Environments:
    """What the workers run.

    Attributes:
        launch: How they start.
        items: Episodes, for the instant policy; more than can be run while measuring.
        deadlines: Seconds by phase.
        horizon: Executed actions per chunk, where the config says.
        logs: Folder for what children say.
    """

    launch: WorkerLaunch
    items: Sequence[WorkItem]
    deadlines: dict[str, float]
    horizon: int | None
    logs: Path


class Demand:
    """Measures demand with one instant server, which is started once.

    Args:
        environments: What the workers run.
        benchmark: Its actions' size, and how to stand still where it says.
        policy: What the instant policy looks at, and how long its chunks are.
    """

    def __init__(self, environments: Environments, benchmark: BenchmarkSpec, policy: PolicySpec) -> None:
        self._environments = environments
        self.sample = environments.logs / "observation.npz"
        still = list(benchmark.hold_action or (0.0,) * benchmark.action.size)
        params = {"spec": to_json(policy), "action": still, "keep": str(self.sample)}
        self._servers = PolicyServers({LABEL: server_launch(INSTANT, params)}, environments.logs, 60.0)

    def start(self) -> None:
        """Start the instant server."""
        self._servers.start()

    def stop(self) -> None:
        """Stop it."""
        self._servers.stop()

    def measure(self, workers: int, seconds: float) -> float:
        """Return the observations a second of ``workers`` workers, resets included.

        Raises:
            TuningFailedError: the workers cannot run episodes; says why.
        """
        stop = StopSwitch()
        window = _Window(ServerProbe(str(self._servers.url(LABEL)), Access()), workers, seconds, stop)
        environments = self._environments
        settings = FleetSettings(workers, deadlines=environments.deadlines)
        fleet = Fleet(environments.launch, settings, environments.logs)
        side = PolicySide({}, {LABEL: environments.horizon}, self._servers)
        window.start()
        work = Work(environments.items, settings)
        ending = Coordinator(work, fleet, side, _NoRecords(), SilentListener(), stop).run()
        window.over.set()
        window.join()
        if window.rate is None:
            reason = ending.reason or "there were too few; give the config more episodes"
            raise TuningFailedError(f"{workers} workers did not all run episodes for long enough: {reason}")
        return window.rate


class _Window(threading.Thread):
    """Waits until every worker has an episode, counts for a while, then stops the run."""

    def __init__(self, probe: ServerProbe, workers: int, seconds: float, stop: StopSwitch) -> None:
        super().__init__(name="window", daemon=True)
        self.rate: float | None = None
        self.over = threading.Event()
        self._probe = probe
        self._workers = workers
        self._seconds = seconds
        self._stop_switch = stop

    def run(self) -> None:
        """Measure."""
        try:
            self._measure()
        finally:
            for _ in range(2):
                self._stop_switch.press()

    def _measure(self) -> None:
        while self._probe.metric("episodes_running") < self._workers:
            if self.over.wait(POLL_SECONDS):
                return
        before, begin = self._probe.metric("predictions_total"), time.monotonic()
        if not self.over.wait(self._seconds):
            after, end = self._probe.metric("predictions_total"), time.monotonic()
            self.rate = (after - before) / (end - begin)
