"""A policy that lives in the caller's process, served to the workers on loopback by a thread of that process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from vlassess_link.data import Observation
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import Answer, PredictModelServer, SessionContext
from vlassess_link.wire.server import PolicyServer


class Borrowed(PredictModelServer):
    """A model that belongs to the caller: it is asked, and neither loaded nor closed."""

    def __init__(self, model: PredictModelServer) -> None:
        self.spec = model.spec
        self.max_batch_size = model.max_batch_size
        self._model = model

    @property
    def batched(self) -> bool:
        """Whether the model has batches."""
        return self._model.batched

    @property
    def answers_questions(self) -> bool:
        """Whether the model answers questions."""
        return self._model.answers_questions

    def __getattr__(self, name: str) -> Any:
        """Offer whatever optional calls the model has."""
        return getattr(self._model, name)

    def start_episode(self, ctx: SessionContext) -> None:
        """Ask the model."""
        self._model.start_episode(ctx)

    def predict(self, obs: Observation, ctx: SessionContext) -> Answer:
        """Ask the model."""
        return self._model.predict(obs, ctx)

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Answer]:
        """Ask the model."""
        return self._model.predict_batch(obs, ctx)

    def query(self, observations: Sequence[Observation], noise_seed: int) -> list[Answer]:
        """Ask the model."""
        return self._model.query(observations, noise_seed)

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Ask the model."""
        return self._model.answer(question, options)


class OneAtATime(PredictModelServer):
    """A policy object, which serves one episode at a time, as a model; only one worker may ask it."""

    def __init__(self, policy: Policy) -> None:
        self.spec = policy.spec
        self._policy = policy

    @property
    def answers_questions(self) -> bool:
        """Whether the policy declares it."""
        return "answer" in self._policy.spec.capabilities

    def start_episode(self, ctx: SessionContext) -> None:
        """Reset the policy; a `query` has no episode and needs none."""
        if ctx.start is not None:
            self._policy.reset(ctx.start, ctx.noise_seed)

    def predict(self, obs: Observation, ctx: SessionContext) -> Answer:
        """Ask the policy."""
        return self._policy.predict(obs)

    def query(self, observations: Sequence[Observation], noise_seed: int) -> list[Answer]:
        """Ask the policy."""
        return list(self._policy.query(observations, noise_seed))

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Ask the policy."""
        return self._policy.answer(question, options)


def is_object(policy: Any) -> bool:
    """Return whether ``policy`` is one that can be served from this process."""
    return isinstance(policy, Policy | PredictModelServer)


def label_of(policy: Policy | PredictModelServer) -> str:
    """Return the label of a policy object that was given without one: its identity's name, as a label can hold it."""
    return re.sub(r"[^\w.+-]+", "-", policy.spec.identity.name).strip("-.+") or "policy"


@contextmanager
def served(policies: Mapping[str, Policy | PredictModelServer]) -> Iterator[dict[str, str]]:
    """Serve policies of this process; yields label -> address."""
    with ExitStack() as stack:
        addresses = {}
        for label, policy in policies.items():
            model = Borrowed(policy) if isinstance(policy, PredictModelServer) else OneAtATime(policy)
            addresses[label] = stack.enter_context(PolicyServer(model)).url
        yield addresses
