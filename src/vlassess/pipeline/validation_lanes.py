"""Policies that are asked without an episode: connections to a server, or a policy in this process.

A campaign keeps several connections to one policy, so that its server has the next batch at hand while the pictures of
the one after that are still being made.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vlassess.campaign import CampaignConfig
from vlassess.catalog import Catalog
from vlassess.execution import PolicyServers, label_of
from vlassess.pipeline.sides import server_launches, worker_sources
from vlassess.schema.config import PolicySource
from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import ContractError
from vlassess_link.loading import load_target
from vlassess_link.policies.base import Policy
from vlassess_link.policies.dialects import remote_policy
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer
from vlassess_link.specs import PolicySpec

LANES = 3
"""Connections to each server: one is answered, one waits its turn there, one's pictures are made."""
STATELESS = "query"


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

    @property
    def stateless(self) -> bool:
        """Whether it answers without a session."""
        return self._stateless

    def ask(self, observations: Sequence[Observation], noise_seed: int) -> list[ActionChunk]:
        """Return the answer to each observation, each as the first of a fresh episode.

        Raises:
            PolicyFault: the policy failed.
            InfrastructureFault: it could not be reached.
        """
        policy = self._free.get()
        try:
            if self._lock is None:
                return self._answers(policy, observations, noise_seed)
            with self._lock:
                return self._answers(policy, observations, noise_seed)
        finally:
            self._free.put(policy)

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
        lanes = {}
        for label, source in sources.items():
            lanes[label] = _lanes(source, served.get(label, []), config, stack)
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


def _lanes(source: PolicySource, urls: Sequence[str], config: CampaignConfig, stack: ExitStack) -> Lanes:
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
    return Lanes(first.spec, LANES * len(places), free, STATELESS in first.spec.capabilities)


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
