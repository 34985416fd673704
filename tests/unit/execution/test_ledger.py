from __future__ import annotations

import pytest

from tests.unit.runs import FAILURE, SUCCESS, error_of, items_of, record_of
from vlassess.execution import attempts_by_item
from vlassess.execution.ledger import Ledger, Verdict
from vlassess_link.data import ErrorInfo, Outcome

ITEM, OTHER = items_of()[:2]
LOST = error_of("infrastructure", "inference", "ConnectionLost")
LOST_ELSEWHERE = error_of("infrastructure", "connect", "ConnectionLost")
HANGS = error_of("infrastructure", "inference", "PolicyHangs")
DIED = error_of("infrastructure", "inference", "WorkerDied")
BROKEN = error_of("benchmark")
CHARGED = error_of("policy", "inference", "PredictError")
FINAL, AGAIN, ALONE, GIVEN_UP = Verdict.FINAL, Verdict.AGAIN, Verdict.AGAIN_ALONE, Verdict.GIVEN_UP


@pytest.mark.parametrize(
    ("attempts", "endings", "verdicts", "origin"),
    [
        (3, [SUCCESS], [FINAL], None),
        (3, [FAILURE], [FINAL], None),
        (3, [CHARGED], [FINAL], "policy"),
        (1, [CHARGED], [FINAL], "policy"),
        (1, [BROKEN], [GIVEN_UP], "benchmark"),
        (1, [LOST], [GIVEN_UP], "infrastructure"),
        (2, [BROKEN, SUCCESS], [AGAIN, FINAL], None),
        (2, [BROKEN, BROKEN], [AGAIN, GIVEN_UP], "benchmark"),
        (2, [LOST, LOST], [ALONE, FINAL], "policy"),
        (2, [LOST, SUCCESS], [ALONE, FINAL], None),
        (2, [LOST, BROKEN], [ALONE, GIVEN_UP], "benchmark"),
        (2, [BROKEN, LOST], [AGAIN, GIVEN_UP], "infrastructure"),
        (3, [LOST, LOST, LOST], [AGAIN, ALONE, FINAL], "policy"),
        (3, [LOST, LOST, SUCCESS], [AGAIN, ALONE, FINAL], None),
        (3, [LOST, LOST, LOST_ELSEWHERE], [AGAIN, ALONE, GIVEN_UP], "infrastructure"),
        (3, [LOST_ELSEWHERE] * 3, [AGAIN, AGAIN, GIVEN_UP], "infrastructure"),
        (3, [DIED] * 3, [AGAIN, AGAIN, GIVEN_UP], "infrastructure"),
        (3, [LOST, DIED, LOST], [AGAIN, AGAIN, GIVEN_UP], "infrastructure"),
        (3, [BROKEN, LOST, LOST], [AGAIN, AGAIN, GIVEN_UP], "infrastructure"),
        (3, [LOST, CHARGED], [AGAIN, FINAL], "policy"),
        (3, [HANGS, HANGS, SUCCESS], [AGAIN, ALONE, FINAL], None),
        (3, [HANGS, HANGS, CHARGED], [AGAIN, ALONE, FINAL], "policy"),
        (3, [HANGS, HANGS, HANGS], [AGAIN, ALONE, GIVEN_UP], "infrastructure"),
        (2, [HANGS, LOST], [ALONE, FINAL], "policy"),
    ],
)
def test_what_becomes_of_attempts(
    attempts: int, endings: list[Outcome | ErrorInfo], verdicts: list[Verdict], origin: str | None
) -> None:
    ledger = Ledger(attempts, {})
    found = []
    for number, ending in enumerate(endings, 1):
        given = {"error": ending} if isinstance(ending, ErrorInfo) else {"outcome": ending}
        assert ledger.next_attempt(ITEM.item_id) == number
        stored, verdict = ledger.judge(record_of(ITEM, number, **given))
        found.append(verdict)
    assert found == verdicts
    assert (stored.error.origin if stored.error else None) == origin


def test_only_the_last_record_is_charged_and_it_says_why() -> None:
    ledger = Ledger(2, {})
    first, _ = ledger.judge(record_of(ITEM, 1, error=LOST))
    last, _ = ledger.judge(record_of(ITEM, 2, error=LOST))
    assert first.error == LOST
    assert last.error is not None
    assert last.error.kind == "ConnectionLost"
    assert last.error.message == "it broke (in each of 2 attempts, while its own predict was in flight)"
    assert (last.counts_as, last.final) == ("failure", True)


def test_items_are_judged_apart() -> None:
    ledger = Ledger(2, {})
    assert ledger.judge(record_of(ITEM, error=BROKEN))[1] is AGAIN
    assert ledger.judge(record_of(OTHER, error=BROKEN))[1] is AGAIN
    assert ledger.next_attempt(OTHER.item_id) == 2


def test_numbers_go_on_where_earlier_coordinators_stopped_but_the_attempts_are_new() -> None:
    ledger = Ledger(2, {ITEM.item_id: 3})
    assert ledger.next_attempt(ITEM.item_id) == 4
    assert ledger.judge(record_of(ITEM, 4, error=BROKEN))[1] is AGAIN
    assert ledger.next_attempt(ITEM.item_id) == 5
    assert ledger.judge(record_of(ITEM, 5, error=BROKEN))[1] is GIVEN_UP


def test_attempts_are_counted_from_records() -> None:
    records = [record_of(ITEM, 1), record_of(OTHER, 1), record_of(ITEM, 3), record_of(ITEM, 2)]
    assert attempts_by_item(records) == {ITEM.item_id: 3, OTHER.item_id: 1}
