"""Comparing arms: which episodes are pairs, which is better, and when a run knows enough to stop.

The comparison itself is in `vlassess.comparison.compare`, which imports statsmodels: a run should not wait for that.
"""

from vlassess.comparison.arms import ComparisonRefusedError
from vlassess.comparison.blocks import Place, Race, block_order, place_of
from vlassess.comparison.design import design_of
from vlassess.comparison.pairing import Pairing, Start, match

__all__ = [
    "ComparisonRefusedError",
    "Pairing",
    "Place",
    "Race",
    "Start",
    "block_order",
    "design_of",
    "match",
    "place_of",
]
