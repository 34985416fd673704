"""The radii of one policy, observation and family: which record each has, by its own run or by another's.

What a verdict implies for other radii is decided by `vlassess.robustness.radii.RadiusSearch`; here its regions are
work items and its verdicts are records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vlassess.campaign.items import RegionItem, RegionRecord
from vlassess.robustness.perturbations import Box
from vlassess.robustness.radii import Kind, RadiusSearch

KINDS: dict[str, Kind] = {"robust": "robust", "adversarial": "adversarial", "unknown": "unknown"}


@dataclass(frozen=True)
class Witness:
    """A counterexample.

    Attributes:
        theta: Its parameters in the series' family.
        source: The item that found it.
    """

    theta: tuple[float, ...]
    source: str


class Series:
    """The regions of one policy, observation and family, each within the next.

    Args:
        items: By increasing radius.
        boxes: Their regions.
        every: Decide every radius by itself, whatever others imply.
    """

    def __init__(self, items: Sequence[RegionItem], boxes: Sequence[Box], every: bool = False) -> None:
        self.items = tuple(items)
        self._boxes = tuple(boxes)
        self._every = every
        self._search = RadiusSearch(len(self.items), every)
        self._own: dict[int, RegionRecord] = {}
        self._witnesses: list[Witness] = []

    @property
    def withdrawn(self) -> set[int]:
        """Radii whose certificates a counterexample has contradicted."""
        return set(self._search.withdrawn)

    def refute(self, witness: Witness) -> None:
        """Take in a counterexample from elsewhere; one that lies in none of the regions says nothing."""
        innermost = self._innermost(witness)
        if innermost is not None:
            self._witnesses.append(witness)
            # A source that is no region of this series is numbered behind them.
            self._search.refute(innermost, len(self.items) + len(self._witnesses) - 1)
            self._settle()

    def learn(self, record: RegionRecord) -> None:
        """Take in a region's own verdict."""
        level = next(i for i, item in enumerate(self.items) if item.item_id == record.item_id)
        self._own[level] = record
        witness = Witness(record.theta, record.item_id) if record.verdict == "adversarial" else None
        innermost = None if witness is None else self._innermost(witness)
        self._search.tell(level, KINDS[record.verdict], innermost)
        self._settle()

    def next(self) -> RegionItem | None:
        """Return the region that should be decided next; None when every one has its verdict."""
        level = self._search.next()
        return None if level is None else self.items[level]

    def verdicts(self) -> list[RegionRecord]:
        """Return one record for each region, in order; only when `next` is None."""
        return [self._verdict(level) for level in range(len(self.items))]

    def _verdict(self, level: int) -> RegionRecord:
        own, standing = self._own.get(level), self._search.standing(level)
        if own is not None and (own.verdict == standing.kind or (self._every and level not in self.withdrawn)):
            return own
        assert standing.source is not None, "a verdict is asked for before it is there"
        item = self.items[level]
        if standing.kind == "robust":
            found = RegionRecord(item.item_id, "robust", "inherited", self.items[standing.source].item_id)
        else:
            witness = next(one for one in self._known() if self._boxes[level].holds(np.array(one.theta)))
            found = RegionRecord(item.item_id, "adversarial", "witness", witness.source, theta=witness.theta)
        if own is None:
            return found
        found = replace(found, queries=own.queries, seconds=own.seconds, ambiguous=own.ambiguous, terms=own.terms)
        return replace(found, withdrawn=own.verdict == "robust")

    def _known(self) -> list[Witness]:
        """Return every counterexample, those of smaller radii first."""
        own = sorted((level, record) for level, record in self._own.items() if record.verdict == "adversarial")
        return [*self._witnesses, *(Witness(record.theta, record.item_id) for _, record in own)]

    def _innermost(self, witness: Witness) -> int | None:
        theta = np.array(witness.theta)
        return next((level for level, box in enumerate(self._boxes) if box.holds(theta)), None)

    def _settle(self) -> None:
        """Where every radius has a run of its own, one whose certificate was withdrawn is not run again."""
        if self._every:
            for level in self._search.withdrawn:
                if self._search.standing(level).source != level:
                    self._search.tell(level, "adversarial", level)


def settled(series: Series, known: Callable[[str], RegionRecord | None]) -> list[RegionRecord]:
    """Return the records of a finished series that are not on disk yet, or otherwise."""
    found = []
    for record in series.verdicts():
        before = known(record.item_id)
        # What was drawn at random from a region is no part of its verdict.
        if before is None or replace(before, draws=0, violations=0) != replace(record, draws=0, violations=0):
            found.append(record)
    return found
