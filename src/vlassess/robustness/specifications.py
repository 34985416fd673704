"""What has to hold of a policy's answer under a perturbation, as numbers that are positive while it does.

A specification turns answers into terms, of which the smallest counts. All terms are about 1 for the clean answer and
0 where the claim breaks. Sources: Aron et al. 2026, equation 3 (actions) and their margin of logits (answers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from vlassess_link.errors import ContractError
from vlassess_link.spaces import Component, Layout

Floats = npt.NDArray[np.float64]
GRIPPER_FLOOR = 0.1
"""How far from its threshold a clean gripper command has to be, as a share of half its range."""
DISTANCES = ("position", "rotation", "joints", "base")
PRESETS: Mapping[str, Mapping[str, float]] = {"libero": {"position": 0.1529, "rotation": 0.0264}}
"""Name -> tolerance by kind of component, in the action's own numbers. ``libero``: 90th percentiles of the distances
between consecutive demonstrated actions over LIBERO's four suites (Aron et al. 2026)."""


class Specification(Protocol):
    """Turns answers into terms."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each term is about."""

    def terms(self, answers: Floats) -> Floats:
        """Return (n, T) terms of n answers; positive where the specification holds."""


@dataclass(frozen=True)
class Distance:
    """A part of an action may differ from the clean one by less than a tolerance (Euclidean)."""

    name: str
    place: slice
    tolerance: float


@dataclass(frozen=True)
class Gripper:
    """A gripper's command may not cross its threshold.

    Attributes:
        name: The component.
        place: Its index in the action.
        threshold: Where open becomes closed.
        floor: Least distance from it by which the clean command's is divided.
    """

    name: str
    place: int
    threshold: float
    floor: float


@dataclass(frozen=True)
class ActionRules:
    """What is asked of an action, whichever the clean one is; `of` makes the specification for one.

    Attributes:
        distances: Parts that may differ by a tolerance.
        grippers: Parts that may not cross a threshold.
        index: Which action of the chunk.
    """

    distances: tuple[Distance, ...]
    grippers: tuple[Gripper, ...]
    index: int = 0

    @classmethod
    def read(
        cls, layout: Layout, tolerances: Mapping[str, float], index: int = 0, floor: float = GRIPPER_FLOOR
    ) -> ActionRules:
        """Return the rules for a policy's declared actions.

        Args:
            layout: Of one action.
            tolerances: By the component's name, or by its kind.
            index: Which action of the chunk.
            floor: See `GRIPPER_FLOOR`.

        Raises:
            ContractError: a component has no tolerance, or a tolerance no component.
        """
        distances, grippers, first = [], [], 0
        known: set[str] = set()
        for part in layout.components:
            if part.kind == "gripper":
                threshold, half = _gripper(part)
                grippers += [Gripper(part.name, first + i, threshold, floor * half) for i in range(part.size)]
            elif part.kind in DISTANCES or part.name in tolerances:
                key = part.name if part.name in tolerances else part.kind
                if key not in tolerances:
                    raise ContractError(
                        f"the action's component {part.name!r} has no tolerance: give one for {part.name!r} or for "
                        f"the kind {part.kind!r}"
                    )
                known.add(key)
                distances.append(Distance(part.name, slice(first, first + part.size), float(tolerances[key])))
            first += part.size
        _refuse_strays(tolerances, known, layout)
        if not distances and not grippers:
            raise ContractError("the policy declares no component of its action, so nothing can be asked of it")
        return cls(tuple(distances), tuple(grippers), index)

    def of(self, clean: Floats) -> ActionSpecification:
        """Return the specification for a clean action (D,).

        A gripper whose clean command is closer to its threshold than its floor is left out, and named as ambiguous.
        """
        far = [abs(float(clean[part.place]) - part.threshold) >= part.floor for part in self.grippers]
        kept = tuple(part for part, is_far in zip(self.grippers, far, strict=True) if is_far)
        left = tuple(part.name for part, is_far in zip(self.grippers, far, strict=True) if not is_far)
        return ActionSpecification(np.asarray(clean, np.float64), self.distances, kept, left)


