"""Where each policy answers: one place or several replicas, which of them gets the next episode, which is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlassess.execution.servers import PolicyServers, label_of
from vlassess_link.data import ErrorInfo
from vlassess_link.digest import canonical_json

Source = Mapping[str, Any]
"""A policy source of the worker's protocol."""

LOST = ("ConnectionLost", "PolicyUnavailable", "PolicyHangs", "InferenceTimeout")
"""Errors after which a replica is avoided for a while."""
HUNG = ("PolicyHangs", "InferenceTimeout")
"""Errors after which the one inference thread of a server of ours hangs, so that nobody else would be answered."""
AVOIDED_SECONDS = 5.0
AVOIDED_AT_MOST = 80.0


@dataclass
class _Replica:
    """One place that answers for a policy.

    Attributes:
        server: Which of our servers it is, None for somebody else's and for what runs in the worker.
        source: As workers get it, without the url of a server of ours.
        load: Episodes that it is busy with.
        losses: How often it was lost since it last finished an episode.
        again: When it may be asked again, in seconds of the clock.
    """

    server: str | None
    source: Source
    load: int = 0
    losses: int = 0
    again: float = 0.0


class PolicySide:
    """How the episodes of the run's policies are run.

    Args:
        sources: Label -> policy source, or several, for policies that have no server of ours.
        horizons: Label -> executed actions per chunk, where the config says.
        servers: The policies that the run serves itself, several replicas each or one.
        extras: Label -> what a source of one of our servers has beside its url.
        clock: Seconds, from anywhere.

    Attributes:
        horizons: As given.
        servers: As given.
    """

    def __init__(
        self,
        sources: Mapping[str, Source | Sequence[Source]],
        horizons: Mapping[str, int | None],
        servers: PolicyServers,
        extras: Mapping[str, Mapping[str, Any]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.horizons = horizons
        self.servers = servers
        self._clock = clock
        self._replicas: dict[str, list[_Replica]] = {}
        for label, given in sources.items():
            several = [given] if isinstance(given, Mapping) else list(given)
            self._replicas[label] = [_Replica(None, source) for source in several]
        for name in servers.labels:
            label = label_of(name)
            self._replicas.setdefault(label, []).append(_Replica(name, (extras or {}).get(label, {})))

    def ready(self) -> set[str]:
        """Return the labels of the policies that can be asked now."""
        return {label for label, replicas in self._replicas.items() if any(map(self._answers, replicas))}

    def source_for(self, label: str) -> Source:
        """Return where the next episode of a policy in `ready` runs: the least loaded replica, one lost lately last."""
        now = self._clock()
        able = [replica for replica in self._replicas[label] if self._answers(replica)]
        chosen = min(able, key=lambda replica: (replica.again > now, replica.load, replica.losses))
        chosen.load += 1
        return self._source(chosen)

    def finished(self, label: str, source: Source, error: ErrorInfo | None = None) -> None:
        """Say that an attempt at a source that `source_for` gave has ended, and with which error.

        A replica that was lost is avoided for a while, longer each time, as long as another one answers. A server
        of ours that hangs is killed; `poll` starts it again.
        """
        replica = self._find(label, source)
        if replica is None:
            return
        replica.load -= 1
        if error is None or error.kind not in LOST:
            replica.losses = 0 if error is None else replica.losses
            return
        replica.losses += 1
        replica.again = self._clock() + min(AVOIDED_SECONDS * 2 ** (replica.losses - 1), AVOIDED_AT_MOST)
        if error.kind in HUNG and replica.server is not None:
            self.servers.kill(replica.server)

    def poll(self) -> list[str]:
        """Start again every server of ours that has ended since; returns their names.

        Raises:
            ServerStartError: one that was started again took too long.
        """
        ended = self.servers.poll()
        for name in ended:
            self.servers.restart(name)
        return ended

    def _answers(self, replica: _Replica) -> bool:
        return replica.server is None or self.servers.url(replica.server) is not None

    def _source(self, replica: _Replica) -> Source:
        if replica.server is None:
            return replica.source
        return {"url": self.servers.url(replica.server), **replica.source}

    def _find(self, label: str, source: Source) -> _Replica | None:
        """Return the replica that a source is; None for a server that came back at another address meanwhile."""
        key = canonical_json(source)
        return next((found for found in self._replicas[label] if key == canonical_json(self._last(found))), None)

    def _last(self, replica: _Replica) -> Source:
        if replica.server is None:
            return replica.source
        return {"url": self.servers.last_url(replica.server), **replica.source}
