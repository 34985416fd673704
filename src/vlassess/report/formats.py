"""Rows as CSV, JSON or Parquet, with the same columns in each."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vlassess.report.rows import Row, Value, columns_of
from vlassess_link.errors import VlassessError


class FormatError(VlassessError):
    """A format cannot be written here."""


def csv_bytes(rows: Sequence[Row]) -> bytes:
    """Return UTF-8 CSV with a header; undefined is an empty cell, truth values are ``true`` and ``false``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = columns_of(rows)
    writer.writerow([_encodable(name) for name in columns])
    writer.writerows([_csv_cell(row.get(name)) for name in columns] for row in rows)
    return out.getvalue().encode("utf-8")


def json_bytes(rows: Sequence[Row]) -> bytes:
    """Return a strict JSON list of objects in ASCII, one a line; undefined is null."""
    columns = columns_of(rows)
    lines = [json.dumps({name: row.get(name) for name in columns}, allow_nan=False) for row in rows]
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode("ascii")


def parquet_bytes(rows: Sequence[Row]) -> bytes:
    """Return a Parquet file whose columns have their types even where every value is undefined.

    Raises:
        FormatError: pyarrow is not installed.
    """
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise FormatError("parquet needs pyarrow: pip install 'vlassess[artifacts]', or take csv") from None
    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    columns = columns_of(rows)
    table = arrow.table(
        {
            _encodable(name): arrow.array([_plain(row.get(name)) for row in rows], kinds[kind])
            for name, kind in columns.items()
        }
    )
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


FORMATS: Mapping[str, Callable[[Sequence[Row]], bytes]] = {
    "csv": csv_bytes,
    "json": json_bytes,
    "parquet": parquet_bytes,
}
"""Name of a format -> what makes it."""


def _csv_cell(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _plain(value)


def _plain(value: Value) -> Value:
    return _encodable(value) if isinstance(value, str) else value


def _encodable(text: str) -> str:
    """Return ``text`` with halves of surrogate pairs, which UTF-8 cannot hold, written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