@dataclass(frozen=True)
class ActionSpecification:
    """The action stays near the clean one, and no gripper changes its mind.

    Attributes:
        clean: (D,).
        distances: Terms 1 - |a - a0| / tolerance.
        grippers: Terms sign(g0) g / max(|g0|, floor), of commands relative to the threshold.
        ambiguous: Grippers that are left out since the clean command is undecided.
    """

    clean: Floats
    distances: tuple[Distance, ...]
    grippers: tuple[Gripper, ...]
    ambiguous: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components that the terms are of."""
        return (*(part.name for part in self.distances), *(part.name for part in self.grippers))

    def terms(self, answers: Floats) -> Floats:
        """Return (n, T) for actions (n, D)."""
        apart = np.asarray(answers, np.float64) - self.clean
        columns = [1.0 - np.linalg.norm(apart[:, part.place], axis=1) / part.tolerance for part in self.distances]
        for gripper in self.grippers:
            own = float(self.clean[gripper.place]) - gripper.threshold
            now = np.asarray(answers, np.float64)[:, gripper.place] - gripper.threshold
            columns.append(np.sign(own) * now / max(abs(own), gripper.floor))
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Margin:
    """The clean answer keeps the largest logit among the allowed ones.

    Attributes:
        clean: Index of the clean answer.
        allowed: Indices of all allowed answers, the clean one included.
        scale: What a margin of 1 is: the clean margin, so that the term begins at 1.
    """

    clean: int
    allowed: tuple[int, ...]
    scale: float = 1.0

    @classmethod
    def of(cls, logits: Floats, allowed: Sequence[int] | None = None) -> Margin:
        """Return the specification for clean logits (C,).

        Raises:
            ContractError: fewer than two answers are allowed, or one is not there, or two are equally good.
        """
        among = tuple(range(len(logits))) if allowed is None else tuple(allowed)
        if len(set(among)) < 2 or not all(0 <= one < len(logits) for one in among):
            raise ContractError(f"allowed is {list(among)}; it must name at least two of the {len(logits)} answers")
        clean = max(among, key=lambda one: float(logits[one]))
        margin = float(logits[clean]) - max(float(logits[one]) for one in among if one != clean)
        if margin <= 0:
            raise ContractError("two answers have the same logit on the clean image, so there is none to keep")
        return cls(clean, among, margin)

    @property
    def names(self) -> tuple[str, ...]:
        """One term."""
        return ("margin",)

    def terms(self, answers: Floats) -> Floats:
        """Return (n, 1) for logits (n, C)."""
        others = [one for one in self.allowed if one != self.clean]
        table = np.asarray(answers, np.float64)
        return np.asarray((table[:, [self.clean]] - table[:, others].max(axis=1, keepdims=True)) / self.scale)


@dataclass(frozen=True)
class Custom:
    """Any function of an answer that is positive while the specification holds."""

    function: Callable[[Floats], float]
    name: str = "objective"

    @property
    def names(self) -> tuple[str, ...]:
        """One term."""
        return (self.name,)

    def terms(self, answers: Floats) -> Floats:
        """Return (n, 1)."""
        return np.array([[float(self.function(answer))] for answer in answers])


def expected_actions(logits: Floats, centres: Floats) -> Floats:
    """Return the expectation of discretised actions: softmax over bins, weighted with their centres.

    It is the decoded action where one bin has all the weight, and continuous where argmax jumps.

    Args:
        logits: (..., D, B).
        centres: (B,) or (D, B).

    Returns:
        (..., D).
    """
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray((shifted * centres).sum(axis=-1) / shifted.sum(axis=-1))


def step_tolerances(layout: Layout, episodes: Sequence[npt.ArrayLike], percentile: float = 90.0) -> dict[str, float]:
    """Return a tolerance for each component but grippers: a percentile of distances between consecutive actions.

    Args:
        layout: Of one action.
        episodes: The demonstrated actions of each episode, (n, D); no distance spans two episodes.
        percentile: 0 to 100, interpolated linearly.

    Raises:
        ContractError: no episode has two actions, they do not fit the layout, or a tolerance would be zero.
    """
    tables = [np.asarray(one, np.float64) for one in episodes]
    wrong = next((one.shape for one in tables if one.ndim != 2 or one.shape[1] != layout.size), None)
    if wrong is not None:
        raise ContractError(f"demonstrated actions have the shape {wrong}; the policy's have {layout.size} numbers")
    steps = [np.diff(one, axis=0) for one in tables if len(one) > 1]
    if not steps:
        raise ContractError("no demonstration has two actions, so no distance between consecutive ones is known")
    apart, found, first = np.concatenate(steps), {}, 0
    for part in layout.components:
        if part.kind != "gripper":
            distances = np.linalg.norm(apart[:, first : first + part.size], axis=1)
            found[part.name] = float(np.percentile(distances, percentile))
            if found[part.name] <= 0.0:
                raise ContractError(f"demonstrations move {part.name!r} by nothing; give its tolerance by hand")
        first += part.size
    return found


def _gripper(part: Component) -> tuple[float, float]:
    """Return a gripper's threshold and half its range."""
    low, high = (-1.0 if part.low is None else part.low), (1.0 if part.high is None else part.high)
    return (low + high) / 2 if part.threshold is None else part.threshold, (high - low) / 2


def _refuse_strays(tolerances: Mapping[str, float], known: set[str], layout: Layout) -> None:
    names = {part.name for part in layout.components} | {part.kind for part in layout.components}
    for name, value in tolerances.items():
        if value <= 0:
            raise ContractError(f"the tolerance of {name!r} is {value:g}; it must be above 0")
        if name not in known and name not in names:
            raise ContractError(
                f"there is a tolerance for {name!r}, but the action has {', '.join(sorted(names))}; mend the name"
            )
