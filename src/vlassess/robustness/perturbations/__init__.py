"""Continuous families of image perturbations: float32 on [0, 255], a batch of parameters at a time."""

from vlassess.robustness.perturbations.changes import CHANGES, Change, Source
from vlassess.robustness.perturbations.families import ALIASES, Box, Family, Part, family, sources
from vlassess.robustness.perturbations.grids import GRIDS
from vlassess.robustness.perturbations.pictures import Pixels, pixels, quantised

__all__ = [
    "ALIASES",
    "CHANGES",
    "GRIDS",
    "Box",
    "Change",
    "Family",
    "Part",
    "Pixels",
    "Source",
    "family",
    "pixels",
    "quantised",
    "sources",
]
