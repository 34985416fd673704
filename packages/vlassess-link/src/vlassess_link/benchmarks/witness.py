"""Takes down what reaches a policy as an episode begins, for the audit of cells.

Starts are shared, courses are not: only the first observation can be compared between a cell and its control, so
arrays are digested there alone. Texts are kept whole, those of later observations too: they are searched for ids.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np

from vlassess_link.data import EpisodeStart, Observation
from vlassess_link.delivered import NAMED_DIGITS, Delivered
from vlassess_link.digest import arrays_digest
from vlassess_link.policies.base import Policy

MOST_TEXTS = 4
"""How many different instructions of one episode are kept."""

Digests = Dict[str, str]
Parts = Sequence[Tuple[str, int]]
"""Components of the state as it is delivered: the benchmark's name, and how many numbers."""


class Witness:
    """Keeps what one episode's policy was told and shown.

    Args:
        policy: Says what of an observation reaches its model.
        parts: Components of the delivered state.
    """

    def __init__(self, policy: Policy, parts: Parts) -> None:
        self._policy = policy
        self._parts = parts
        self._start: Dict[str, str] = {}
        self._texts: List[str] = []
        self._arrays: Optional[Tuple[Digests, Digests, Digests]] = None

    def started(self, start: EpisodeStart) -> None:
        """Keep what the policy is told of the start."""
        if self._policy.hears_start:
            self._start = {
                "suite": start.suite,
                "task": start.task,
                "instruction": start.instruction,
                "mode": start.mode,
            }

    def observed(self, obs: Observation) -> None:
        """Keep what reaches the model of an observation; arrays of the first one only."""
        seen = self._policy.reaching_model(obs)
        if self._arrays is None:
            self._arrays = (
                {name: _digest(image) for name, image in seen.images.items()},
                {} if seen.state is None else self._components(seen.state),
                {name: _digest(array) for name, array in seen.extras.items()},
            )
        if seen.instruction not in self._texts and len(self._texts) < MOST_TEXTS:
            self._texts.append(seen.instruction)

    @property
    def delivered(self) -> Optional[Delivered]:
        """What was kept; None where the policy was never asked."""
        if self._arrays is None:
            return None
        images, state, extras = self._arrays
        return Delivered(self._start, tuple(self._texts), images, state, extras)

    def _components(self, state: np.ndarray) -> Dict[str, str]:
        if sum(size for _, size in self._parts) != state.size:
            return {"state": _digest(state)}
        found, begin = {}, 0
        for name, size in self._parts:
            found[name] = _digest(state[begin : begin + size])
            begin += size
        return found


def _digest(array: np.ndarray) -> str:
    return arrays_digest({"": np.asarray(array)})[:NAMED_DIGITS]
