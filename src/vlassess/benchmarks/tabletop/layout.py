"""Where items stand at the start of an episode."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vlassess_link.errors import BenchmarkFault

from .scene import Item, Region

_TRIES_PER_ITEM = 200
_RESTARTS = 50


@dataclass(frozen=True)
class Spot:
    """Where an item stands: meters, and radians about the vertical."""

    x: float
    y: float
    yaw: float


def draw_layout(items: Sequence[Item], region: Region, rng: np.random.Generator) -> dict[str, Spot]:
    """Return a spot for every item such that no two footprints overlap, uniform over such layouts' tries.

    Items are drawn in their order, large footprints first, each again until it is free of the others.

    Raises:
        BenchmarkFault: the region is too full.
    """
    ordered = sorted(items, key=lambda item: -item.footprint)
    for _ in range(_RESTARTS):
        spots = _attempt(ordered, region, rng)
        if spots is not None:
            return spots
    raise BenchmarkFault(f"no free layout for {len(items)} items was found; enlarge the region or take fewer items")


def draw_among(
    items: Sequence[Item],
    taken: Sequence[tuple[Item, Spot]],
    region: Region,
    fits: Callable[[Spot], bool],
    rng: np.random.Generator,
) -> dict[str, Spot]:
    """Return a spot for every item, free of one another and of what stands there already.

    Args:
        items: In the order in which they are drawn.
        taken: What stands there, and where.
        region: Rectangle that centres are drawn from.
        fits: What else a spot must fulfil.
        rng: Of the stream that these items belong to.

    Raises:
        BenchmarkFault: no such layout was found.
    """
    for _ in range(_RESTARTS):
        spots = _attempt(items, region, rng, taken, fits)
        if spots is not None:
            return spots
    raise BenchmarkFault(f"no free spots for {', '.join(item.name for item in items)} were found; report the seed")


def _anywhere(_: Spot) -> bool:
    return True


def _attempt(
    items: Sequence[Item],
    region: Region,
    rng: np.random.Generator,
    taken: Sequence[tuple[Item, Spot]] = (),
    fits: Callable[[Spot], bool] = _anywhere,
) -> dict[str, Spot] | None:
    spots: dict[str, Spot] = {}
    placed = list(taken)
    for item in items:
        for _ in range(_TRIES_PER_ITEM):
            x, y = rng.uniform(region.low, region.high)
            spot = Spot(float(x), float(y), float(rng.uniform(-math.pi / 4, math.pi / 4)) if item.free else 0.0)
            apart = all(math.hypot(x - s.x, y - s.y) >= item.footprint + other.footprint for other, s in placed)
            if apart and fits(spot):
                placed.append((item, spot))
                spots[item.name] = spot
                break
        else:
            return None
    return spots
