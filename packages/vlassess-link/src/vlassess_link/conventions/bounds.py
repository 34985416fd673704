"""The range of legal actions: what is outside is the policy's error, or clipped and counted."""

from __future__ import annotations

from typing import Tuple

import numpy as np

from vlassess_link.errors import InvalidActionError
from vlassess_link.spaces import Component, Layout

ROUNDING = 1e-6
"""Share of a range that a number may lie outside by rounding: it is set to the bound and not counted."""


class Bounds:
    """Holds a benchmark's bounds, number by number.

    Args:
        layout: Of one action.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._low = _numbers(layout, "low", -np.inf)
        self._high = _numbers(layout, "high", np.inf)
        self._any = bool(np.isfinite(self._low).any() or np.isfinite(self._high).any())
        widths = self._high - self._low
        self._slack = ROUNDING * np.where(np.isfinite(widths), widths, 0.0)

    def enforced(self, action: np.ndarray) -> Tuple[np.ndarray, bool]:
        """Return the action inside the bounds, of the same dtype, and whether it counts as clipped.

        An action that is inside is returned as it is, not copied.

        Raises:
            InvalidActionError: it is outside, and the layout has no `clip`; names component, value and bounds.
        """
        if not self._any or not (np.any(action < self._low) or np.any(action > self._high)):
            return action, False
        outside = (action < self._low - self._slack) | (action > self._high + self._slack)
        if outside.any() and not self._layout.clip:
            raise InvalidActionError(self._words(action, int(np.argmax(outside))))
        return np.clip(action, self._low, self._high).astype(action.dtype), bool(outside.any())

    def _words(self, action: np.ndarray, place: int) -> str:
        component, number = component_at(self._layout, place)
        return (
            f"number {number} of action component {component.name!r} is {action[place]:g}; the benchmark takes "
            f"[{self._low[place]:g}, {self._high[place]:g}]: mend the policy, or declare `clip: true` in the "
            "benchmark's action layout if its protocol clips"
        )


def _numbers(layout: Layout, name: str, default: float) -> np.ndarray:
    given = [(getattr(component, name), component.size) for component in layout.components]
    return np.array([default if value is None else value for value, size in given for _ in range(size)], np.float64)


def component_at(layout: Layout, place: int) -> Tuple[Component, int]:
    """Return the component to which a number of a vector belongs, and which of its numbers it is.

    Raises:
        IndexError: the layout has fewer numbers.
    """
    for component in layout.components:
        if place < component.size:
            return component, place
        place -= component.size
    raise IndexError(place)
