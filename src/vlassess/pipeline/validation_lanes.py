"""Policies that are asked without an episode: connections to a server, or a policy in this process.

A campaign keeps several connections to one policy, so that its server has the next batch at hand while the pictures of
the one after that are still being made.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from vlassess.campaign import CampaignConfig
from vlassess.catalog import Catalog
from vlassess.execution import PolicyServers, ServerStartError, label_of
from vlassess.pipeline.sides import server_launches, worker_sources
from vlassess.schema.config import PolicySource
from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import ConnectionLost, ContractError
from vlassess_link.loading import load_target
from vlassess_link.policies.base import Policy
from vlassess_link.policies.dialects import remote_policy
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer
from vlassess_link.specs import PolicySpec

LANES = 3
"""Connections to each server: one is answered, one waits its turn there, one's pictures are made."""
STATELESS = "query"
RESTARTS = 3
"""How often a server that ended is started again, and a question asked again whose answer was lost."""
LOOK, ENDING = 0.05, 2.0
"""Seconds between looks at a server, and until one whose connection broke is taken to have ended."""


class Keeper:
    """Starts servers again that end while they are asked.

    Args:
        servers: All that the campaign started.
        note: Told of it.
    """

    def __init__(self, servers: PolicyServers, note: Callable[[str], None]) -> None:
        self._servers, self._note = servers, note
        self._lock = threading.Lock()
        self._revived = -1.0
        self._ends: Counter[str] = Counter()
        self._over = ""

    def revive(self, lost: float) -> None:
        """Return when every server is ready again.

        Args:
            lost: When a connection broke, by the monotonic clock.

        Raises:
            ServerStartError: one has ended too often, or does not come up.
        """
        with self._lock:
            if self._over:
                raise ServerStartError(self._over)
            if lost <= self._revived or not self._servers.labels:
                return
            until = time.monotonic() + ENDING
            while not (ended := self._servers.poll()) and time.monotonic() < until:
                time.sleep(LOOK)
            while ended or not self._ready():
                for name in ended:
                    self._restart(name)
                time.sleep(LOOK)
                ended = self._servers.poll()
            self._revived = time.monotonic()

    def _ready(self) -> bool:
        return all(self._servers.url(name) is not None for name in self._servers.labels)

    def _restart(self, name: str) -> None:
        self._ends[name] += 1
        if self._ends[name] > RESTARTS:
            self._over = self._servers.obituary(name, f"ended {self._ends[name]} times while it was asked")
            raise ServerStartError(self._over)
        self._note(self._servers.obituary(name, "ended while it was asked, and is started again"))
        self._servers.restart(name)


@dataclass
class Lanes:
    """A policy that can be asked from several threads.

    Attributes:
        spec: The policy's.
        count: How many threads may ask at once.
    """

    spec: PolicySpec
    count: int
    _free: queue.SimpleQueue[Policy]
    _stateless: bool
    _lock: threading.Lock | None = None
    _revive: Callable[[float], None] = field(default=lambda lost: None)

    @property
    def stateless(self) -> bool:
        """Whether it answers without a session."""
        return self._stateless

    def ask(self, observations: Sequence[Observation], noise_seed: int) -> list[ActionChunk]:
        """Return the answer to each observation, each as the first of a fresh episode.

        Raises:
            PolicyFault: the policy failed.
            InfrastructureFault: it could not be reached.
            ServerStartError: its server ended, again and again.
        """
        policy = self._free.get()
        try:
            with self._lock or nullcontext():
                return self._patiently(policy, observations, noise_seed)
        finally:
            self._free.put(policy)

    def _patiently(self, policy: Policy, observations: Sequence[Observation], noise_seed: int) -> list[ActionChunk]:
        for _ in range(RESTARTS):
            try:
                return self._answers(policy, observations, noise_seed)
            except ConnectionLost:
                self._revive(time.monotonic())
        return self._answers(policy, observations, noise_seed)

    def _answers(self, policy: Policy, observations: Sequence[Observation], noise_seed: int) -> list[ActionChunk]:
        if self._stateless:
            return policy.query(observations, noise_seed)
        found = []
        for obs in observations:
            policy.reset(EpisodeStart("query", "validation", "validation", obs.instruction), noise_seed)
            found.append(policy.predict(obs))
        return found


@contextmanager
def opened(
    config: CampaignConfig, catalog: Catalog, logs: Path, note: Callable[[str], None]
) -> Iterator[dict[str, Lanes]]:
    """Start and reach every policy of a campaign; stops at the end what it started.

    Raises:
        VlassessError: one cannot be found, started or reached, or reads a simulator.
    """
    sources = {label: resolved(source, catalog) for label, source in config.policies.items()}
    with ExitStack() as stack:
        servers = PolicyServers(server_launches(sources, note), logs, config.deadlines.load)
        stack.callback(servers.stop)
        servers.start()
        served: dict[str, list[str]] = {}
        for name in servers.labels:
            url = servers.url(name)
            served.setdefault(label_of(name), []).extend([url] if url is not None else [])
        lanes, keeper = {}, Keeper(servers, note)
        for label, source in sources.items():
            lanes[label] = _lanes(source, served.get(label, []), config, stack, keeper)
            if lanes[label].spec.privileged:
                raise ContractError(f"policy {label!r} is privileged: it reads a simulator, and there is none here")
        yield lanes


def resolved(source: PolicySource, catalog: Catalog) -> PolicySource:
    """Return where a policy runs: a bundled name becomes something to serve.

    Raises:
        PluginError: no policy that needs no simulator has this name.
    """
    if source.name is None:
        return source
    target = catalog.policy_target(source.name, Path.cwd())
    return source.model_copy(update={"name": None, "serve": target})


def _lanes(
    source: PolicySource, urls: Sequence[str], config: CampaignConfig, stack: ExitStack, keeper: Keeper
) -> Lanes:
    free: queue.SimpleQueue[Policy] = queue.SimpleQueue()
    if source.local is not None:
        policy = stack.enter_context(_closing(_loaded(source)))
        free.put(policy)
        return Lanes(policy.spec, 1, free, STATELESS in policy.spec.capabilities, threading.Lock())
    places: list[Mapping[str, object]] = [{"url": url} for url in urls] or list(worker_sources(source))
    first: Policy | None = None
    for place in [place for _ in range(LANES) for place in places]:
        policy = remote_policy(place, config.deadlines.connect, config.deadlines.inference)
        stack.enter_context(_closing(policy))
        policy.connect()
        if first is not None and first.spec.identity.digest != policy.spec.identity.digest:
            raise ContractError(f"{place['url']} serves another policy than the other addresses: serve the same one")
        first = first or policy
        free.put(policy)
    assert first is not None
    stateless = STATELESS in first.spec.capabilities
    return Lanes(first.spec, LANES * len(places), free, stateless, _revive=keeper.revive)


def _loaded(source: PolicySource) -> Policy:
    assert source.local is not None
    found: Policy | PredictModelServer = load_target(source.local, (Policy, PredictModelServer), dict(source.params))
    return InProcessPolicy(found) if isinstance(found, PredictModelServer) else found


@contextmanager
def _closing(policy: Policy) -> Iterator[Policy]:
    try:
        yield policy
    finally:
        policy.close()
