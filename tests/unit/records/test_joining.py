from __future__ import annotations

import dataclasses
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runs import FAILURE, error_of, items_of, record_of
from vlassess.records import ConflictError, join_records
from vlassess_link.data import COMPARED, EpisodeRecord

ITEMS = items_of()
NAMES = ("one", "two", "three")


def test_identical_results_are_kept_once_and_counted() -> None:
    records = [record_of(item) for item in ITEMS]
    later = [
        dataclasses.replace(each, attempt=2, host="other", images_digest="other", started="later") for each in records
    ]
    joined = join_records([records[:4], later[2:], records], NAMES)
    assert [kept.record for kept in joined.kept] == [*records[:4], *later[4:]]
    assert [kept.source for kept in joined.kept] == [0] * 4 + [1] * 2
    assert joined.duplicates == (0, 2, 6)


def test_broken_attempts_are_kept_beside_the_result_that_wins() -> None:
    item = ITEMS[0]
    broken = [record_of(item, attempt, error=error_of()) for attempt in (1, 2)]
    again = dataclasses.replace(broken[0], host="other")
    result = record_of(item, 3)
    joined = join_records([broken, [again, result], broken], NAMES)
    assert [kept.record for kept in joined.kept] == [*broken, again, result]
    assert joined.duplicates == (0, 0, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outcome": FAILURE}, ["outcome: Outcome(success=True"]),
        ({"steps": 3, "actions_digest": "b"}, ["steps: 0 and 3", "actions_digest: '' and 'b'"]),
        ({"identity": "other"}, ["identity: 'unknown' and 'other'"]),
        ({"outcome": None, "error": error_of("policy")}, ["outcome: ", "and None"]),
    ],
)
def test_contradictions_are_refused_with_item_and_field(change: dict[str, Any], words: list[str]) -> None:
    record = record_of(ITEMS[0])
    other = dataclasses.replace(record, **change)
    with pytest.raises(ConflictError) as caught:
        join_records([[record], [other]], NAMES)
    message = str(caught.value)
    for word in [f"item {record.item_id} (walk/to-4 #0, repeat 0, policy main) in one and two: ", *words]:
        assert word in message
    assert "leave one of the runs out" in message


@pytest.mark.parametrize(
    "field", sorted({each.name for each in dataclasses.fields(EpisodeRecord)} - {"error", "outcome"})
)
def test_only_compared_fields_contradict(field: str) -> None:
    record = record_of(ITEMS[0])
    change: dict[str, Any] = {
        "privileged": True,
        "perturbation": {"a": "b"},
        "initial_state": {"x": [1.0]},
        "seconds": {"total": 9.0},
    }
    other = dataclasses.replace(record, **{field: change.get(field, _other(getattr(record, field)))})
    if field == "item_id":
        assert len(join_records([[record], [other]], NAMES).kept) == 2
    elif field in COMPARED:
        with pytest.raises(ConflictError, match=field):
            join_records([[record], [other]], NAMES)
    else:
        assert join_records([[record], [other]], NAMES).duplicates == (0, 1)


def _other(value: object) -> Any:
    if isinstance(value, int):
        return value + 1
    return (9.0,) if isinstance(value, tuple) else "another"


def test_many_contradictions_are_counted() -> None:
    records = [record_of(item) for item in items_of()] * 2
    others = [dataclasses.replace(record, steps=9) for record in records]
    with pytest.raises(ConflictError, match=r"(?s)12 items have different results.*and 7 more"):
        join_records([records[:6], others], NAMES)


@given(st.integers(0, 10**6))
def test_the_joined_results_do_not_depend_on_the_order_of_the_sources(seed: int) -> None:
    rng = random.Random(seed)
    records = [record_of(item, error=error_of()) if rng.random() < 0.3 else record_of(item) for item in ITEMS]
    sources = [rng.sample(records, rng.randint(1, len(records))) for _ in range(3)]
    joined = join_records(sources, NAMES)
    reverse = join_records(sources[::-1], NAMES)
    ids = Counter((kept.record.item_id, kept.record.attempt) for kept in joined.kept)
    assert ids == Counter((kept.record.item_id, kept.record.attempt) for kept in reverse.kept)
    assert set(ids.values()) <= {1}
    assert sum(joined.duplicates) == sum(map(len, sources)) - len(joined.kept)
