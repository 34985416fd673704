"""What a model author writes: one class with one `predict()`.

The same object runs in-process (`InProcessPolicy`), behind the socket, and batched; it never knows which.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import PolicyFault, PredictError
from vlassess_link.policies.base import Policy
from vlassess_link.seeds import noise
from vlassess_link.specs import PolicyIdentity, PolicySpec

Answer = Union[ActionChunk, Mapping[str, Any], np.ndarray]


@dataclass
class SessionContext:
    """What belongs to one session and one episode; a new one is made at every episode start.

    Attributes:
        session_id: Opaque; one per connection.
        start: The episode's start; None inside a `query`.
        noise_seed: Seed of this episode's noise.
        step: Control steps executed before this observation.
        memory: Whatever the model wants to keep until the episode ends.
    """

    session_id: str
    start: Optional[EpisodeStart] = None
    noise_seed: int = 0
    step: int = 0
    memory: Dict[str, Any] = field(default_factory=dict)

    def rng(self) -> np.random.Generator:
        """Return the generator of this step's noise: a function of (noise_seed, step) alone."""
        return noise(self.noise_seed, self.step)


class PredictModelServer:
    """A model behind one `predict()`. Subclass it; declare `spec`; load weights in `load`.

    ```python
    class Zero(PredictModelServer):
        spec = PolicySpec(PolicyIdentity("zero"), cameras=())

        def predict(self, obs, ctx):
            return {"actions": np.zeros(7)}
    ```
    """

    spec: PolicySpec = PolicySpec(PolicyIdentity("unnamed"))

    def load(self) -> None:
        """Load weights; called once, before the first `predict` and before the server says it is ready."""

    def start_episode(self, ctx: SessionContext) -> None:
        """Prepare for an episode; called once per episode with its fresh context."""

    def predict(self, obs: Observation, ctx: SessionContext) -> Answer:
        """Return {"actions": (T, D) or (D,)}, float32 or float64; further keys are recorded as extras."""
        raise NotImplementedError(f"{type(self).__name__} must define predict(self, obs, ctx)")

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[Answer]:
        """Answer each observation in a fresh context; see `Policy.query`."""
        answers = []
        for obs in observations:
            ctx = SessionContext("query", None, noise_seed, obs.step)
            self.start_episode(ctx)
            answers.append(self.predict(obs, ctx))
        return answers

    def close(self) -> None:
        """Release what the model holds."""


def announced_spec(model: PredictModelServer) -> PolicySpec:
    """Return the model's spec with the capabilities that `PredictModelServer` brings by itself."""
    return dataclasses.replace(model.spec, capabilities=tuple(dict.fromkeys((*model.spec.capabilities, "query"))))


class ModelSession:
    """One session of a model: makes a fresh context per episode and maps what the model raises."""

    def __init__(self, model: PredictModelServer, session_id: str) -> None:
        self._model = model
        self._ctx = SessionContext(session_id)

    def start_episode(self, start: EpisodeStart, noise_seed: int) -> None:
        """Drop everything of the last episode and begin one.

        Raises:
            PredictError: the model raised.
        """
        self._ctx = SessionContext(self._ctx.session_id, start, noise_seed)
        guarded(self._model.start_episode, self._ctx)

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the model's chunk.

        Raises:
            PredictError: the model raised.
            InvalidActionError: what it returned is no action chunk.
        """
        self._ctx.step = obs.step
        return ActionChunk.of(guarded(self._model.predict, obs, self._ctx))

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Answer without touching the session."""
        return [ActionChunk.of(answer) for answer in guarded(self._model.query, observations, noise_seed)]


def guarded(function: Any, *args: Any) -> Any:
    """Call the model's own code; whatever it raises becomes a `PredictError` that quotes it."""
    try:
        return function(*args)
    except PolicyFault:
        raise
    except (Exception, SystemExit) as error:
        raise PredictError(f"{type(error).__name__} in {function.__qualname__}: {error}") from error


class InProcessPolicy(Policy):
    """A model in the caller's own process, as a `Policy`."""

    def __init__(self, model: PredictModelServer) -> None:
        self.spec = announced_spec(model)
        self._model = model
        self._session = ModelSession(model, "in-process")
        model.load()

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode with a fresh context."""
        self._session.start_episode(start, policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Call the model."""
        return self._session.predict(obs)

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Call the model without a session."""
        return self._session.query(observations, noise_seed)

    def close(self) -> None:
        """Close the model."""
        self._model.close()
