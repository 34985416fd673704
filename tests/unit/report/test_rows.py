from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.report import build
from vlassess.records import RunDirectory
from vlassess.report import FORMATS, attempt_rows, summarise
from vlassess.report.rows import COLUMNS, Row, columns_of
from vlassess_link.data import Outcome

SAMPLE = Path(__file__).parents[2] / "assets" / "records" / "v1"
ITEMS = build.plan(cells=({}, {"light": "dim", "camera": "far"}))
HOSTILE = 'a,"b"\n<script>\ud800é=1+1'


def read_csv(data: bytes) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"))))


def read_json(data: bytes) -> list[dict[str, Any]]:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    loaded: list[dict[str, Any]] = json.loads(data, parse_constant=refuse)
    return loaded


def read_parquet(data: bytes) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(io.BytesIO(data)).to_pylist()
    return rows


READERS: dict[str, Callable[[bytes], list[dict[str, Any]]]] = {
    "csv": read_csv,
    "json": read_json,
    "parquet": read_parquet,
}


def rows_of_everything() -> list[Row]:
    """A success, a failure after a broken attempt, a policy's error, and items that are missing."""
    outcome = Outcome(False, "limit", 0.5, 0.25, {"grasped": 7}, {"distance": 0.125})
    records = [
        replace(build.record(ITEMS[0]), instruction=HOSTILE),
        build.broken(ITEMS[1], "benchmark"),
        replace(build.record(ITEMS[1], 2), outcome=outcome),
        build.broken(ITEMS[2], "policy"),
    ]
    return attempt_rows(ITEMS, records)


def test_every_attempt_and_every_missing_item_has_its_row() -> None:
    rows = rows_of_everything()
    assert [row["ended_as"] for row in rows[:5]] == ["success", "error", "failure", "failure", "missing"]
    assert [row["counted"] for row in rows[:5]] == [True, False, True, True, True]
    assert len(rows) == len(ITEMS) + 1
    assert sum(row["counted"] is True for row in rows) == len(ITEMS)
    assert rows[1]["cell"] == "camera=far light=dim"
    assert (rows[2]["metric_distance"], rows[2]["stage_grasped"], rows[2]["attempt"]) == (0.125, 7, 2)
    assert rows[3]["error_origin"] == "policy"
    assert "success" not in rows[3]
    assert rows[4].get("attempt") is None


def test_counted_rows_give_the_numbers_of_the_summary() -> None:
    run = RunDirectory.open(SAMPLE)
    items, records = run.items(), run.records().records
    rows = attempt_rows(items, records)
    for policy in summarise(items, records, run.manifest).policies:
        ended = [row["ended_as"] for row in rows if row["counted"] and row["policy"] == policy.label]
        counts = policy.counts
        assert ended.count("success") == counts.success
        assert ended.count("failure") == counts.failure
        assert ended.count("error") == counts.error
        assert ended.count("missing") == counts.missing


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_table_has_all_columns_and_rows(format: str) -> None:
    rows = rows_of_everything()
    read = READERS[format](FORMATS[format](rows))
    assert len(read) == len(rows)
    assert list(read[0]) == list(columns_of(rows))
    assert [row["item_id"] for row in read] == [row["item_id"] for row in rows]
    assert [str(row["seed"]) for row in read] == [str(row["seed"]) for row in rows]
    assert read[0]["counted"] in (True, "true")
    assert read[4]["success"] in (None, "")
    assert float(read[2]["metric_distance"]) == 0.125


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_any_text_comes_through(format: str) -> None:
    text = READERS[format](FORMATS[format](rows_of_everything()))[0]["instruction"]
    assert text == (HOSTILE if format == "json" else HOSTILE.replace("\ud800", "\\ud800"))


def test_parquet_columns_have_their_types_even_where_nothing_is_known() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    schema = parquet.read_schema(io.BytesIO(FORMATS["parquet"](attempt_rows(ITEMS, []))))
    names = {str: "string", int: "int64", float: "double", bool: "bool"}
    assert {field.name: str(field.type) for field in schema} == {name: names[kind] for name, kind in COLUMNS.items()}


def test_pandas_reads_the_same_from_each(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    run = RunDirectory.open(SAMPLE)
    rows = attempt_rows(run.items(), run.records().records)
    for format, data in ((name, make(rows)) for name, make in FORMATS.items()):
        (tmp_path / f"rows.{format}").write_bytes(data)
    frames = [
        pandas.read_csv(tmp_path / "rows.csv", keep_default_na=False, na_values=[""]),
        pandas.read_json(tmp_path / "rows.json", dtype=False),
        pandas.read_parquet(tmp_path / "rows.parquet"),
    ]
    for frame in frames:
        assert list(frame.columns) == list(columns_of(rows))
        counted = frame[frame["counted"]]
        assert counted.groupby("policy")["ended_as"].apply(lambda ends: (ends == "success").sum()).to_dict() == {
            "main": 1,
            "nan": 0,
        }
