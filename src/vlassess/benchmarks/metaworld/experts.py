"""MetaWorld's own scripted experts: they read the whole state and the goal, and are an upper bound only."""

from __future__ import annotations

import warnings
from typing import Any, Protocol, runtime_checkable

import numpy as np

from vlassess_link import ActionChunk, EpisodeStart, Observation, Policy, PolicyIdentity, PolicySpec
from vlassess_link.errors import ContractError

from .adapter import action_layout, imported


@runtime_checkable
class Readable(Protocol):
    """What the expert needs of a benchmark."""

    def privileged(self) -> tuple[str, np.ndarray]:
        """Return the task and the present truth."""


class Expert(Policy):
    """The scripted policy that upstream ships for the episode's task; privileged."""

    def __init__(self) -> None:
        self.spec = PolicySpec(
            PolicyIdentity("metaworld-expert", revision="metaworld 3.1.1", weights_digest="none"),
            cameras=(),
            action=action_layout(),
            privileged=True,
        )
        self._benchmark: Readable | None = None
        self._experts: dict[str, Any] = {}

    def bind(self, benchmark: Any) -> None:
        """Take the benchmark that is read.

        Raises:
            ContractError: it has no `privileged()`.
        """
        if not isinstance(benchmark, Readable):
            raise ContractError(
                f"the MetaWorld expert was bound to {type(benchmark).__name__}; it reads metaworld-v1 only"
            )
        self._benchmark = benchmark

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Forget what the last episode's experts may have kept; there is no noise to seed."""
        self._experts = {}

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the expert's next action; the environment clips it, as upstream's own evaluation has it.

        Raises:
            ContractError: `bind` was not called.
        """
        if self._benchmark is None:
            raise ContractError("the MetaWorld expert reads the simulator: run it as a local policy, which is bound")
        task, observed = self._benchmark.privileged()
        if task not in self._experts:
            self._experts[task] = imported("metaworld.policies").ENV_POLICY_MAP[task]()
        with warnings.catch_warnings():
            # "Constant(s) may be too high": clipping is what its authors rely on.
            warnings.simplefilter("ignore")
            action = self._experts[task].get_action(observed)
        return ActionChunk(np.asarray(action)[None])
