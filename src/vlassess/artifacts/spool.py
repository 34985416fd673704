"""What a worker left in an attempt's folder; see `vlassess_link.benchmarks.recording`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Frame = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Spool:
    """A finished recording.

    Attributes:
        folder: Where it lies.
        cameras: Names, in the order of every frame's images.
        frames: How many frames there are.
        problem: Why it is not whole, None where it is.
    """

    folder: Path
    cameras: tuple[str, ...]
    frames: int
    problem: str | None

    @classmethod
    def open(cls, folder: Path) -> Spool | None:
        """Return the recording in a folder, None where its worker died before it was finished."""
        try:
            told = json.loads((folder / "spool.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return cls(folder, tuple(told["cameras"]), int(told["frames"]), told["problem"])

    def pictures(self) -> Iterator[Frame]:
        """Yield every frame: one (height, width, 3) uint8 image a camera."""
        for file in sorted(self.folder.glob("frames-*.npz")):
            chunk = _arrays(file)
            cameras = [chunk[f"camera_{i}"] for i in range(len(self.cameras))]
            yield from zip(*cameras, strict=True)

    def steps(self) -> dict[str, np.ndarray]:
        """Return the arrays of the steps; empty where none were taken."""
        file = self.folder / "steps.npz"
        return _arrays(file) if file.exists() else {}


def _arrays(file: Path) -> dict[str, np.ndarray]:
    # numpy leaves a file that it cannot read open.
    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
