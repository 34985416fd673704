"""Models that the wire's tests serve."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from vlassess_link.data import EpisodeStart, Observation
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.specs import PolicyIdentity, PolicySpec

START = EpisodeStart("episode-1", "walk", "to-4", "go to 4")


def observation(value: float = 0.0, step: int = 0, **changes: Any) -> Observation:
    fields: dict[str, Any] = {
        "images": {"front": np.full((4, 6, 3), int(value) % 256, np.uint8)},
        "instruction": "go to 4",
        "state": np.array([value, step], np.float32),
        "step": step,
    }
    return Observation(**{**fields, **changes})


class Counter(PredictModelServer):
    """Answers (chunk, 4): image mean, state[0], calls of predict in this episode, noise of this step.

    With the state 666 it raises, with 999 it answers NaN, with 777 it waits for `gate`.
    """

    def __init__(self, chunk: int = 3, **spec: Any) -> None:
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.starts: list[SessionContext] = []
        self.seen: list[Observation] = []
        self.closed = False
        fields: dict[str, Any] = {"chunk": chunk, "horizon": chunk, "uses_noise_seed": True, **spec}
        self.spec = PolicySpec(PolicyIdentity("counter", revision="1"), **fields)

    def start_episode(self, ctx: SessionContext) -> None:
        self.starts.append(ctx)
        if ctx.start is not None and ctx.start.task == "raise":
            raise RuntimeError("start_episode was told to raise")

    def predict(self, obs: Observation, ctx: SessionContext) -> dict[str, Any]:
        self.seen.append(obs)
        calls = ctx.memory["calls"] = ctx.memory.get("calls", 0) + 1
        x = float(obs.state[0]) if obs.state is not None else 0.0
        self._misbehave(x)
        mean = float(np.mean([image.mean() for image in obs.images.values()])) if obs.images else 0.0
        row = np.array([mean, x, calls, ctx.rng().random()])
        actions = np.tile(row, (self.spec.chunk, 1)) + np.arange(self.spec.chunk)[:, None]
        if x == 999.0:
            actions[1, 2] = np.nan
        extras = {"reasoning": f"call {calls}", "logits": np.array([1.5], np.float16), "score": np.float32(2)}
        return {"actions": actions, **extras}

    def close(self) -> None:
        self.closed = True

    def _misbehave(self, x: float) -> None:
        if x == 666.0:
            raise ValueError("the number of the beast")
        if x == 777.0:
            self.entered.set()
            self.gate.wait(20)
        if x == 111.0:
            raise SystemExit("a model that calls exit")
