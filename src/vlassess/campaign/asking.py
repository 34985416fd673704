"""From parameters of a perturbation to the terms of a specification: what lies between a solver and a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from vlassess.campaign.config import SpecificationConfig
from vlassess.robustness.perturbations import Family, Source, quantised, sources
from vlassess.robustness.specifications import ActionRules, Floats, Margin, Specification, expected_actions
from vlassess_link.data import ActionChunk, Observation
from vlassess_link.errors import ContractError, InferenceTimeout, PolicyFault
from vlassess_link.spaces import Layout

Query = Callable[[Sequence[Observation]], Sequence[ActionChunk]]
"""Asks a policy; answers do not depend on what is asked beside them, but for rounding."""


LARGEST = 1e100
"""No number of an answer may be as large: its square could not be computed."""
FAILED = -1.0
"""Every term where the policy gave no valid answer: as far below zero as the clean answer is above."""


class Answered(NamedTuple):
    """What came of some parameters.

    Attributes:
        terms: (n, T) of the specification; `FAILED` where there is no valid answer.
        answers: (n, D) actions or logits; NaN where there is no valid answer.
        faults: For each why there is none; empty where there is one.
    """

    terms: Floats
    answers: Floats
    faults: tuple[str, ...]


def joined(parts: Sequence[Answered]) -> Answered:
    """Return several answers as one."""
    terms, answers, faults = zip(*parts, strict=True)
    return Answered(np.concatenate(terms), np.concatenate(answers), sum(faults, ()))


class Subject:
    """One observation, ready to be perturbed for one policy.

    Args:
        observation: What the policy is shown, at the size it wants.
        views: Cameras that are perturbed.
        rounds: Round perturbed pictures to whole grey levels.
    """

    def __init__(self, observation: Observation, views: Sequence[str], rounds: bool) -> None:
        self.observation = observation
        self.views = tuple(views)
        self._rounds = rounds
        self._sources: list[Source] = sources({view: observation.images[view] for view in self.views})

    def pictures(self, family: Family, thetas: Floats) -> list[np.ndarray]:
        """Return each view under each row of parameters, as the policy gets it: (n, height, width, 3) a view."""
        found = family.perturbed(self._sources, thetas)
        return [quantised(pictures) for pictures in found] if self._rounds else list(found)

    def perturbed(self, family: Family, thetas: Floats) -> list[Observation]:
        """Return the observation under each row of parameters (n, N)."""
        pictures = self.pictures(family, thetas)
        return [
            replace(
                self.observation,
                images={
                    **self.observation.images,
                    **{view: one[i] for view, one in zip(self.views, pictures, strict=True)},
                },
            )
            for i in range(len(thetas))
        ]


@dataclass(frozen=True)
class Rules:
    """What is asked of a policy's answers, whichever the clean one is.

    Attributes:
        config: As the campaign says.
        actions: For `kind: actions`; None for answers.
    """

    config: SpecificationConfig
    actions: ActionRules | None

    @classmethod
    def read(cls, config: SpecificationConfig, layout: Layout | None, tolerances: Mapping[str, float]) -> Rules:
        """Return the rules for a policy that declares ``layout``.

        Raises:
            ContractError: it declares no actions, or the tolerances do not fit them.
        """
        if config.kind == "answers":
            return cls(config, None)
        if layout is None:
            raise ContractError("the policy does not declare its action, so no part can be told; declare `spec.action`")
        return cls(config, ActionRules.read(layout, tolerances, config.index, config.gripper_floor))

    def of(self, clean: Floats) -> tuple[Specification, tuple[str, ...]]:
        """Return the specification for a clean answer, and the names of what is ambiguous in it."""
        if self.actions is None:
            return Margin.of(clean, self.config.allowed), ()
        found = self.actions.of(clean)
        if not found.names:
            raise ContractError(f"every part of the clean action is ambiguous ({', '.join(found.ambiguous)})")
        return found, found.ambiguous

    def answers(self, chunks: Sequence[ActionChunk]) -> list[Floats]:
        """Return what is looked at of each answer, (D,).

        Raises:
            ContractError: the policy does not offer it.
        """
        return [self._answer(chunk) for chunk in chunks]

    def _answer(self, chunk: ActionChunk) -> Floats:
        config = self.config
        if config.kind == "answers" or config.bins is not None:
            logits = chunk.extras.get("logits")
            if logits is None:
                raise ContractError("the specification needs the policy's `logits`, but its answer has none")
            table = np.asarray(logits, np.float64)
            if config.bins is None:
                return table.reshape(-1)
            table = table[config.index] if table.ndim == 3 else table
            return expected_actions(table, np.linspace(*config.bins, table.shape[-1]))
        if config.index >= len(chunk.actions):
            raise ContractError(
                f"specification.index is {config.index}, but a chunk has {len(chunk.actions)} actions; lower it"
            )
        return np.asarray(chunk.actions[config.index], np.float64)


def attempted(query: Query, rules: Rules, observations: Sequence[Observation]) -> list[Floats | str]:
    """Return what is looked at of each answer, or why there is none; a batch that fails is asked one by one.

    Raises:
        InferenceTimeout: there was no answer in time, which one cannot tell from a machine that is busy.
        InfrastructureFault: the policy cannot be reached.
    """
    try:
        return list(rules.answers(query(observations)))
    except InferenceTimeout:
        raise
    except PolicyFault as fault:
        if len(observations) == 1:
            return [str(fault)]
    return [one for obs in observations for one in attempted(query, rules, [obs])]


def judged(found: Sequence[Floats | str], specification: Specification, size: int) -> Answered:
    """Return what a specification says of answers to perturbed pictures of one observation.

    A policy that raises, or answers with what is not finite or no longer of the clean answer's size, has not kept to
    its clean answer.
    """
    faults = tuple(one if isinstance(one, str) else _fault(one, size) for one in found)
    answers = np.full((len(found), size), np.nan)
    terms = np.full((len(found), len(specification.names)), FAILED)
    for i, one in enumerate(found):
        if not faults[i] and not isinstance(one, str):
            answers[i] = one
    valid = [i for i, fault in enumerate(faults) if not fault]
    if valid:
        terms[valid] = specification.terms(answers[valid])
    return Answered(terms, answers, faults)


def _fault(answer: Floats, size: int) -> str:
    if answer.shape != (size,):
        return f"its answer has the shape {answer.shape}, the clean one ({size},)"
    far = np.flatnonzero(~(np.abs(answer) < LARGEST))
    return f"its answer has {answer[far[0]]:g} in place {far[0]}" if len(far) else ""
