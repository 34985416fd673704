"""Looks at a start and does nothing: for pictures of initial states, with the machinery that runs episodes."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.policies.base import Policy
from vlassess_link.spaces import Layout
from vlassess_link.specs import BenchmarkSpec, PolicyIdentity, PolicySpec


class Onlooker(Policy):
    """Answers with the benchmark's hold action, else with what stands nearest to zero inside its bounds.

    Args:
        cameras: What it looks at; None: every camera.
    """

    def __init__(self, cameras: Optional[Sequence[str]] = None) -> None:
        looks = None if cameras is None else tuple(cameras)
        identity = PolicyIdentity("onlooker", revision="1")
        self.spec = PolicySpec(identity, cameras=looks, state=Layout(()), action=Layout(()), privileged=True)
        self._action = np.zeros((1, 1))

    def bind(self, benchmark: Any) -> None:
        """Learn which action does nothing."""
        self._action = still_action(benchmark.spec)[None]

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode."""

    def predict(self, obs: Observation) -> ActionChunk:
        """Do nothing."""
        return ActionChunk(self._action.copy())


def still_action(spec: BenchmarkSpec) -> np.ndarray:
    """Return the benchmark's hold action, (D,); where it declares none, zeros, moved into the bounds."""
    if spec.hold_action is not None:
        return np.array(spec.hold_action, np.float64)
    numbers = []
    for part in spec.action.components:
        low, high = (-np.inf if part.low is None else part.low), (np.inf if part.high is None else part.high)
        numbers += [min(max(0.0, low), high)] * part.size
    return np.array(numbers, np.float64)
