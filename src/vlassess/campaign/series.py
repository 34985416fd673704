"""Which radius of a family is decided next, and what follows from a verdict for the others.

The rules: a counterexample refutes every region that holds it; a certificate holds for every smaller region, labelled
as inherited; unknown says nothing about its neighbours; a counterexample inside a certified region withdraws the
certificate, which is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vlassess.campaign.items import RegionItem, RegionRecord
from vlassess.robustness.perturbations import Box

Theta = tuple[float, ...]


@dataclass(frozen=True)
class Witness:
    """A counterexample.

    Attributes:
        theta: Its parameters in the series' family.
        source: The item that found it.
    """

    theta: Theta
    source: str


class Series:
    """The regions of one policy, observation and family, each within the next.

    Args:
        items: By increasing radius.
        boxes: Their regions.
        holds: Whether a box holds parameters.
        bisect: Infer what can be inferred; without it every radius is decided by itself.
    """

    def __init__(self, items: Sequence[RegionItem], boxes: Sequence[Box], bisect: bool) -> None:
        self.items = tuple(items)
        self._boxes = boxes
        self._bisect = bisect
        self._own: dict[int, RegionRecord] = {}
        self._witnesses: list[Witness] = []
        self.withdrawn: set[int] = set()

    def refute(self, witness: Witness) -> None:
        """Take in a counterexample from elsewhere."""
        self._witnesses.append(witness)
        self._withdraw()

    def learn(self, record: RegionRecord) -> None:
        """Take in a region's own verdict."""
        level = next(i for i, item in enumerate(self.items) if item.item_id == record.item_id)
        self._own[level] = record
        if record.verdict == "adversarial":
            self._witnesses.append(Witness(record.theta, record.item_id))
        self._withdraw()

    def next(self) -> RegionItem | None:
        """Return the region that should be decided next; None when every one has its verdict."""
        open_ = [i for i in range(len(self.items)) if i not in self._own and self._inferred(i) is None]
        if not open_:
            return None
        if not self._bisect:
            return self.items[open_[0]]
        return self.items[open_[len(open_) // 2]]

    def verdicts(self) -> list[RegionRecord]:
        """Return one record for each region, in order; only when `next` is None."""
        return [self._verdict(level) for level in range(len(self.items))]

    def _verdict(self, level: int) -> RegionRecord:
        own = self._own.get(level)
        inferred = self._inferred(level)
        if own is not None and own.verdict == "unknown" and inferred is not None:
            return replace(inferred, queries=own.queries, seconds=own.seconds, ambiguous=own.ambiguous, terms=own.terms)
        if level in self.withdrawn and own is not None and inferred is not None:
            return replace(
                inferred,
                withdrawn=True,
                queries=own.queries,
                seconds=own.seconds,
                ambiguous=own.ambiguous,
                terms=own.terms,
            )
        found = own or inferred
        assert found is not None, "a verdict is asked for that is not there yet"
        return found

    def _inferred(self, level: int) -> RegionRecord | None:
        """Return what follows for a region from others: a counterexample counts more than a certificate."""
        item = self.items[level]
        if not self._bisect and level not in self.withdrawn:
            return None
        for witness in self._witnesses:
            if witness.source != item.item_id and self._boxes[level].holds(np.array(witness.theta)):
                return RegionRecord(item.item_id, "adversarial", "witness", witness.source, theta=witness.theta)
        for larger in range(level + 1, len(self.items)):
            own = self._own.get(larger)
            if own is not None and own.verdict == "robust" and larger not in self.withdrawn:
                return RegionRecord(item.item_id, "robust", "inherited", self.items[larger].item_id)
        return None

    def _withdraw(self) -> None:
        for level, own in self._own.items():
            if own.verdict == "robust" and any(
                self._boxes[level].holds(np.array(witness.theta)) for witness in self._witnesses
            ):
                self.withdrawn.add(level)


def settled(series: Series, known: Callable[[str], RegionRecord | None]) -> list[RegionRecord]:
    """Return the records of a finished series that are not on disk yet, or otherwise."""
    found = []
    for record in series.verdicts():
        before = known(record.item_id)
        # What was drawn at random from a region is no part of its verdict.
        if before is None or replace(before, draws=0, violations=0) != replace(record, draws=0, violations=0):
            found.append(record)
    return found
