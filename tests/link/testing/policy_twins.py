"""Policies that break the contract in exactly one way; each is found by the check of its name."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from vlassess_link.data import Observation
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import PolicyIdentity, PolicySpec

SIZE = 3


def layout(clip: bool = False) -> Layout:
    return Layout((Component("move", "position", SIZE, "delta", low=-1.0, high=1.0),), clip=clip)


class GoodPolicy(PredictModelServer):
    """Answers from what it sees and how often it was asked in this episode; noise where it is told to."""

    noise = 0.0

    def __init__(self, **spec: Any) -> None:
        declared = {"chunk": 4, "horizon": 2, "action": layout(), "cameras": ("front",), **spec}
        self.spec = PolicySpec(
            PolicyIdentity("good"),
            state=Layout((Component("x", "other", 2),)),
            stochastic=self.noise > 0,
            uses_noise_seed=True,
            **declared,
        )

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        assert obs.state is not None
        calls = ctx.memory["calls"] = ctx.memory.get("calls", 0) + 1
        sight = np.array([obs.images["front"].mean() / 255, float(obs.state[0]), len(obs.instruction) / 100])
        rows = 0.3 * sight + 0.01 * calls + 0.02 * np.arange(self.spec.chunk)[:, None]
        return {"actions": rows + self.noise * ctx.rng().standard_normal(rows.shape)}


class GoodNoise(GoodPolicy):
    """Stochastic, by its noise seed."""

    noise = 0.01


class GoodBatch(GoodPolicy):
    """Answers several at once."""

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Any]:
        return [GoodPolicy.predict(self, one, own) for one, own in zip(obs, ctx, strict=True)]


class ShortChunk(GoodPolicy):
    """Answers fewer actions than it declares."""

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        return super().predict(obs, ctx)["actions"][:-1]


class LongAction(GoodPolicy):
    """Answers one number too many."""

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        return np.zeros((self.spec.chunk, SIZE + 1))


class TwoDtypes(GoodPolicy):
    """Answers float32 at first and float64 later."""

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        actions = super().predict(obs, ctx)["actions"]
        return actions.astype(np.float32) if ctx.memory["calls"] == 1 else actions


class OutOfBounds(GoodPolicy):
    """Leaves its bounds without saying so."""

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        return 10 * super().predict(obs, ctx)["actions"]


class SecretNoise(GoodNoise):
    """Is stochastic and does not say so."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = dataclasses.replace(self.spec, stochastic=False)


class OwnGenerator(GoodPolicy):
    """Draws from a generator of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = dataclasses.replace(self.spec, stochastic=True)
        self._rng = np.random.default_rng(0)

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        actions = super().predict(obs, ctx)["actions"]
        return actions + 0.01 * self._rng.standard_normal(actions.shape)


class IgnoresSeed(GoodPolicy):
    """Says that it is stochastic and always draws the same."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = dataclasses.replace(self.spec, stochastic=True)


class KeepsQueue(GoodPolicy):
    """Keeps the rest of its chunk in itself, as a chunk buffer that nobody empties does."""

    def __init__(self) -> None:
        super().__init__()
        self._left: list[np.ndarray] = []

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        fresh = super().predict(obs, ctx)["actions"]
        self._left = self._left or [fresh, fresh]
        return self._left.pop()


class KeepsByTurns(GoodPolicy):
    """Forgets at an episode's start, and only then: another session's observations are its own."""

    def start_episode(self, ctx: SessionContext) -> None:
        self._calls = 0

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        self._calls += 1
        return super().predict(obs, ctx)["actions"] + 0.01 * self._calls


class WritesImages(GoodPolicy):
    """Normalises the image in place."""

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        answer = super().predict(obs, ctx)
        if obs.images["front"].flags.writeable:
            obs.images["front"][:] = 255 - obs.images["front"]
        return answer


class QueryCounts(GoodPolicy):
    """Queries are counted."""

    def __init__(self) -> None:
        super().__init__()
        self._queries = itertools.count()

    def query(self, observations: Any, noise_seed: int) -> Any:
        number = next(self._queries)
        answers: list[Any] = super().query(observations, noise_seed)
        return [answer["actions"] + 0.01 * number for answer in answers]


class QueryDisturbs(GoodPolicy):
    """A query makes the running episode start anew."""

    def start_episode(self, ctx: SessionContext) -> None:
        self._ctx = ctx

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        return super().predict(obs, self._ctx)


class QueryIsAnother(GoodPolicy):
    """Queries are answered by something else."""

    def query(self, observations: Any, noise_seed: int) -> Any:
        return [np.zeros((self.spec.chunk, SIZE)) for _ in observations]


class LooksAtThread(GoodPolicy):
    """Depends on where it runs."""

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        here = threading.current_thread() is threading.main_thread()
        return super().predict(obs, ctx)["actions"] + (0.0 if here else 0.01)


class NormalisesBatch(GoodPolicy):
    """Subtracts the batch's mean."""

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Any]:
        answers = [GoodPolicy.predict(self, one, own)["actions"] for one, own in zip(obs, ctx, strict=True)]
        mean = np.mean(answers) if len(answers) > 1 else 0.0
        return [answer - 0.1 * mean for answer in answers]


TWINS: Mapping[str, tuple[type[PredictModelServer], ...]] = {
    "chunk_is_as_declared": (ShortChunk,),
    "action_is_as_declared": (LongAction, TwoDtypes, OutOfBounds),
    "same_in_same_out": (SecretNoise,),
    "noise_seed_is_honoured": (OwnGenerator, IgnoresSeed),
    "reset_forgets": (KeepsQueue,),
    "sessions_are_apart": (KeepsByTurns,),
    "observation_is_left_alone": (WritesImages,),
    "query_is_stateless": (QueryCounts, QueryDisturbs),
    "query_is_a_fresh_episode": (QueryIsAnother,),
    "socket_agrees": (LooksAtThread,),
    "batch_agrees": (NormalisesBatch,),
    "openpi_agrees": (LooksAtThread,),
}
"""Check -> the policies that it must find out."""
