from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.unit.report import build
from vlassess.report import summarise
from vlassess.schema.config import TrackerConfig
from vlassess.tracking import Entry, TrackerUnavailableError, entry_of, require, track
from vlassess.tracking.entry import metric_name
from vlassess.tracking.trackers import MODULES, TRACKERS


def entry(run_dir: Path | None = None) -> Entry:
    items = build.plan(("a", "b"), episodes=3, cells=({}, {"camera": "far"}))
    records = [build.record(items[0]), build.failed(items[2]), build.broken(items[4], "benchmark")]
    manifest = build.manifest(items)
    return entry_of(summarise(items, records, manifest), manifest.config, run_dir)


def test_numbers_are_those_of_the_summary_and_what_is_undefined_is_left_out() -> None:
    numbers = entry().numbers

    assert numbers["a/success_rate"] == 0.5
    assert numbers["a/n"] == 2
    assert numbers["a/errors"] == 1
    assert numbers["a/missing"] == 6
    assert 0 < numbers["a/success_rate_low"] < 0.5 < numbers["a/success_rate_high"] < 1
    assert numbers["a/pick/red/success_rate"] == 0.5
    assert numbers["a/place/bowl/n"] == 0
    assert "a/place/bowl/success_rate" not in numbers
    assert numbers["a/cell/camera-far/n"] == 0
    assert numbers["b/n"] == 0
    assert "b/success_rate" not in numbers
    assert numbers["run/planned"] == 36


def test_texts_say_where_everything_is(tmp_path: Path) -> None:
    assert "artifacts" not in entry(tmp_path).texts
    (tmp_path / "artifacts").mkdir()
    texts = entry(tmp_path).texts
    assert texts["artifacts"] == str(tmp_path / "artifacts")
    assert texts["report"] == str(tmp_path / "report.html")
    assert texts["complete"] == "no"
    assert "run_dir" not in entry(None).texts


@pytest.mark.parametrize("part", ["<script>", "a b/c", "\ud800", "", "漢字", "x" * 500])
def test_every_label_becomes_a_name_that_trackers_take(part: str) -> None:
    assert re.fullmatch(r"[0-9A-Za-z_.-]{1,60}/[0-9A-Za-z_.-]{1,60}", metric_name(part, part))


def test_every_kind_has_its_tracker_and_its_module() -> None:
    kinds = set(TrackerConfig.model_json_schema()["properties"]["kind"]["enum"])
    assert set(TRACKERS) == set(MODULES) == kinds


def test_a_tracker_that_fails_is_a_sentence_and_the_next_one_is_told() -> None:
    told: list[tuple[Entry, TrackerConfig]] = []

    def broken(given: Entry, config: TrackerConfig) -> None:
        raise ConnectionError("no route to the tracker")

    def keep(given: Entry, config: TrackerConfig) -> None:
        told.append((given, config))

    trackers = [TrackerConfig(kind="wandb"), TrackerConfig(kind="mlflow", step=3)]
    problems = track(entry(), trackers, {"wandb": broken, "mlflow": keep})

    assert problems == ["wandb was not told the result (ConnectionError: no route to the tracker); the run is whole"]
    assert [config.step for _, config in told] == [3]


def test_a_missing_library_is_named_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TrackerUnavailableError, match=r"tensorboardX is not installed: pip install 'vlassess\[tensor"):
        require([TrackerConfig(kind="tensorboard")])
    require([])
