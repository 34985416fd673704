from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runs import error_of, items_of, manifest_of, record_of, records_of
from tests.unit.small_disk import small_disk
from vlassess.records import RecordLog, RunDirectory, RunDirectoryError, StorageFullError
from vlassess.records.lines import CorruptLineError, strict_line
from vlassess_link.data import RECORD_SCHEMA, EpisodeRecord
from vlassess_link.jsonable import to_json

ITEMS = items_of()


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path / "run", manifest_of(), ITEMS)


def append(run: RunDirectory, *records: Any) -> None:
    log = run.log()
    log.append(records)
    log.close()


def test_what_was_made_is_what_is_opened(run: RunDirectory) -> None:
    again = RunDirectory.open(run.path)
    assert again.manifest == run.manifest == manifest_of()
    assert again.items() == ITEMS
    assert again.records() == ([], 0)


def test_records_come_back_as_they_went(run: RunDirectory) -> None:
    records = [record_of(ITEMS[0]), record_of(ITEMS[1], error=error_of()), record_of(ITEMS[1], 2)]
    append(run, *records[:1])
    append(run, *records[1:])
    assert run.records() == (records, 0)
    lines = (run.path / "episodes.jsonl").read_bytes()
    assert lines == b"".join(strict_line(to_json(record)) for record in records)


def test_create_never_touches_what_exists(run: RunDirectory) -> None:
    append(run, record_of(ITEMS[0]))
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    with pytest.raises(RunDirectoryError, match=r"run exists; choose another output or resume it with --resume"):
        RunDirectory.create(run.path, manifest_of(run_id="other"), ())
    assert {path.name: path.read_bytes() for path in run.path.iterdir()} == before


def test_a_folder_without_a_manifest_holds_no_run(tmp_path: Path, run: RunDirectory) -> None:
    with pytest.raises(RunDirectoryError, match=r"nowhere does not exist; give a folder that `vlassess run` made"):
        RunDirectory.open(tmp_path / "nowhere")
    with pytest.raises(RunDirectoryError, match=r"holds no run\.json"):
        RunDirectory.open(tmp_path)
    (run.path / "run.json").unlink()
    with pytest.raises(RunDirectoryError, match=r"holds no run\.json"):
        RunDirectory.open(run.path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"schema_version": 2, "new_field": 1, "config": {"from": "the future"}},
            "schema 2; .* reads up to 1: upgrade",
        ),
        ({"config": {"policies": {}}}, r"is not a run's manifest: config.benchmark: Field required"),
        ({"items": "many"}, "is not a run's manifest: items: "),
    ],
)
def test_a_manifest_that_cannot_be_read_says_why(run: RunDirectory, change: dict[str, Any], says: str) -> None:
    file = run.path / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(RunDirectoryError, match=says):
        RunDirectory.open(run.path)


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe\xfa"])
def test_a_damaged_manifest_is_named(run: RunDirectory, text: bytes) -> None:
    (run.path / "run.json").write_bytes(text)
    with pytest.raises(RunDirectoryError, match=r"run.json is not JSON .*; restore the file"):
        RunDirectory.open(run.path)


