from __future__ import annotations

import importlib.util
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.unit.artifacts.support import spool
from tests.unit.runs import FAILURE, SUCCESS, error_of, items_of, record_of
from vlassess.artifacts import ArtifactsUnavailableError, Studio, require
from vlassess.artifacts.studio import FREE_FLOOR, GIB
from vlassess.schema.config import ArtifactsConfig
from vlassess_link.data import EpisodeRecord

ITEMS = items_of()


def studio(tmp_path: Path, free: int = 100 * GIB, **config: Any) -> Studio:
    given = ArtifactsConfig.model_validate({"video": "on", **config})
    return Studio(tmp_path, given, ITEMS, 20.0, lambda path: free)


def films(tmp_path: Path) -> set[str]:
    return {file.parent.name for file in tmp_path.glob("artifacts/*/video.mp4")}


def play(made: Studio, records: list[EpisodeRecord]) -> list[str]:
    for item, record in zip(ITEMS, records, strict=False):
        request = made.request(item, record.attempt)
        assert request is not None
        spool(Path(request.folder))
        made.finished(item, record)
    return made.close()


@pytest.mark.parametrize(("video", "kept"), [("on", [0, 1, 2, 3]), ("failures", [1, 2, 3]), ("off", [])])
def test_which_videos_are_kept(tmp_path: Path, video: str, kept: list[int]) -> None:
    endings: list[dict[str, Any]] = [{"outcome": SUCCESS}, {"outcome": FAILURE}, {"error": error_of("policy")}]
    records = [record_of(item, 1, **end) for item, end in zip(ITEMS, [*endings, {"error": error_of()}], strict=False)]

    notes = play(studio(tmp_path, video=video, steps=True), records)

    assert notes == []
    assert films(tmp_path) == {ITEMS[i].item_id for i in kept}
    assert len(list(tmp_path.glob("artifacts/*/steps.parquet"))) == 4
    assert not (tmp_path / "artifacts" / ".spool").exists()


def test_a_later_attempt_replaces_an_earlier_one(tmp_path: Path) -> None:
    made = studio(tmp_path)
    for attempt, ending in ((1, {"error": error_of()}), (2, {"outcome": SUCCESS})):
        request = made.request(ITEMS[0], attempt)
        assert request is not None
        spool(Path(request.folder), frames=2 + attempt)
        made.finished(ITEMS[0], record_of(ITEMS[0], attempt, **ending))
    assert made.close() == []
    assert films(tmp_path) == {ITEMS[0].item_id}


def test_recordings_pause_while_the_disk_is_nearly_full(tmp_path: Path) -> None:
    made = studio(tmp_path, free=FREE_FLOOR - 1)

    assert [made.request(item, 1) for item in ITEMS[:3]] == [None] * 3

    notes = made.close()
    assert len(notes) == 2
    assert "recordings pause" in notes[0]
    assert "3 attempts were not recorded" in notes[1]


def test_what_is_wrong_with_recordings_is_a_few_notes(tmp_path: Path) -> None:
    made = studio(tmp_path)
    for item in ITEMS:
        request = made.request(item, 1)
        assert request is not None
        (Path(request.folder) / "spool.json").write_text("{}", encoding="utf-8")
        made.finished(item, record_of(item))

    notes = made.close()

    assert len(notes) == 4
    assert all("is not whole" in note for note in notes[:3])
    assert notes[3].startswith(f"{len(ITEMS)} recordings have problems")


def test_an_episode_that_cannot_be_recorded_is_run_without(tmp_path: Path) -> None:
    made = studio(tmp_path)
    assert made.request(ITEMS[0], 1) is not None
    made.finished(ITEMS[0], record_of(ITEMS[0], error=error_of("infrastructure", "artifact", "PhaseTimeout")))

    assert made.request(ITEMS[0], 2) is None
    assert made.request(ITEMS[1], 1) is not None
    made.close()


def test_what_a_killed_run_left_is_put_away_or_removed(tmp_path: Path) -> None:
    left = tmp_path / "artifacts" / ".spool"
    spool(left / f"{ITEMS[0].item_id}-1")
    spool(left / f"{ITEMS[1].item_id}-1")

    made = studio(tmp_path)
    made.recover(ITEMS, [record_of(ITEMS[0]), record_of(ITEMS[1], 2)])

    assert made.close() == []
    assert films(tmp_path) == {ITEMS[0].item_id}


def test_the_hand_out_never_waits_for_an_encoder(tmp_path: Path) -> None:
    gate = threading.Event()
    made = studio(tmp_path)
    made._pool.submit(gate.wait)
    for item in ITEMS:
        request = made.request(item, 1)
        assert request is not None
        spool(Path(request.folder), frames=1)
        made.finished(item, record_of(item))
    assert made.notes() == []
    assert films(tmp_path) == set()
    gate.set()
    assert made.close() == []
    assert len(films(tmp_path)) == len(ITEMS)


def test_a_run_that_must_stop_now_leaves_recordings_for_its_resume(tmp_path: Path) -> None:
    gate = threading.Event()
    made = studio(tmp_path)
    made._pool.submit(gate.wait, 1.0)
    request = made.request(ITEMS[0], 1)
    assert request is not None
    spool(Path(request.folder))
    made.finished(ITEMS[0], record_of(ITEMS[0]))

    notes = made.close(hurry=lambda: True)

    assert notes == ["1 recordings were left unwritten; the next --resume writes them"]
    again = studio(tmp_path)
    again.recover(ITEMS, [record_of(ITEMS[0])])
    again.close()
    assert films(tmp_path) == {ITEMS[0].item_id}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"video": "on"}, f"videos of all {len(ITEMS)} episodes"),
        ({"video": "failures"}, "videos of the episodes without success"),
        ({"video": "sample", "sample": 2}, "videos of 2 episodes"),
        ({"video": "off", "steps": True, "inputs": 4}, "recording every step, first observations (4 of each episode);"),
    ],
)
def test_what_is_recorded_is_said(tmp_path: Path, config: dict[str, Any], said: str) -> None:
    made = studio(tmp_path, **config)
    assert said in made.announcement()
    assert "GiB" in made.announcement()
    made.close()


def test_a_missing_library_is_named_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ArtifactsUnavailableError, match=r"PyAV.*pip install 'vlassess\[artifacts\]'"):
        require(ArtifactsConfig(video="on"))
    with pytest.raises(ArtifactsUnavailableError, match=r"artifacts\.steps needs pyarrow"):
        require(ArtifactsConfig(steps=True))
    require(ArtifactsConfig(inputs=3))
