"""Labelled frames on disk: a folder of plain arrays a part, mapped into memory and never loaded whole."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

LONGEST = 200
"""Characters of an instruction that are stored."""


class Frame(NamedTuple):
    """One moment, labelled for every task; n is the number of tasks.

    Attributes:
        agent, wrist: (64, 64, 3) uint8.
        state: Proprioception, (8,) float32.
        labels: (n, chunk, 5) float16, see `teacher.label`.
        places: (n, 7) float32: target x, y, z; goal x, y (0 where there is none); cosine and sine of its angle
            times the symmetry of its grasp.
        job: The task that was being done.
        held: Which tasks' target is in the gripper, (n,) bool.
        possible: Which tasks can be done in this scene, (n,) bool.
        said: The instruction, at most `LONGEST` characters.
    """

    agent: np.ndarray
    wrist: np.ndarray
    state: np.ndarray
    labels: np.ndarray
    places: np.ndarray
    job: np.ndarray
    held: np.ndarray
    possible: np.ndarray
    said: np.ndarray


def write_part(folder: Path, frames: Sequence[Frame]) -> None:
    """Write frames as one part; it is there whole or not at all."""
    scratch = folder.with_name(folder.name + ".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for name in Frame._fields:
        np.save(scratch / f"{name}.npy", np.stack([getattr(frame, name) for frame in frames]))
    scratch.rename(folder)


@dataclass(frozen=True)
class Frames:
    """Frames of several parts under one numbering."""

    parts: tuple[Frame, ...]
    ends: np.ndarray

    @classmethod
    def open(cls, folders: Sequence[Path]) -> Frames:
        """Map the parts of these folders."""
        parts = tuple(
            Frame(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in Frame._fields)) for folder in folders
        )
        return cls(parts, np.cumsum([len(part.job) for part in parts]))

    def __len__(self) -> int:
        """Return how many frames there are."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def take(self, numbers: np.ndarray) -> Frame:
        """Return copies of these frames, stacked, in their order."""
        part_of = np.searchsorted(self.ends, numbers, side="right")
        starts = np.concatenate(([0], self.ends[:-1]))
        columns = []
        for name in Frame._fields:
            first = getattr(self.parts[0], name)
            out = np.empty((len(numbers), *first.shape[1:]), first.dtype)
            for part in np.unique(part_of):
                rows = part_of == part
                out[rows] = getattr(self.parts[part], name)[numbers[rows] - starts[part]]
            columns.append(out)
        return Frame(*columns)
