"""Demonstrations made of numbers, as runs would leave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tests.unit.runs import FAILURE, SUCCESS, items_of, record_of
from vlassess.schema.demonstrations import DatasetAbout, Demonstration

ABOUT = DatasetAbout("fake-v1", 20.0, ("dx", "dy", "grip"), ("x", "y"), {"run_id": "fakes-1"})


@dataclass(frozen=True)
class Film:
    """A camera whose pictures are at hand."""

    name: str
    images: Sequence[np.ndarray]
    exact: bool = True

    def pictures(self) -> Iterator[np.ndarray]:
        """Yield them."""
        yield from self.images


def demonstration(
    number: int = 0,
    steps: int = 4,
    cameras: Sequence[tuple[str, tuple[int, int]]] = (("front", (8, 12)),),
    disturbed: bool = False,
    success: bool = True,
    instruction: str | None = None,
    about: DatasetAbout = ABOUT,
) -> Demonstration:
    """Return an episode of drawn numbers, the same for the same arguments."""
    rng = np.random.default_rng(number)
    item = items_of()[number % 6]
    record = record_of(item, outcome=SUCCESS if success else FAILURE)
    text = f"go to {number % 3}" if instruction is None else instruction
    action = rng.normal(size=(steps, len(about.action)))
    films = tuple(
        Film(name, [smooth(size, rng) for _ in range(steps + 1)])
        for name, size in sorted(cameras, key=lambda camera: camera[0])
    )
    return Demonstration(
        item,
        replace(record, instruction=text, steps=steps),
        action,
        action + 0.1 if disturbed else None,
        rng.normal(size=(steps, len(about.state))) if about.state else None,
        np.linspace(0, 1, steps),
        np.arange(steps) == steps - 1,
        films,
    )


def smooth(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return a picture without noise, in colours of its own."""
    rows, columns = (np.linspace(0, 1, side) for side in size)
    base = rng.uniform(0, 150, 3) + rng.uniform(0, 50, 3) * (rows[:, None, None] + columns[None, :, None])
    picture: np.ndarray = base.astype(np.uint8)
    return picture
