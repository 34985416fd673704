"""What is written is read back with libraries that nobody here wrote: FFmpeg, pyarrow and pandas, numpy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.unit.artifacts.support import Size, spool
from tests.unit.runs import items_of, record_of
from vlassess.artifacts.writing import Kept, Shelf, put_away

ITEM = items_of()[0]


def shelf_of(tmp_path: Path, folder: Path, video: bool = True, fps: float = 20.0, text: str = "go to 4") -> Shelf:
    record = replace(record_of(ITEM), instruction=text)
    return Shelf(folder, tmp_path / "out", ITEM, record, Kept(video, fps=fps))


@pytest.mark.parametrize("sizes", [((6, 8),), ((7, 5), (33, 17)), ((1, 1),), ((255, 129), (64, 64), (3, 700))])
@pytest.mark.parametrize("fps", [20.0, 12.5, 3.3])
def test_a_video_has_every_frame_at_the_right_rate(tmp_path: Path, sizes: tuple[Size, ...], fps: float) -> None:
    problem = put_away(shelf_of(tmp_path, spool(tmp_path / "spool", sizes), fps=fps))

    assert problem is None
    with av.open(str(tmp_path / "out" / "video.mp4")) as video:
        stream = video.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in video.decode(stream)]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert stream.average_rate is not None
        assert abs(stream.average_rate - Fraction(fps)) < 0.01
        assert video.metadata["title"] == "go to 4"
    assert len(frames) == 5
    shades = [float(frame[: max(1, frame.shape[0] // 100), : max(1, frame.shape[1] // 100)].mean()) for frame in frames]
    assert shades == pytest.approx([40 * n for n in range(5)], abs=6)


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\ud800 lone", "x" * 10_000, "把红色方块放进碗里", "a\x00b\x1b"]
)
def test_any_instruction_can_be_filmed(tmp_path: Path, text: str) -> None:
    assert put_away(shelf_of(tmp_path, spool(tmp_path / "spool"), text=text)) is None
    assert (tmp_path / "out" / "video.mp4").stat().st_size > 1000


def test_steps_are_a_table(tmp_path: Path) -> None:
    put_away(shelf_of(tmp_path, spool(tmp_path / "spool"), video=False))

    table = pq.read_table(tmp_path / "out" / "steps.parquet")
    frame = pd.read_parquet(tmp_path / "out" / "steps.parquet")

    assert list(frame["step"]) == [1, 2, 3, 4]
    assert [list(action) for action in frame["action"]] == [[0.5, -1.0]] * 4
    assert [list(state) for state in frame["state"]] == [[0.0], [1.0], [2.0], [3.0]]
    assert list(frame["success"]) == [False, False, False, True]
    assert frame["progress"].tolist() == pytest.approx([0.0, 0.2, 0.4, 0.6])
    assert {"seconds_step", "seconds_render", "seconds_inference", "seconds_artifact"} < set(frame)
    assert table.schema.metadata[b"title"] == b"go to 4"


def test_inputs_come_as_they_were_and_nothing_else_stays(tmp_path: Path) -> None:
    folder = spool(tmp_path / "spool", steps=False)

    assert put_away(shelf_of(tmp_path, folder, video=False)) is None

    assert [file.name for file in (tmp_path / "out").iterdir()] == ["inputs.npz"]
    with np.load(tmp_path / "out" / "inputs.npz", allow_pickle=False) as inputs:
        assert np.array_equal(inputs["0_image_camera_0"], np.zeros((6, 8, 3), np.uint8))
    assert not folder.exists()


def test_a_recording_that_ended_early_is_kept_and_told(tmp_path: Path) -> None:
    problem = put_away(shelf_of(tmp_path, spool(tmp_path / "spool", limit=2 * 6 * 8 * 3)))

    assert problem is not None
    assert "the video ends there" in problem
    with av.open(str(tmp_path / "out" / "video.mp4")) as video:
        assert sum(1 for _ in video.decode(video=0)) == 2


def test_a_dead_workers_recording_is_told_and_removed(tmp_path: Path) -> None:
    folder = spool(tmp_path / "spool")
    (folder / "spool.json").unlink()

    problem = put_away(shelf_of(tmp_path, folder))

    assert problem is not None
    assert "died" in problem
    assert not folder.exists()


def test_a_broken_chunk_leaves_no_half_video(tmp_path: Path) -> None:
    folder = spool(tmp_path / "spool")
    (folder / "frames-00000.npz").write_bytes(b"PK\x03\x04 not a zip")

    with pytest.raises(Exception, match=r".+"):
        put_away(shelf_of(tmp_path, folder))

    assert not list((tmp_path / "out").glob("*video*"))
    assert not folder.exists()
