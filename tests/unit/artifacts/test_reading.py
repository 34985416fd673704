from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.unit.artifacts.support import Size, spool
from tests.unit.runs import items_of, record_of
from vlassess.artifacts.reading import Recording, RecordingError
from vlassess.artifacts.writing import Kept, Shelf, camera_files, put_away
from vlassess_link.benchmarks.recording import ArtifactRequest, Recorder
from vlassess_link.data import Observation, StepOutcome

ITEM = items_of()[0]


def recorded(folder: Path, kept: Kept, sizes: tuple[Size, ...] = ((6, 8), (10, 12)), steps: bool = True) -> Recording:
    shelf = Shelf(spool(folder / "spool", sizes, steps=steps), folder / "out", ITEM, record_of(ITEM), kept)
    assert put_away(shelf) is None
    found = Recording.open(folder / "out")
    assert found is not None
    return found


@pytest.mark.parametrize("sizes", [((6, 8), (10, 12)), ((7, 5),), ((1, 1), (33, 17), (64, 64))])
def test_cameras_come_back_bit_for_bit(tmp_path: Path, sizes: tuple[Size, ...]) -> None:
    found = recorded(tmp_path, Kept(cameras=True, video=True), sizes)

    assert [camera.name for camera in found.cameras] == [f"camera {i}" for i in range(len(sizes))]
    for camera, size in zip(found.cameras, sizes, strict=True):
        assert camera.exact
        pictures = list(camera.pictures())
        assert len(pictures) == 5
        assert all(np.array_equal(p, np.full((*size, 3), 40 * n, np.uint8)) for n, p in enumerate(pictures))
    assert not list((tmp_path / "out").glob(".*")), "nothing half made is left"


@pytest.mark.parametrize("sizes", [((16, 24), (24, 16)), ((400, 400),)])
def test_a_video_for_people_is_taken_apart(tmp_path: Path, sizes: tuple[Size, ...]) -> None:
    found = recorded(tmp_path, Kept(video=True), sizes)

    assert [camera.name for camera in found.cameras] == [f"camera {i}" for i in range(len(sizes))]
    for camera, size in zip(found.cameras, sizes, strict=True):
        assert not camera.exact
        pictures = list(camera.pictures())
        assert [picture.shape for picture in pictures] == [(*size, 3)] * 5
        for n, picture in enumerate(pictures):
            assert np.abs(picture.astype(int) - 40 * n).mean() < 4


def test_a_video_that_left_pixels_out_is_no_camera(tmp_path: Path) -> None:
    assert recorded(tmp_path, Kept(video=True), ((4, 8000),)).cameras == ()


def test_steps_come_back_as_arrays(tmp_path: Path) -> None:
    steps = recorded(tmp_path, Kept()).steps()

    assert steps["action"].tolist() == [[0.5, -1.0]] * 4
    assert steps["state"].tolist() == [[0.0], [1.0], [2.0], [3.0]]
    assert steps["success"].tolist() == [False, False, False, True]
    assert "meant" not in steps


def test_what_was_meant_and_what_nobody_saw_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    folder.mkdir()
    recorder = Recorder(ArtifactRequest(str(folder), steps=True), lambda phase: phase, dict)
    for step in range(3):
        if step != 1:
            recorder.saw(Observation({}, "go", np.array([step, 1.0])))
        recorder.meant(np.array([0.25]))
        recorder.stepped(np.array([0.5 + step]), StepOutcome(False))
    recorder.finish()
    put_away(Shelf(folder, tmp_path / "out", ITEM, record_of(ITEM)))

    found = Recording.open(tmp_path / "out")

    assert found is not None
    assert found.steps()["meant"].tolist() == [[0.25]] * 3
    assert found.steps()["action"].tolist() == [[0.5], [1.5], [2.5]]
    assert np.isnan(found.steps()["state"][1]).all()
    assert found.steps()["state"][[0, 2], 0].tolist() == [0.0, 2.0]


def test_nothing_kept_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert Recording.open(tmp_path / "out") is None
    assert Recording.open(tmp_path / "nowhere") is None
    assert recorded(tmp_path, Kept(video=True), steps=False).steps() == {}


def test_broken_steps_are_told(tmp_path: Path) -> None:
    found = recorded(tmp_path, Kept())
    (tmp_path / "out" / "steps.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(RecordingError, match=r"steps.parquet cannot be read .*it is not whole"):
        found.steps()


def test_a_camera_that_changes_its_size_is_told_and_leaves_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    folder.mkdir()
    recorder = Recorder(ArtifactRequest(str(folder), frames=True), lambda phase: phase, dict)
    for side in (4, 4, 6):
        recorder.saw(Observation({"front": np.zeros((side, side, 3), np.uint8)}, "go"))
    recorder.finish()

    with pytest.raises(Exception, match="picture 2 is 6x6, the first one 4x4"):
        put_away(Shelf(folder, tmp_path / "out", ITEM, record_of(ITEM), Kept(cameras=True)))

    assert list((tmp_path / "out").iterdir()) == []


def test_files_have_plain_names_of_their_own() -> None:
    assert camera_files(["agent", "wrist"]) == ["camera-agent.mkv", "camera-wrist.mkv"]
    names = camera_files(["a/b", "a:b", "../x", "腕"])
    assert len(set(names)) == 4
    assert all("/" not in name for name in names)


def test_the_caption_does_not_reach_the_cameras(tmp_path: Path) -> None:
    shelf = Shelf(spool(tmp_path / "spool", ((16, 16),)), tmp_path / "out", ITEM, record_of(ITEM), Kept(video=True))
    put_away(replace(shelf, record=replace(shelf.record, instruction="█" * 300)))
    found = Recording.open(tmp_path / "out")
    assert found is not None
    assert max(int(picture.max()) for picture in list(found.cameras[0].pictures())[:1]) < 30, "the first frame is black"
