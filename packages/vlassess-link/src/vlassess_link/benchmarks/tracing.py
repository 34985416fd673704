"""Keeps what crosses the wire in an attempt's first steps; the file is that of `conventions.traces`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from vlassess_link.conventions.traces import Moment, Trace
from vlassess_link.data import ActionChunk, Observation


class Tracing:
    """Collects moments and executed actions of the first ``steps`` control steps."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._moments: List[Moment] = []
        self._executed: List[np.ndarray] = []

    @property
    def trace(self) -> Trace:
        """What is there so far."""
        return Trace(tuple(self._moments), np.array(self._executed) if self._executed else None)

    def delivered(self, obs: Observation, seen: Optional[Observation]) -> None:
        """Keep an observation as the policy is given it, and the images of ``seen``, before they were converted."""
        if obs.step >= self._steps:
            return
        before = seen.images if seen is not None else {}
        rendered = {name: image for name, image in before.items() if not _same(image, obs.images.get(name))}
        self._moments.append(
            Moment(
                obs.step,
                obs.instruction,
                _copies(obs.images),
                _copies(rendered),
                None if obs.state is None else obs.state.copy(),
                _values(obs.extras),
            )
        )

    def answered(self, obs: Observation, chunk: ActionChunk) -> None:
        """Keep the answer to an observation that was kept."""
        if obs.step >= self._steps or not self._moments:
            return
        answer = _values(chunk.extras)
        self._moments[-1] = replace(self._moments[-1], actions=chunk.actions.copy(), answer=answer)

    def executed(self, action: np.ndarray) -> None:
        """Keep an executed action."""
        if len(self._executed) < self._steps:
            self._executed.append(action.copy())


def _same(one: np.ndarray, other: Optional[np.ndarray]) -> bool:
    return other is not None and one.shape == other.shape and one.dtype == other.dtype and np.array_equal(one, other)


def _copies(arrays: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
    return {_name(name): np.array(array) for name, array in arrays.items()}


def _name(name: str) -> str:
    # They become names of members of an archive, which cannot hold every text.
    return re.sub(r"[^0-9A-Za-z._-]", "_", name)


def _values(given: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the texts and numbers among some values; what else there is has no place in a trace."""
    kept = {name: value if isinstance(value, str) else np.array(value) for name, value in given.items()}
    return {_name(name): one for name, one in kept.items() if isinstance(one, str) or one.dtype.kind in "biuf"}
