"""Pictures of initial states: what a fixture sheet shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vlassess.schema.cells import words
from vlassess_link.data import Episode


@dataclass(frozen=True)
class Start:
    """One initial state.

    Attributes:
        number: On the sheet, from 1.
        episode: As planned.
        instruction: As the benchmark gave it; None where reset failed.
        state_digest: Of the measured state; empty where reset failed.
        pictures: One (height, width, 3) uint8 image a camera, in the sheet's order; empty where there is none.
        error: Why there is none; None where there is one.
    """

    number: int
    episode: Episode
    instruction: str | None
    state_digest: str
    pictures: tuple[np.ndarray, ...]
    error: str | None = None

    @property
    def place(self) -> str:
        """Which start: ``pick/red_block #3``, with its stored state where it has one."""
        stored = "" if self.episode.initial_state is None else f" ({self.episode.initial_state})"
        return f"{self.episode.suite}/{self.episode.task} #{self.episode.index}{stored}"

    @property
    def cell(self) -> str:
        """Its cell, or "control"."""
        return words(self.episode.perturbation) or "control"


@dataclass(frozen=True)
class StartSheet:
    """All initial states of a sheet.

    Attributes:
        name: Of the config.
        benchmark: ``id@version``.
        seed: Base seed.
        cameras: Names, in the order of each start's pictures.
        starts: In plan order.
        interrupted: It was asked to stop before all were made.
    """

    name: str
    benchmark: str
    seed: int
    cameras: tuple[str, ...]
    starts: tuple[Start, ...]
    interrupted: bool = False
