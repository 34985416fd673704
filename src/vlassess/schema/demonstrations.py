"""A recorded episode as data sets hold it: what was seen, what was done, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord


class Filmed(Protocol):
    """One camera's pictures of one episode."""

    @property
    def name(self) -> str:
        """The camera."""

    @property
    def exact(self) -> bool:
        """Whether no pixel has been changed since it was rendered."""

    def pictures(self) -> Iterator[np.ndarray]:
        """Yield each picture, (height, width, 3) uint8: of the first state, and of the one after each step."""


@dataclass(frozen=True)
class Demonstration:
    """One episode of n control steps.

    Attributes:
        item: What was planned.
        record: What it came to; it has an outcome.
        action: (n, D), what the policy said: the label.
        executed: (n, D), what was done instead where actions were disturbed; None: what the policy said.
        state: (n, S), proprioception before each step; None where the benchmark has none.
        progress: (n,), share of the task after each step.
        success: (n,), whether the task's condition holds after each step.
        cameras: By name, n + 1 pictures each; empty where nothing was filmed.
    """

    item: WorkItem
    record: EpisodeRecord
    action: np.ndarray
    executed: np.ndarray | None
    state: np.ndarray | None
    progress: np.ndarray
    success: np.ndarray
    cameras: tuple[Filmed, ...] = ()

    @property
    def steps(self) -> int:
        """How many control steps it has."""
        return len(self.action)

    @property
    def instruction(self) -> str:
        """The text, as delivered."""
        return self.record.instruction or ""


@dataclass(frozen=True)
class DatasetAbout:
    """What all demonstrations of a data set have in common.

    Attributes:
        robot: Which robot: the benchmark's name.
        fps: Control steps per second.
        action: Name of each number of an action.
        state: Name of each number of the state; empty: none.
        origin: Where it comes from, for people and programs: JSON types.
    """

    robot: str
    fps: float
    action: tuple[str, ...]
    state: tuple[str, ...] = ()
    origin: Mapping[str, object] = field(default_factory=dict)
