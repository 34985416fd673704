"""Colours that are drawn from: what is unseen, and what a room may look like."""

from __future__ import annotations

from collections.abc import Mapping

from .scene import Colour, Vector

UNSEEN: Mapping[str, Colour] = {
    "purple": (0.48, 0.16, 0.62, 1.0),
    "yellow": (0.93, 0.80, 0.12, 1.0),
    "pink": (0.95, 0.45, 0.66, 1.0),
    "turquoise": (0.10, 0.68, 0.70, 1.0),
}
"""Colours of no object of the control, by name."""

STANDING_AROUND: tuple[Colour, ...] = (
    *UNSEEN.values(),
    (0.94, 0.50, 0.10, 1.0),
    (0.45, 0.28, 0.16, 1.0),
    (0.10, 0.10, 0.11, 1.0),
    (0.95, 0.95, 0.95, 1.0),
)
"""Colours of distractors: never red, green or blue, so that an instruction stays true of one thing alone."""

TABLES: tuple[Colour, ...] = (
    (0.34, 0.24, 0.18, 1.0),
    (0.88, 0.83, 0.70, 1.0),
    (0.62, 0.50, 0.63, 1.0),
    (0.40, 0.54, 0.54, 1.0),
    (0.80, 0.70, 0.34, 1.0),
)
WALLS: tuple[Colour, ...] = (
    (0.84, 0.74, 0.54, 1.0),
    (0.30, 0.42, 0.36, 1.0),
    (0.72, 0.50, 0.47, 1.0),
    (0.24, 0.25, 0.34, 1.0),
)
PANELS: tuple[Colour, ...] = (
    (0.75, 0.30, 0.25, 1.0),
    (0.25, 0.45, 0.65, 1.0),
    (0.85, 0.75, 0.40, 1.0),
    (0.35, 0.55, 0.35, 1.0),
    (0.55, 0.40, 0.60, 1.0),
    (0.92, 0.90, 0.86, 1.0),
)
TINTS: Mapping[str, Vector] = {
    "warm": (0.0, 0.45, 1.0),
    "cool": (1.0, 0.45, 0.0),
    "green": (0.75, 0.0, 0.75),
    "magenta": (0.0, 0.85, 0.15),
}
"""What a coloured light lacks of red, green and blue at full strength."""
