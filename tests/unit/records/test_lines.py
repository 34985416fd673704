from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.records.lines import CorruptLineError, read_lines, strict_line, write_atomically

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4), st.binary(max_size=20).filter(lambda data: b"\n" not in data))
def test_whole_lines_are_read_and_the_torn_rest_is_counted(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], rest: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "lines.jsonl"
    whole = b"".join(map(strict_line, values))
    file.write_bytes(whole + rest)
    assert read_lines(file) == (values, len(whole), len(rest))


@given(JSON)
def test_a_line_is_one_line_of_ascii(value: Any) -> None:
    line = strict_line(value)
    assert line.isascii()
    assert line.splitlines() == [line[:-1]]
    assert json.loads(line) == value


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}])
def test_nan_is_never_written(value: Any) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        strict_line(value)


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "none.jsonl") == ([], 0, 0)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("junk", [b'{"a": 1', b"", b"\x00\x00", b"\xff", b"{} {}"])
def test_a_finished_line_that_is_not_json_is_named(tmp_path: Path, number: int, junk: bytes) -> None:
    lines = [b"{}", b"{}", b"{}"]
    lines[number - 1] = junk
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(CorruptLineError, match=rf"lines.jsonl, line {number} is not JSON; restore the file"):
        read_lines(file)


def test_an_atomic_write_replaces_the_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    write_atomically(file, b"old")
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_an_atomic_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    with pytest.raises(OSError, match=r"run\.json"):
        write_atomically(tmp_path / "run.json", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_the_error_names_the_file_and_not_the_one_beside_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "nowhere" / "run.csv", b"x")
    assert caught.value.filename == str(tmp_path / "nowhere" / "run.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match=r"file/run\.csv"):
        write_atomically(tmp_path / "file" / "run.csv", b"x")
