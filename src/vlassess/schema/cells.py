"""What a planned cell is: one axis at one level, and the control that shares everything else with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

CellKey = tuple[tuple[str, str], ...]
"""A perturbation as sorted (axis, level) pairs; empty for the control of the benchmark's own scene."""

GapVerdict = Literal["worse", "better", "no difference found", "nothing to compare"]
"""What may be said of a cell beside its control: decided by the corrected p-value at alpha."""


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a plan.

    Attributes:
        axis: The one axis in which it differs from its control.
        level: That axis's level.
        within: Levels of other axes that both have: the scene that both stand in. Empty: the benchmark's own.
    """

    axis: str
    level: str
    within: Mapping[str, str] = field(default_factory=dict)

    @property
    def perturbation(self) -> dict[str, str]:
        """What its episodes carry."""
        return {self.axis: self.level, **self.within}

    @property
    def control(self) -> dict[str, str]:
        """What its control's episodes carry; empty for the benchmark's own scene."""
        return dict(self.within)

    @property
    def key(self) -> CellKey:
        """Its perturbation, to find episodes by."""
        return key_of(self.perturbation)

    @property
    def control_key(self) -> CellKey:
        """Its control's perturbation."""
        return key_of(self.control)

    @property
    def name(self) -> str:
        """As configs write it: ``object_category=mug within background=wood``."""
        return f"{self.axis}={self.level}" + (f" within {words(self.within)}" if self.within else "")

    @property
    def control_name(self) -> str:
        """What people read of its control."""
        return words(self.within) or "control"


def key_of(perturbation: Mapping[str, str]) -> CellKey:
    """Return a perturbation as a key."""
    return tuple(sorted(perturbation.items()))


def words(perturbation: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
    """Return a perturbation as people read it (``camera_pose=far``), empty for none."""
    pairs = perturbation.items() if isinstance(perturbation, Mapping) else perturbation
    return ", ".join(f"{axis}={level}" for axis, level in pairs)