@pytest.fixture
def run_in_memory(tmp_path: Path) -> Iterator[RunDirectory]:
    """A run on a file system where a sync costs nothing, where there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        yield RunDirectory.create(Path(folder) / "run", manifest_of(), ITEMS)


def test_a_kill_at_any_byte_loses_at_most_the_last_record(run_in_memory: RunDirectory) -> None:
    run = run_in_memory
    earlier = records_of(ITEMS[:3])
    # The last one is the longest: what is left of it must not show behind the next.
    last, after = dataclasses.replace(record_of(ITEMS[3]), host="h" * 300), record_of(ITEMS[4])
    append(run, *earlier, last)
    file = run.path / "episodes.jsonl"
    whole = file.read_bytes()
    begin = len(whole) - len(strict_line(to_json(last)))
    for size in range(begin, len(whole) + 1):
        file.write_bytes(whole[:size])
        kept = earlier if size < len(whole) else [*earlier, last]
        assert run.records() == (kept, 0 if size == len(whole) else size - begin)
        append(run, after)
        assert run.records() == ([*kept, after], 0)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    ("junk", "error", "says"),
    [
        (b'{"torn": ', CorruptLineError, "is not JSON"),
        (b"5", RunDirectoryError, "EpisodeRecord must be an object"),
        (b'{"colour": 1}', RunDirectoryError, "has the unknown field 'colour'"),
    ],
)
def test_a_damaged_line_in_the_middle_is_named_by_its_number(
    run: RunDirectory, number: int, junk: bytes, error: type[Exception], says: str
) -> None:
    append(run, *records_of(ITEMS[:3]))
    file = run.path / "episodes.jsonl"
    lines = file.read_bytes().splitlines()
    lines[number - 1] = junk
    file.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(error, match=rf"episodes.jsonl, line {number}.*{says}"):
        run.records()


def test_a_damaged_plan_is_named_by_its_line(run: RunDirectory) -> None:
    file = run.path / "plan.jsonl"
    file.write_bytes(file.read_bytes() + b'{"item_id": 3}\n')
    with pytest.raises(RunDirectoryError, match=rf"plan.jsonl, line {len(ITEMS) + 1}: WorkItem.item_id must be a text"):
        run.items()


@pytest.mark.parametrize("kept", [0, -1, None])
def test_a_plan_that_lacks_a_line_is_no_smaller_run(run: RunDirectory, kept: int | None) -> None:
    file = run.path / "plan.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.unlink()
    if kept is not None:
        file.write_bytes(b"".join(lines[:kept]))
    with pytest.raises(RunDirectoryError, match=r"plan.jsonl is not the plan that run.json names; restore the file"):
        run.items()


def test_records_of_a_newer_schema_are_refused(run: RunDirectory) -> None:
    append(run, record_of(ITEMS[0]), dataclasses.replace(record_of(ITEMS[1]), schema=RECORD_SCHEMA + 1))
    words = f"episodes.jsonl has schema {RECORD_SCHEMA + 1}; this vlassess reads up to {RECORD_SCHEMA}: upgrade it"
    with pytest.raises(RunDirectoryError, match=words):
        run.records()


def test_nan_never_reaches_the_file(run: RunDirectory) -> None:
    append(run, record_of(ITEMS[0]))
    log = run.log()
    with pytest.raises(ValueError, match="Out of range float"):
        log.append([record_of(ITEMS[1]), dataclasses.replace(record_of(ITEMS[2]), seconds={"step": float("nan")})])
    log.close()
    assert len(run.records().records) == 1


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small", 64) as folder:
        yield folder


def test_a_full_disk_loses_nothing_and_can_be_resumed(small: Path) -> None:
    run = RunDirectory.create(small / "run", manifest_of(), ITEMS[:1])
    log, kept = run.log(), 0
    record = dataclasses.replace(record_of(ITEMS[0]), host="h" * 1000)

    def fill() -> None:
        nonlocal kept
        while kept < 1000:
            log.append([record])
            kept += 1

    with pytest.raises(StorageFullError, match=r"no space left for .*: free some, then run `vlassess run --resume"):
        fill()
    assert 5 < kept < 1000
    assert run.records() == ([record] * kept, 0)
    with pytest.raises(StorageFullError):
        log.append([record] * 3)
    assert run.records() == ([record] * kept, 0), "the file is cut back to its last whole line"
    with run.lock() as left:
        assert left is None

    (small / "run" / "plan.jsonl").unlink()
    log.append([record])
    log.close()
    assert run.records() == ([record] * (kept + 1), 0)


def test_a_run_cannot_be_made_on_a_full_disk(small: Path) -> None:
    with (small / "ballast").open("wb") as file, pytest.raises(OSError, match="No space left"):
        file.write(bytes(70_000))
    with pytest.raises(StorageFullError, match=r"no space left for .*: free some or choose another --output"):
        RunDirectory.create(small / "run", manifest_of(), ITEMS)
    with pytest.raises(RunDirectoryError, match=r"holds no run\.json"):
        RunDirectory.open(small / "run")


class Failing(RecordLog[EpisodeRecord]):
    """Writes half of what it is given, then fails in another way than a full disk."""

    def _write(self, data: bytes) -> None:
        super()._write(data[: len(data) // 2])
        raise OSError(5, "Input/output error")


def test_another_disk_error_is_told_as_it_is_and_leaves_whole_lines(run: RunDirectory) -> None:
    before = record_of(ITEMS[0])
    append(run, before)
    log = Failing(run.path / "episodes.jsonl", "vlassess run --resume")
    with pytest.raises(OSError, match="Input/output error"):
        log.append([record_of(ITEMS[1])])
    log.close()
    assert run.records() == ([before], 0)
