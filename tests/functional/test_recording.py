"""A recording beside the real benchmark: the same records, and videos of what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import pandas as pd
import pytest

from tests.unit.runs import config_of
from vlassess import pipeline
from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.pipeline import RunResult
from vlassess.records import RunDirectory
from vlassess.schema.config import RunConfig
from vlassess.schema.events import SilentListener
from vlassess_link.data import COMPARED, EpisodeRecord

FIELDS = (*COMPARED, "images_digest")
SMALL = ["episodes=1", "tasks=[pick/red_block]", "step_limit=60", "execution.workers=2"]
RECORDED = ["artifacts={video: on, steps: true, inputs: 2}"]


class Notes(SilentListener):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)


def records(result: RunResult) -> dict[str, EpisodeRecord]:
    return {record.item_id: record for record in RunDirectory.open(result.run_dir).records().records}


def compared(result: RunResult) -> dict[str, dict[str, Any]]:
    return {item_id: {name: getattr(record, name) for name in FIELDS} for item_id, record in records(result).items()}


def run(config: RunConfig, notes: Notes | None = None) -> RunResult:
    return pipeline.start(config, Catalog.discover(), notes or Notes())


def test_recording_tabletop_changes_no_record(tmp_path: Path) -> None:
    plain = run(load_config("tabletop-quick", [*SMALL, f"output={tmp_path / 'plain'}"]))
    notes = Notes()
    recorded = run(load_config("tabletop-quick", [*SMALL, *RECORDED, f"output={tmp_path / 'recorded'}"]), notes)

    assert compared(recorded) == compared(plain)
    assert [note for note in notes.notes if "recording of" in note] == []
    assert notes.notes[0].startswith(
        "recording videos of all 3 episodes, every step, first observations (2 of each episode)"
    )
    for item_id, record in records(recorded).items():
        folder = recorded.run_dir / "artifacts" / item_id
        with av.open(str(folder / "video.mp4")) as video:
            assert video.streams.video[0].average_rate == 20
            assert sum(1 for _ in video.decode(video=0)) == record.steps + 1
        steps = pd.read_parquet(folder / "steps.parquet")
        assert len(steps) == record.steps
        assert steps["observed"].all(), "every state is rendered for the video"
        low = [min(action[i] for action in steps["action"]) for i in range(len(record.action_low))]
        assert low == list(record.action_low)
    assert not (recorded.run_dir / "artifacts" / ".spool").exists()


@pytest.mark.parametrize("fault", ["dies", "step_raises"])
def test_a_recording_survives_what_a_run_survives(tmp_path: Path, fault: str) -> None:
    params = {"fault": fault, "fault_indices": [1], "fault_once_file": str(tmp_path / "once")}
    config = config_of(tmp_path / "runs", benchmark_params=params, artifacts={"video": "on"})

    result = run(config)

    assert result.complete
    films = {file.parent.name for file in result.run_dir.glob("artifacts/*/video.mp4")}
    assert films == {record.item_id for record in records(result).values()}
