"""Patterns as numbers: made by code, with fixed seeds; a pattern darkens a colour in places.

They are gray, so that one pattern serves every colour, and repeat without a seam.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

PIXELS = 64
"""Side of a pattern."""

_ROWS, _COLUMNS = np.mgrid[:PIXELS, :PIXELS] / PIXELS
_SEED = 20240


def _checks() -> np.ndarray:
    return np.where((np.floor(4 * _ROWS) + np.floor(4 * _COLUMNS)) % 2 == 0, 1.0, 0.45)


def _stripes() -> np.ndarray:
    return np.where(np.floor(8 * _COLUMNS) % 2 == 0, 1.0, 0.40)


def _dots() -> np.ndarray:
    away = np.hypot((4 * _ROWS) % 1 - 0.5, (4 * _COLUMNS) % 1 - 0.5)
    return np.where(away < 0.32, 0.35, 1.0)


def _tiles() -> np.ndarray:
    joint = np.minimum((4 * _ROWS) % 1, (4 * _COLUMNS) % 1)
    return np.where(joint < 0.10, 0.35, 1.0)


def _planks() -> np.ndarray:
    """Return boards along the columns, each with its own shade and grain."""
    rng = np.random.default_rng(_SEED)
    board = np.floor(4 * _ROWS).astype(int)
    shade = rng.uniform(0.72, 1.0, 4)[board]
    phase = rng.uniform(0.0, 2 * np.pi, 4)[board]
    grain = 0.10 * np.sin(2 * np.pi * (6 * _ROWS + 0.7 * np.sin(2 * np.pi * _COLUMNS + phase)))
    return np.asarray(np.where((4 * _ROWS) % 1 < 0.07, 0.40, shade + grain - 0.05))


def _marble() -> np.ndarray:
    """Return veins: a few waves with whole numbers of periods, bent by one another."""
    rng = np.random.default_rng(_SEED + 1)
    bend = np.zeros((PIXELS, PIXELS))
    for _ in range(6):
        across, along = rng.integers(1, 4, 2)
        bend += np.sin(2 * np.pi * (across * _ROWS + along * _COLUMNS) + rng.uniform(0.0, 2 * np.pi)) / (across + along)
    return np.asarray(0.55 + 0.45 * np.abs(np.sin(2 * np.pi * (_ROWS + _COLUMNS) + 2.5 * bend)) ** 0.5)


_MAKERS: Mapping[str, Callable[[], np.ndarray]] = {
    "checks": _checks,
    "stripes": _stripes,
    "dots": _dots,
    "tiles": _tiles,
    "planks": _planks,
    "marble": _marble,
}
PATTERNS = tuple(_MAKERS)
"""Names of the patterns."""


def pattern(name: str) -> np.ndarray:
    """Return a pattern's shares of brightness, (PIXELS, PIXELS) uint8, 255 where a colour stays as it is."""
    return np.asarray(np.round(255 * np.clip(_MAKERS[name](), 0.0, 1.0)), np.uint8)
