"""What becomes of an attempt: final, or tried again.

A policy's error is final at once. A benchmark or infrastructure error is tried again with the same seeds. An
episode whose every attempt lost the connection (or, for a local policy, the worker) while its own predict was in
flight is charged to the policy;
so that no bystander is charged, the last attempt of such an episode runs alone. One that waited for a call of the
policy which did not end, its own or another's in the same batch, runs alone at last, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from enum import Enum

from vlassess_link.data import EpisodeRecord, ErrorInfo


class Verdict(Enum):
    """What to do with an item after an attempt."""

    FINAL = "final"
    AGAIN = "again"
    AGAIN_ALONE = "again_alone"
    GIVEN_UP = "given_up"


def attempts_by_item(records: Iterable[EpisodeRecord]) -> dict[str, int]:
    """Return how many attempts each item has had."""
    counts: dict[str, int] = {}
    for record in records:
        counts[record.item_id] = max(counts.get(record.item_id, 0), record.attempt)
    return counts


class Ledger:
    """Counts attempts and judges them.

    Args:
        attempts: Attempts per item that this coordinator may spend.
        before: Item -> attempts of earlier coordinators; numbers continue from there.
    """

    def __init__(self, attempts: int, before: Mapping[str, int]) -> None:
        self._attempts = attempts
        self._before = before
        self._errors: dict[str, list[ErrorInfo]] = {}

    def next_attempt(self, item_id: str) -> int:
        """Return the number of the item's next attempt."""
        return self._before.get(item_id, 0) + len(self._errors.get(item_id, [])) + 1

    def judge(self, record: EpisodeRecord) -> tuple[EpisodeRecord, Verdict]:
        """Return the record as it is to be stored, and what becomes of its item."""
        if record.error is None or record.final:
            return record, Verdict.FINAL
        errors = self._errors.setdefault(record.item_id, [])
        errors.append(record.error)
        lost = all(_lost_in_predict(error) for error in errors)
        if len(errors) < self._attempts:
            last_next = len(errors) == self._attempts - 1
            return record, Verdict.AGAIN_ALONE if lost and last_next else Verdict.AGAIN
        # Alone and yet behind somebody's hanging call: that is no call of this episode's.
        if lost and len(errors) > 1 and record.error.kind != "PolicyHangs":
            return _charge_policy(record, record.error, len(errors)), Verdict.FINAL
        return record, Verdict.GIVEN_UP


def _lost_in_predict(error: ErrorInfo) -> bool:
    return error.kind in ("ConnectionLost", "LocalPolicyDied", "PolicyHangs") and error.phase == "inference"


def _charge_policy(record: EpisodeRecord, error: ErrorInfo, attempts: int) -> EpisodeRecord:
    message = f"{error.message} (in each of {attempts} attempts, while its own predict was in flight)"
    return dataclasses.replace(record, error=dataclasses.replace(error, origin="policy", message=message))
