"""What the execution benchmark runs: a policy that looks but does not think, and an environment that sleeps."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from vlassess_link import (
    Benchmark,
    BenchmarkSpec,
    Episode,
    Observation,
    PolicyIdentity,
    PolicySpec,
    PredictModelServer,
    RawObservation,
    SessionContext,
    StepOutcome,
    StepResult,
    TaskSpec,
)
from vlassess_link.spaces import Component, Layout


class OpenLoop(PredictModelServer):
    """Looks at every camera and waves the arm: its actions are a function of the step alone."""

    def __init__(self, chunk: int = 10, horizon: int = 10) -> None:
        self.spec = PolicySpec(PolicyIdentity("open-loop", revision="1"), chunk=chunk, horizon=horizon)

    def predict(self, obs: Observation, ctx: SessionContext) -> Mapping[str, Any]:
        """Return the next actions, (chunk, 7)."""
        steps = obs.step + np.arange(self.spec.chunk)
        phases = np.arange(7) / 7
        return {"actions": 0.4 * np.sin(steps[:, None] / 8 + 2 * np.pi * phases)}


class Sleeping(Benchmark):
    """One control step that sleeps for ``scene["seconds"]``."""

    spec = BenchmarkSpec(
        "sleeping", "1", (TaskSpec("sleep", "any", 1, "sleep"),), Layout((Component("x", "other", 1),))
    )

    def __init__(self) -> None:
        self._seconds = 0.0

    def reset(self, episode: Episode) -> RawObservation:
        """Read the length."""
        self._seconds = float(episode.scene["seconds"])
        return RawObservation(None, "sleep", {"seconds": np.array([self._seconds])})

    def step(self, action: np.ndarray) -> StepResult:
        """Sleep."""
        time.sleep(self._seconds)
        return StepResult(RawObservation(None, "sleep"))

    def make_obs(self, raw: RawObservation) -> Observation:
        """Return an empty observation."""
        return Observation({}, raw.instruction)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Return success."""
        return StepOutcome(True, 1.0)


class Still(PredictModelServer):
    """One zero."""

    spec = PolicySpec(PolicyIdentity("still", revision="1"), cameras=())

    def predict(self, obs: Observation, ctx: SessionContext) -> Mapping[str, Any]:
        """Return (1,) of zero."""
        return {"actions": np.zeros(1)}


class Batched(PredictModelServer):
    """Sleeps as long as a model with good batching computes: 18 ms for one observation, 29 ms for sixteen."""

    spec = PolicySpec(PolicyIdentity("batched", revision="1"))

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Mapping[str, Any]]:
        """Return (1, 8) of zeros for each."""
        time.sleep(0.018 + 0.0007 * len(obs))
        return [{"actions": np.zeros((1, 8))} for _ in obs]
