"""The policy contract: a remote policy and a local one are the same to the episode loop."""

from __future__ import annotations

import abc
from typing import Any, List, Mapping, Sequence

from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import CapabilityError
from vlassess_link.specs import PolicySpec


class Policy(abc.ABC):
    """What the episode loop calls.

    One object serves one episode at a time; everything that it remembers of an episode is dropped by
    the next `reset`.
    """

    spec: PolicySpec
    hears_start: bool = True
    """Whether it is told of an episode's start; a server that knows no episodes is not."""

    @abc.abstractmethod
    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Forget the last episode and begin one.

        Raises:
            PolicyFault: the policy's own code failed.
            InfrastructureFault: it could not be reached.
        """

    @abc.abstractmethod
    def predict(self, obs: Observation) -> ActionChunk:
        """Return the next actions, (T, D).

        Raises:
            PolicyFault: the policy's own code failed, or answered something that is no action.
            InfrastructureFault: it could not be reached.
        """

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Answer each observation as the first of a fresh episode: no session, no buffer, no history.

        Raises:
            CapabilityError: the policy's spec does not have the capability "query".
        """
        raise CapabilityError(
            f"policy {self.spec.identity.name!r} does not declare the capability 'query', so it cannot be asked "
            "without a session; a PredictModelServer has it of itself"
        )

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Return what the policy takes for the right option, a key of ``options``; no robot, no session.

        Raises:
            CapabilityError: the policy's spec does not have the capability "answer".
        """
        raise CapabilityError(
            f"policy {self.spec.identity.name!r} does not declare the capability 'answer': give its PredictModelServer "
            "a method answer(question, options)"
        )

    def reaching_model(self, obs: Observation) -> Observation:
        """Return what of an observation reaches the model; less where a dialect leaves something out. Never raises."""
        return obs

    def bind(self, benchmark: Any) -> None:
        """Hand a privileged policy the benchmark that it may read. Never crosses a wire."""

    def close(self) -> None:
        """Release what the policy holds; called once."""
