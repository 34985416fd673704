"""Which of several nested regions to decide next, and what each verdict implies for the others.

A witness refutes every region that holds it. A certificate covers every smaller region, which inherits it and is
labelled so. Unknown implies nothing in either direction. A witness inside a certified region withdraws that
certificate: it was false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["robust", "adversarial", "unknown"]


@dataclass(frozen=True)
class Standing:
    """What is known of one region.

    Attributes:
        kind: The verdict; None if there is none yet.
        source: Index of the region whose run says so; another one's verdict is inherited.
    """

    kind: Kind | None
    source: int | None


class RadiusSearch:
    """Bisection over regions 0 to n - 1, each inside the next.

    Attributes:
        withdrawn: Regions whose certificates were contradicted, in the order that this was found out.
    """

    def __init__(self, regions: int, every: bool = False) -> None:
        """Start.

        Args:
            regions: Their number.
            every: Whether each region is decided by a run of its own, whatever the others imply.

        Raises:
            ValueError: If there is no region.
        """
        if regions < 1:
            raise ValueError(f"regions is {regions}; give at least one radius")
        self._count, self._every = regions, every
        self._own: dict[int, Kind] = {}
        self._told: set[int] = set()
        self._refuted: dict[int, int] = {}
        self.withdrawn: list[int] = []

    def next(self) -> int | None:
        """Return the region to decide next, the middle one of those that nothing is known of; None when all are."""
        left = [one for one in range(self._count) if one not in self._told and (self._every or self._open(one))]
        return left[len(left) // 2] if left else None

    def _open(self, region: int) -> bool:
        return self.standing(region).kind is None

    def tell(self, region: int, kind: Kind, innermost: int | None = None) -> None:
        """Take the verdict of a region's run.

        Args:
            region: Which one.
            kind: What was said.
            innermost: For "adversarial" the smallest region that holds the witness; None: no smaller one does.

        Raises:
            ValueError: If there is no such region, or the witness does not lie in it.
        """
        within = region if innermost is None else innermost
        if not 0 <= region < self._count:
            raise ValueError(f"region is {region}; there are {self._count}, from 0")
        if kind == "adversarial" and not 0 <= within <= region:
            raise ValueError(f"innermost is {within}, but the witness was found in region {region}: it lies in it")
        self._told.add(region)
        self._own[region] = kind
        if kind == "adversarial":
            self.refute(within, region)
        elif kind == "robust" and any(known <= region for known in self._refuted):
            self._withdraw(region)

    def refute(self, innermost: int, source: int) -> None:
        """Take a witness, wherever it comes from: every region from ``innermost`` on holds it."""
        self._refuted[innermost] = min(source, self._refuted.get(innermost, source))
        for region in [one for one, kind in self._own.items() if kind == "robust" and one >= innermost]:
            self._withdraw(region)

    def _withdraw(self, region: int) -> None:
        del self._own[region]
        self.withdrawn.append(region)

    def standing(self, region: int) -> Standing:
        """Return what is known of a region: by its own run, else by another's."""
        witnesses = [source for innermost, source in self._refuted.items() if innermost <= region]
        if witnesses:
            own = self._own.get(region) == "adversarial"
            return Standing("adversarial", region if own else min(witnesses))
        covering = [one for one, kind in self._own.items() if kind == "robust" and one >= region]
        if covering:
            return Standing("robust", min(covering))
        return Standing(self._own.get(region), region if region in self._own else None)

    def bracket(self) -> tuple[int | None, int | None]:
        """Return the largest region that is certified and the smallest that is refuted; None where there is none."""
        certified = [one for one, kind in self._own.items() if kind == "robust"]
        return max(certified, default=None), min(self._refuted, default=None)
