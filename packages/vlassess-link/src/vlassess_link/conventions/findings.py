"""What comparing two declarations comes to, collected on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Tuple

COMPATIBLE = "compatible"
CONVERTIBLE = "convertible"
INCOMPATIBLE = "incompatible"


@dataclass(frozen=True)
class Fit:
    """Whether a policy and a benchmark mean the same numbers.

    Attributes:
        verdict: "compatible" (nothing is to be done), "convertible" (every one of `conversions` is done, exactly),
            or "incompatible" (the run is refused).
        conversions: One sentence each, in the order in which they are done.
        reasons: Why they do not fit, one sentence each; empty unless "incompatible".
        unchecked: What a side does not declare and nobody can therefore check, one sentence each.
    """

    verdict: str
    conversions: Tuple[str, ...] = ()
    reasons: Tuple[str, ...] = ()
    unchecked: Tuple[str, ...] = ()


class Findings:
    """Collects what is found; `fit` is what it comes to."""

    def __init__(self) -> None:
        self.conversions: List[str] = []
        self.reasons: List[str] = []
        self.unchecked: List[str] = []

    @property
    def fit(self) -> Fit:
        """What it comes to so far."""
        verdict = INCOMPATIBLE if self.reasons else CONVERTIBLE if self.conversions else COMPATIBLE
        return Fit(verdict, _once(self.conversions), _once(self.reasons), _once(self.unchecked))


def _once(sentences: List[str]) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
