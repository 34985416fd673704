"""The one type of every interval, so that statistics, summaries and files mean the same by it."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """A closed interval; a list of two numbers in JSON.

    Attributes:
        low: Lower end.
        high: Upper end, not below `low`.
    """

    low: float
    high: float
