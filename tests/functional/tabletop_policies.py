"""Two policies for tabletop that differ by what a test plants: one sits out a known share of its episodes.

Both read the simulator, as the expert does; here they pass for policies under test.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from vlassess.benchmarks.tabletop.expert import ScriptedExpert
from vlassess_link import ActionChunk, EpisodeStart, Observation


class Steady(ScriptedExpert):
    """Does what the expert does."""

    name = "steady"
    sits_out = 0.0

    def __init__(self) -> None:
        super().__init__()
        identity = dataclasses.replace(self.spec.identity, name=self.name)
        self.spec = dataclasses.replace(self.spec, identity=identity)
        self._out = False

    def bind(self, benchmark: Any) -> None:
        super().bind(benchmark)
        self.spec = dataclasses.replace(self.spec, privileged=False)  # only now, since no other policy is bound

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        super().reset(start, policy_seed)
        self._out = bool(np.random.default_rng(policy_seed).random() < self.sits_out)

    def predict(self, obs: Observation) -> ActionChunk:
        return ActionChunk(np.zeros((1, 7))) if self._out else super().predict(obs)


class Tired(Steady):
    """Stands still in half of its episodes."""

    name = "tired"
    sits_out = 0.5
