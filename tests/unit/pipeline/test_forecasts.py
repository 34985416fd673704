from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.runs import config_of, error_of, items_of, manifest_of, record_of
from vlassess.execution import FleetSettings, Work, group_of
from vlassess.pipeline.forecasts import FIRST, FirstEpisodes, Prospect, forecasting
from vlassess.records import RunDirectory
from vlassess.schema.config import RunConfig
from vlassess.schema.events import SilentListener
from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord

CONFIG = config_of(episodes=20)
ITEMS = items_of(CONFIG)
STEPS = {group_of("main", "walk", task): steps for task, steps in (("to-4", 10.0), ("to-5", 30.0))}

BROKEN = record_of(ITEMS[0], error=error_of())


class Notes(SilentListener):
    """Keeps notes and counts records."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.records = 0

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def record(self, record: EpisodeRecord) -> None:
        """Count it."""
        self.records += 1


def timed(item: WorkItem, seconds: float = 2.0, identity: str = "id", steps: int = 10) -> EpisodeRecord:
    return dataclasses.replace(record_of(item), seconds={"total": seconds}, identity=identity, steps=steps)


def written(path: Path, records: Sequence[EpisodeRecord], age: int = 0, config: RunConfig = CONFIG) -> RunDirectory:
    """Write a run that was begun ``age`` seconds ago."""
    run = RunDirectory.create(path, manifest_of(config, run_id=path.name), items_of(config))
    log = run.log()
    log.append(records)
    log.close()
    stamp = (path / "run.json").stat().st_mtime - age
    os.utime(path / "run.json", (stamp, stamp))
    return run


def prospect(run: RunDirectory, workers: int = 2, identity: str = "id") -> Prospect:
    return Prospect(run, CONFIG, Work(ITEMS, FleetSettings(workers), {}, STEPS), {"main": identity})


def test_a_run_is_forecast_from_the_newest_one_like_it(tmp_path: Path) -> None:
    written(tmp_path / "older", [timed(item, 90) for item in ITEMS[:4]], age=10)
    written(tmp_path / "newer", [timed(item, 3) for item in ITEMS], age=5)
    notes = Notes()
    run = written(tmp_path / "now", [])
    assert forecasting(prospect(run), notes) is notes
    (line,) = notes.notes
    assert line.startswith("40 episodes, about 60 s on 2 workers, 0.")
    assert line.endswith(" MB (as in newer)")


def test_what_it_will_take_is_summed_over_tasks(tmp_path: Path) -> None:
    """20 episodes of 1 s and 20 of 4 s on 2 workers; the size is that of the same files."""
    seconds = {"to-4": 1.0, "to-5": 4.0}
    past = written(tmp_path / "past", [timed(item, seconds[item.episode.task]) for item in ITEMS])
    notes = Notes()
    forecasting(prospect(written(tmp_path / "now", [])), notes)
    size = sum(file.stat().st_size for file in past.path.iterdir()) / 1e6
    assert notes.notes == [f"40 episodes, about 50 s on 2 workers, {size:.1f} MB (as in past)"]


@pytest.mark.parametrize(
    "records",
    [
        [],
        [timed(ITEMS[0], identity="another")],
        [dataclasses.replace(record_of(ITEMS[0], error=error_of()), identity="id")],
    ],
)
def test_a_run_that_says_nothing_of_the_policy_is_no_predecessor(tmp_path: Path, records: list[EpisodeRecord]) -> None:
    written(tmp_path / "past", records)
    notes = Notes()
    assert isinstance(forecasting(prospect(written(tmp_path / "now", [])), notes), FirstEpisodes)
    assert notes.notes == []


def test_another_benchmark_other_recordings_and_broken_runs_are_no_predecessors(tmp_path: Path) -> None:
    records = [timed(item) for item in ITEMS]
    filmed = config_of(episodes=20, artifacts={"video": "on"})
    written(tmp_path / "filmed", records, config=filmed)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    other = written(tmp_path / "other", records)
    text = (other.path / "run.json").read_text().replace('"version": "1"', '"version": "2"')
    (other.path / "run.json").write_text(text)
    assert isinstance(forecasting(prospect(written(tmp_path / "now", [])), Notes()), FirstEpisodes)


def test_a_policy_is_known_by_its_identity_under_any_label(tmp_path: Path) -> None:
    renamed = [dataclasses.replace(timed(item, 3), policy="old name") for item in ITEMS]
    written(tmp_path / "past", renamed)
    notes = Notes()
    forecasting(prospect(written(tmp_path / "now", [])), notes)
    assert notes.notes[0].startswith("40 episodes, about 60 s on 2 workers")


def test_without_a_predecessor_the_first_episodes_say(tmp_path: Path) -> None:
    """The other task has three times the expected steps, hence three times the seconds."""
    notes = Notes()
    run = written(tmp_path / "now", [])
    listener = forecasting(prospect(run), notes)
    listener.record(record_of(ITEMS[0], error=error_of()))
    for number, item in enumerate(ITEMS[:8], 1):
        listener.record(timed(item, 1.0))
        assert len(notes.notes) == (number >= FIRST)
    assert notes.records == 9
    assert notes.notes[0].startswith("40 episodes, about 40 s on 2 workers, ")
    assert notes.notes[0].endswith(f"(judged by the first {FIRST})")


def test_a_short_run_is_over_before_it_could_be_forecast(tmp_path: Path) -> None:
    notes = Notes()
    run = written(tmp_path / "now", [])
    few = Prospect(run, CONFIG, Work(ITEMS[: 2 * FIRST - 1], FleetSettings(1), {}, STEPS), {"main": "id"})
    listener = forecasting(few, notes)
    for item in few.work.items:
        listener.record(timed(item))
    listener.workers(1)
    listener.note("passed on")
    listener.planned(run.path, 9, 0)
    assert notes.notes == ["passed on"]


def test_a_moment_is_called_one(tmp_path: Path) -> None:
    written(tmp_path / "past", [timed(item, 0.001) for item in ITEMS])
    notes = Notes()
    forecasting(prospect(written(tmp_path / "now", []), workers=1), notes)
    assert notes.notes[0].startswith("40 episodes, under 1 s on 1 worker, ")
