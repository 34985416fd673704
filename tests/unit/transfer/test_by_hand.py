"""Trials by hand: an order that nobody can guess, codes that tell nothing, and a file of which nothing is dropped."""

from __future__ import annotations

import contextlib
import csv
import io
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.transfer.build import SPEC, study_of
from vlassess.transfer import (
    Design,
    HandRecord,
    HandTrial,
    Key,
    design_of,
    deviations,
    make_key,
    plan_by_hand,
    read_trials,
    sheet_csv,
)
from vlassess.transfer.by_hand import COLUMNS, start_names
from vlassess.transfer.entering import TrialsError

STAGES = ("reach", "grasp", "place")
LABELS = ("one", "two")


def design(**real: Any) -> Design:
    return design_of(study_of(real=real), SPEC, [])


def planned(starts: int = 4, secret: str = "secret") -> tuple[tuple[HandTrial, ...], Key]:
    key = make_key(LABELS, secret)
    return plan_by_hand(design(starts=starts), key), key


def filled(trials: tuple[HandTrial, ...], **changes: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(sheet_csv(trials))))
    return [{**row, "success": "yes", **changes} for row in rows]


def written(rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def read(rows: list[dict[str, str]], entered: str = "2026-01-02") -> list[HandRecord]:
    return read_trials(written(rows), STAGES, "digest", entered)


def kinds(
    trials: tuple[HandTrial, ...], rows: list[dict[str, str]], opened: str | None = None
) -> dict[str, tuple[str, ...]]:
    return {one.kind: one.trials for one in deviations(trials, read(rows), LABELS, opened)}


def test_a_block_is_one_start_with_every_policy_cell_and_control_once() -> None:
    trials, key = planned()
    assert Counter(trial.block for trial in trials) == {1: 6, 2: 6, 3: 6, 4: 6}
    for block in (1, 2, 3, 4):
        own = [trial for trial in trials if trial.block == block]
        assert len({trial.start for trial in own}) == 1
        assert {(trial.policy, trial.cell) for trial in own} == {
            (code, cell) for code in key.codes.values() for cell in ("control", "light=dim", "object=mug")
        }


def test_over_secrets_every_policy_comes_first_about_equally_often() -> None:
    first = Counter(key.label(trials[0].policy) for trials, key in (planned(1, f"s{n}") for n in range(400)))
    assert 150 <= first["one"] <= 250


def test_codes_are_different_drawn_from_the_secret_and_kept_by_an_amendment() -> None:
    keys = [make_key(LABELS, f"s{n}") for n in range(50)]
    assert all(len(set(key.codes.values())) == 2 for key in keys)
    assert len({key.codes["one"] for key in keys}) > 25
    grown = make_key((*LABELS, "three"), "another", keys[0])
    assert {label: grown.codes[label] for label in LABELS} == keys[0].codes
    assert len(set(grown.codes.values())) == 3


def test_an_amendment_keeps_numbers_and_adds_new_blocks() -> None:
    trials, key = planned(2)
    more = plan_by_hand(design(starts=3), key, trials)
    assert more[: len(trials)] == trials
    assert {trial.block for trial in more[len(trials) :]} == {3}
    fewer = plan_by_hand(design(starts=2, cells=["light=dim"]), key, more)
    assert {trial.item_id for trial in fewer} < {trial.item_id for trial in trials}


def test_a_filled_sheet_is_read_without_a_deviation_and_the_stages_become_progress() -> None:
    trials, _ = planned()
    rows = filled(trials, stages="reach+grasp", interventions="1", seconds="81.5", success="no")
    records = read(rows)
    assert kinds(trials, rows) == {}
    assert [record.item_id for record in records] == [trial.item_id for trial in trials]
    assert records[0].progress == pytest.approx(2 / 3)
    assert (records[0].interventions, records[0].seconds, records[0].success) == (1, 81.5, False)


def test_a_sheet_that_nobody_filled_in_has_no_result() -> None:
    trials, _ = planned()
    assert read_trials(sheet_csv(trials), STAGES, "", "") == []


def test_each_departure_from_the_plan_is_found_and_nothing_is_dropped() -> None:
    trials, _ = planned()
    rows = filled(trials)
    rows[0], rows[5] = rows[5], rows[0]  # out of order
    rows[7]["cell"] = "control" if rows[7]["cell"] != "control" else "light=dim"
    rows[8]["note"] = "this must be one, surely"
    rows[9]["unfair"] = "yes"
    rows.append({**rows[10], "success": "no"})
    rows.append({**rows[11], "trial": "0777"})
    del rows[12]
    found = kinds(trials, rows)
    assert found["missing"] == ("0013",)
    assert found["repeated"] == ("0011",)
    assert found["unknown"] == ("0777",)
    assert found["not as planned"] == ("0008",)
    assert found["blinding"] == ("0009",)
    assert found["flagged"] == ("0010",)
    assert set(found["order"]) == {"0002", "0003", "0004", "0005", "0001"}
    assert len(read(rows)) == len(rows)


def test_what_is_entered_after_the_codes_were_opened_is_told() -> None:
    trials, _ = planned()
    told = deviations(trials, read(filled(trials)), LABELS, opened="2026-01-01")
    assert [one.kind for one in told] == ["blinding"]


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("success", "perhaps", "line 2: success is 'perhaps'; it must be yes or no"),
        ("success", "", "success is ''"),
        ("interventions", "-1", "interventions is '-1'"),
        ("interventions", "1.5", "must be a whole number"),
        ("seconds", "nan", "seconds is 'nan'"),
        ("stages", "grab", "write those that were reached, as reach+grasp"),
        ("stages", "4", "stages is '4'"),
        ("unfair", "hm", "unfair is 'hm'"),
        ("trial", "", "trial is empty"),
    ],
)
def test_a_mistake_in_a_row_is_told_with_its_line_and_nothing_is_entered(column: str, value: str, told: str) -> None:
    trials, _ = planned()
    rows = filled(trials, note="seen")
    rows[0][column] = value
    with pytest.raises(TrialsError, match=told.replace("(", r"\(").replace("+", r"\+")):
        read(rows)


@pytest.mark.parametrize("header", ["", "a,b", "trial,policy,cell,start", "trial,policy,cell,start,success,colour"])
def test_a_file_that_is_no_sheet_says_what_it_lacks(header: str) -> None:
    with pytest.raises(TrialsError, match="column"):
        read_trials(f"{header}\n1,2,3,4,5,6\n", STAGES, "", "")


@given(st.text(max_size=300))
def test_any_text_is_either_read_or_refused_in_sentences(text: str) -> None:
    with contextlib.suppress(TrialsError):
        assert all(record.item_id for record in read_trials(text, STAGES, "", ""))


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.text("abc ,\n\"'", max_size=12)), min_size=24, max_size=24)
)
def test_what_is_written_down_is_what_is_read(results: list[tuple[bool, int, str]]) -> None:
    trials, _ = planned()
    rows = filled(trials)
    for row, (success, reached, note) in zip(rows, results, strict=True):
        row.update(success="yes" if success else "no", stages=str(reached), note=note)
    records = read(rows)
    assert [(record.success, len(record.stages), record.note) for record in records] == [
        (success, reached, note.strip()) for success, reached, note in results
    ]


def test_starts_are_named_by_their_task_where_there_is_one() -> None:
    assert start_names(design(starts=3)) == ("walk-to-4-1", "walk-to-5-1", "walk-to-4-2")
    assert start_names(design(starts=["left", "right"])) == ("left", "right")
    alone = design_of(study_of(benchmark=None, real={"starts": 2}), None, [])
    assert start_names(alone) == ("start-1", "start-2")
