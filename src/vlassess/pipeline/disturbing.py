"""What a config adds to actions before they are executed, as workers are told, and why a run cannot have it."""

from __future__ import annotations

from vlassess.schema.config import RunConfig
from vlassess_link.benchmarks.disturbed import Disturbance, DisturbedSpace
from vlassess_link.specs import BenchmarkSpec


def disturbance_of(config: RunConfig) -> Disturbance | None:
    """Return what is added to actions before they are executed; None: nothing."""
    asked = config.disturbance
    if asked is None:
        return None
    if asked.push is None:
        return Disturbance(asked.noise)
    return Disturbance(asked.noise, asked.push.rate, asked.push.size, asked.push.steps)


def check_disturbance(spec: BenchmarkSpec, config: RunConfig) -> None:
    """Refuse a disturbance of actions that cannot be disturbed, before the first episode.

    Raises:
        ContractError: the benchmark's action layout has no number that could be.
    """
    if config.disturbance is not None:
        DisturbedSpace(spec.action)
