"""What a config says of real time, as workers are told, and why a run cannot have it."""

from __future__ import annotations

from vlassess.schema.config import LatencyConfig, RunConfig
from vlassess_link.benchmarks.pacing import Latency, RealTime
from vlassess_link.benchmarks.realtime import hold_action
from vlassess_link.specs import BenchmarkSpec


def rules_of(config: RunConfig) -> RealTime | None:
    """Return how the episodes run in real time; None: the simulator waits for each answer."""
    asked = config.realtime
    if asked is None:
        return None
    latency = None if asked.latency is None else _latency(asked.latency)
    return RealTime(asked.pace, latency, asked.await_first, asked.skip_past, asked.asynchronous)


def check_realtime(spec: BenchmarkSpec, config: RunConfig) -> None:
    """Refuse a run in real time on a benchmark that cannot hold still, before the first episode.

    Raises:
        ContractError: it declares no hold action.
    """
    if config.realtime is not None:
        hold_action(spec)


def _latency(asked: LatencyConfig) -> Latency:
    if asked.lognormal is not None:
        return Latency("lognormal", asked.lognormal.median, asked.lognormal.sigma)
    if asked.empirical is not None:
        return Latency("empirical", samples=asked.empirical)
    return Latency(seconds=asked.constant or 0.0)
