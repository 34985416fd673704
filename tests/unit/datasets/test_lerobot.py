"""What is written is read back with pyarrow, pandas and FFmpeg alone, as the format has it; the real lerobot reads it
in tests/datasets."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.datasets.support import ABOUT, Film, demonstration
from tests.unit.small_disk import small_disk
from vlassess.datasets import DatasetError
from vlassess.datasets.lerobot import Images, LeRobotReader, LeRobotWriter, new_dataset
from vlassess.datasets.lerobot.files import LIMITS, Limits
from vlassess.media import EncodeError
from vlassess.schema.demonstrations import DatasetAbout, Demonstration

FRONT = "observation.images.front"
TWO = (("front", (8, 12)), ("wrist", (16, 16)))


def write(root: Path, demonstrations: list[Demonstration], images: Images = "video", limits: Limits = LIMITS) -> Path:
    root.mkdir()
    writer = LeRobotWriter(root, ABOUT, images, limits)
    for one in demonstrations:
        writer.add(one)
    writer.close()
    return root


def told(root: Path, name: str) -> Any:
    return json.loads((root / "meta" / name).read_text(encoding="utf-8"))


def rows(root: Path, folder: str) -> list[dict[str, Any]]:
    return [row for file in sorted((root / folder).glob("*/*.parquet")) for row in pq.read_table(file).to_pylist()]


def test_info_says_what_there_is(tmp_path: Path) -> None:
    root = write(tmp_path / "set", [demonstration(n, 3 + n, TWO) for n in range(4)])

    info = told(root, "info.json")

    features = info.pop("features")
    assert info == {
        "codebase_version": "v3.0",
        "robot_type": "fake-v1",
        "total_episodes": 4,
        "total_frames": 3 + 4 + 5 + 6,
        "total_tasks": 3,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": 20,
        "splits": {"train": "0:4"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    }
    assert features["action"] == {"dtype": "float32", "shape": [3], "names": ["dx", "dy", "grip"]}
    assert features["observation.state"] == {"dtype": "float32", "shape": [2], "names": ["x", "y"]}
    assert features[FRONT]["dtype"] == "video"
    assert features[FRONT]["shape"] == [8, 12, 3]
    assert features[FRONT]["names"] == ["height", "width", "channels"]
    assert features[FRONT]["info"]["video.fps"] == 20
    inputs = [name for name in features if name.startswith(("action", "observation"))]
    assert inputs == ["observation.state", "action", FRONT, "observation.images.wrist"]


def test_tables_hold_every_frame(tmp_path: Path) -> None:
    given_ones = [demonstration(n, 3 + n, disturbed=True) for n in range(3)]
    root = write(tmp_path / "set", given_ones)

    frames = rows(root, "data")

    assert [frame["index"] for frame in frames] == list(range(12))
    assert [frame["episode_index"] for frame in frames] == [0] * 3 + [1] * 4 + [2] * 5
    assert [frame["frame_index"] for frame in frames] == [*range(3), *range(4), *range(5)]
    assert [frame["timestamp"] for frame in frames] == pytest.approx([f["frame_index"] / 20 for f in frames])
    assert [frame["next.done"] for frame in frames] == [f in (2, 6, 11) for f in range(12)]
    action = np.concatenate([one.action for one in given_ones]).astype(np.float32)
    assert np.array_equal([frame["action"] for frame in frames], action)
    executed = np.concatenate([one.action + 0.1 for one in given_ones]).astype(np.float32)
    assert np.array_equal([frame["executed_action"] for frame in frames], executed)
    file = pq.ParquetFile(root / "data" / "chunk-000" / "file-000.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [3, 4, 5]


def test_tasks_are_instructions(tmp_path: Path) -> None:
    texts = ["put the red block in the bowl", "把红色方块放进碗里", "put the red block in the bowl"]
    root = write(tmp_path / "set", [demonstration(n, instruction=text) for n, text in enumerate(texts)])

    tasks = pd.read_parquet(root / "meta" / "tasks.parquet")

    assert tasks.index.tolist() == texts[:2]
    assert tasks["task_index"].tolist() == [0, 1]
    assert [episode["tasks"] for episode in rows(root, "meta/episodes")] == [[text] for text in texts]
    assert [frame["task_index"] for frame in rows(root, "data")] == [0] * 4 + [1] * 4 + [0] * 4


def test_episodes_say_where_their_frames_and_pictures_are(tmp_path: Path) -> None:
    given_ones = [demonstration(n, 3 + n, TWO) for n in range(4)]
    root = write(tmp_path / "set", given_ones)

    episodes = rows(root, "meta/episodes")

    ends = np.cumsum([3, 4, 5, 6])
    assert [e["dataset_from_index"] for e in episodes] == [0, *ends[:-1]]
    assert [e["dataset_to_index"] for e in episodes] == ends.tolist()
    for key in (FRONT, "observation.images.wrist"):
        assert [e[f"videos/{key}/from_timestamp"] for e in episodes] == pytest.approx([0, *(ends[:-1] / 20)])
        assert [e[f"videos/{key}/to_timestamp"] for e in episodes] == pytest.approx((ends / 20).tolist())
        with av.open(str(root / "videos" / key / "chunk-000" / "file-000.mp4")) as video:
            found = list(video.decode(video=0))
        assert len(found) == 18
        assert [frame.pts * frame.time_base for frame in found] == pytest.approx([n / 20 for n in range(18)])
        assert all(found[begin].key_frame for begin in (0, *ends[:-1])), "an episode can be entered at its beginning"


@pytest.mark.parametrize("images", ["video", "lossless"])
def test_statistics_are_those_of_every_frame(tmp_path: Path, images: Images) -> None:
    given_ones = [demonstration(n, 5 + n, TWO) for n in range(3)]
    root = write(tmp_path / "set", given_ones, images)

    whole = told(root, "stats.json")
    first = rows(root, "meta/episodes")[0]

    for stats, ones in ((whole, given_ones), (_unflat(first), given_ones[:1])):
        action = np.concatenate([one.action for one in ones]).astype(np.float32).astype(np.float64)
        expected = {"min": action.min(0), "max": action.max(0), "mean": action.mean(0), "std": action.std(0)}
        expected |= {f"q{q:02d}": np.quantile(action, q / 100, axis=0) for q in (1, 10, 50, 90, 99)}
        assert all(np.allclose(stats["action"][name], value) for name, value in expected.items())
        assert stats["action"]["count"] == [len(action)]
        pixels = np.concatenate([list(one.cameras[0].pictures())[:-1] for one in ones]) / 255
        flat = pixels.reshape(-1, 3)
        found = {name: np.array(value) for name, value in stats[FRONT].items()}
        assert found["mean"].shape == (3, 1, 1)
        assert np.allclose(found["mean"].ravel(), flat.mean(0))
        assert np.allclose(found["std"].ravel(), flat.std(0))
        assert np.allclose(found["min"].ravel(), flat.min(0))
        assert np.allclose(found["max"].ravel(), flat.max(0))
        for q in (1, 10, 50, 90, 99):
            lower = np.quantile(flat, q / 100, axis=0, method="inverted_cdf")
            assert np.allclose(found[f"q{q:02d}"].ravel(), lower)
        assert found["count"].tolist() == [len(pixels)]
    assert set(whole) == set(told(root, "info.json")["features"])


def _unflat(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key, value in row.items():
        if key.startswith("stats/"):
            _, name, kind = key.split("/")
            found.setdefault(name, {})[kind] = value
    return found


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    sizes=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), max_size=3),
    disturbed=st.booleans(),
    state=st.integers(0, 3),
)
def test_lossless_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory,
    lengths: list[int],
    sizes: list[tuple[int, int]],
    disturbed: bool,
    state: int,
) -> None:
    about = DatasetAbout("fake-v1", 20.0, ("dx", "dy"), tuple(f"s{i}" for i in range(state)))
    cameras = [(f"camera {i}", size) for i, size in enumerate(sizes)]
    ones = [demonstration(n, steps, cameras, disturbed, about=about) for n, steps in enumerate(lengths)]
    root = tmp_path_factory.mktemp("data") / "set"
    root.mkdir()
    writer = LeRobotWriter(root, about, "lossless")
    for one in ones:
        writer.add(one)
    writer.close()

    reader = LeRobotReader(root)

    assert len(reader) == len(ones)
    for n, one in enumerate(ones):
        arrays = reader.arrays(n)
        assert np.array_equal(arrays["action"], one.action.astype(np.float32))
        assert ("executed_action" in arrays) == disturbed
        assert ("observation.state" in arrays) == (state > 0)
        if one.state is not None:
            assert np.array_equal(arrays["observation.state"], one.state.astype(np.float32))
        assert arrays["next.success"].tolist() == one.success.tolist()
        assert reader.tasks[arrays["task_index"][0]] == one.instruction == reader.episodes[n].task
        for film, key in zip(one.cameras, reader.cameras, strict=True):
            assert np.array_equal(reader.pictures(n, key), list(film.pictures())[:-1])


def test_videos_come_back_within_their_loss(tmp_path: Path) -> None:
    ones = [demonstration(n, 6, (("front", (32, 48)),)) for n in range(4)]
    reader = LeRobotReader(write(tmp_path / "set", ones))

    for n in (3, 0, 2, 1):
        found = reader.pictures(n, FRONT).astype(float)
        expected = np.array(list(ones[n].cameras[0].pictures())[:-1], float)
        assert found.shape == expected.shape
        assert np.abs(found - expected).mean() < 2


@pytest.mark.parametrize("images", ["video", "lossless"])
def test_episodes_are_found_in_whichever_file_they_are(tmp_path: Path, images: Images) -> None:
    ones = [demonstration(n, 3 + n % 3, TWO) for n in range(12)]
    root = write(tmp_path / "set", ones, images, Limits(data=2000, video=800))

    files = sorted(file.name for file in (root / "data" / "chunk-000").iterdir())
    assert len(files) > 2
    assert files == [f"file-{n:03d}.parquet" for n in range(len(files))]
    if images == "video":
        assert len(list((root / "videos" / FRONT / "chunk-000").iterdir())) > 2
    reader = LeRobotReader(root)
    for n in (11, 4, 7, 0):
        assert np.array_equal(reader.arrays(n)["action"], ones[n].action.astype(np.float32))
        for film, key in zip(ones[n].cameras, reader.cameras, strict=True):
            difference = reader.pictures(n, key).astype(float) - np.array(list(film.pictures())[:-1], float)
            assert np.abs(difference).mean() < (3 if images == "video" else 1e-9)


@pytest.mark.parametrize("images", ["video", "lossless"])
def test_the_same_demonstrations_give_the_same_files(tmp_path: Path, images: Images) -> None:
    first, second = (
        write(tmp_path / name, [demonstration(n, 5, TWO) for n in range(3)], images) for name in ("a", "b")
    )
    names = sorted(str(file.relative_to(first)) for file in first.rglob("*") if file.is_file())
    assert names == sorted(str(file.relative_to(second)) for file in second.rglob("*") if file.is_file())
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_what_no_format_has_a_place_for_is_kept_beside(tmp_path: Path) -> None:
    root = write(tmp_path / "set", [demonstration(0), demonstration(1, success=False)])

    own = told(root, "vlassess.json")

    assert own["run_id"] == "fakes-1"
    assert [(e["episode_index"], e["suite"], e["success"]) for e in own["episodes"]] == [
        (0, "walk", True),
        (1, "walk", False),
    ]


def add_and_fail(writer: LeRobotWriter) -> None:
    writer.add(demonstration())
    raise RuntimeError("power is gone")


def test_a_data_set_is_whole_or_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    with pytest.raises(RuntimeError, match="power"), new_dataset(folder, ABOUT, "video") as writer:
        add_and_fail(writer)
    assert list(tmp_path.iterdir()) == []

    (tmp_path / ".set.partial").mkdir()
    (tmp_path / ".set.partial" / "left").touch()
    with new_dataset(folder, ABOUT, "video") as writer:
        writer.add(demonstration())
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert sorted(path.name for path in folder.iterdir()) == ["data", "meta", "videos"]


def test_a_data_set_is_replaced_by_a_whole_one_only(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    for number in (2, 3):
        with new_dataset(folder, ABOUT, "video", replace=number == 3) as writer:
            for n in range(number):
                writer.add(demonstration(n))
    assert len(LeRobotReader(folder)) == 3
    with pytest.raises(DatasetError, match="no demonstration"), new_dataset(folder, ABOUT, "video", replace=True):
        pass
    assert len(LeRobotReader(folder)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_a_disk_that_is_full_is_said_once_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(folder: Path) -> str | None:
        try:
            with new_dataset(folder, ABOUT, "video") as writer:
                for number in range(100):
                    writer.add(demonstration(number, 100))
        except OSError as error:
            return str(error)
        return None

    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with small_disk(tmp_path / "small", 128) as disk:
        said = fill(disk / "set")
        gc.collect()
        left = list(disk.iterdir())
    assert said is not None
    assert "No space left" in said
    assert not left
    assert not ignored


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine").touch()
    with (
        pytest.raises(DatasetError, match="set exists; name a new folder"),
        new_dataset(tmp_path / "set", ABOUT, "video"),
    ):
        pass
    assert (tmp_path / "set" / "mine").exists()


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (demonstration(1, cameras=TWO), "cameras front at 8x12, wrist at 16x16, .*those before it cameras front at"),
        (demonstration(1, cameras=()), "no camera, .*those before it cameras front at 8x12"),
        (demonstration(1, cameras=(("front", (16, 12)),)), "front at 16x12"),
        (demonstration(1, disturbed=True), "disturbed actions, .*as they were meant"),
    ],
)
def test_episodes_of_two_kinds_are_refused(tmp_path: Path, other: Demonstration, says: str) -> None:
    with pytest.raises(DatasetError, match=f"walk/.*start .* has .*{says}"):
        write(tmp_path / "set", [demonstration(0), other])


def test_missing_pictures_are_refused(tmp_path: Path) -> None:
    whole = demonstration(0, 4)
    film = Film("front", list(whole.cameras[0].pictures())[:2])
    with pytest.raises(DatasetError, match="camera 'front' has 2 pictures for 4 steps"):
        write(tmp_path / "set", [Demonstration(**{**whole.__dict__, "cameras": (film,)})])


def test_odd_sides_need_lossless(tmp_path: Path) -> None:
    odd = demonstration(0, cameras=(("front", (7, 9)),))
    with pytest.raises(EncodeError, match="7x9; a compact video needs even sides: keep them lossless"):
        write(tmp_path / "a", [odd])
    assert LeRobotReader(write(tmp_path / "b", [odd], "lossless")).pictures(0, FRONT).shape == (4, 7, 9, 3)


def test_readers_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="holds no LeRobotDataset"):
        LeRobotReader(tmp_path)
    root = write(tmp_path / "set", [demonstration(n) for n in range(2)])
    info = told(root, "info.json")
    (root / "meta" / "info.json").write_text(json.dumps({**info, "codebase_version": "v2.1"}), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"is a LeRobotDataset v2.1; convert it to v3.0"):
        LeRobotReader(root)
    (root / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    (root / "data" / "chunk-000" / "file-000.parquet").write_bytes(b"PAR1")
    with pytest.raises(DatasetError, match="cannot be read"):
        LeRobotReader(root).arrays(0)
    (root / "meta" / "info.json").write_text("{", encoding="utf-8")
    with pytest.raises(DatasetError, match="is not JSON"):
        LeRobotReader(root)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"fps": 0}, "has 0 frames per second"),
        ({"fps": None}, "is not as the format has it"),
        ({"features": []}, "is not as the format has it"),
        ({"features": {"action": {}}}, "is not as the format has it .KeyError: 'dtype'"),
        ({"data_path": "{nothing}"}, "is not as the format has it .KeyError: 'nothing'"),
        ({"data_path": None}, "restore the file"),
        ({"video_path": None}, "restore the file"),
    ],
)
def test_a_description_that_cannot_be_is_refused(tmp_path: Path, broken: dict[str, Any], says: str) -> None:
    root = write(tmp_path / "set", [demonstration()])
    info = {**told(root, "info.json"), **broken}
    (root / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    with pytest.raises(DatasetError, match=says):
        LeRobotReader(root)


@pytest.mark.parametrize("left", [None, 0, 100, 1500])
def test_a_video_that_is_not_whole_is_named(tmp_path: Path, left: int | None) -> None:
    root = write(tmp_path / "set", [demonstration(n, 20) for n in range(3)])
    (video,) = root.rglob("*.mp4")
    whole = video.read_bytes()
    video.unlink()
    if left is not None:
        video.write_bytes(whole[:left])
    with pytest.raises(DatasetError, match=r"file-000\.mp4 (cannot be read|has \d+ of the 20 pictures)"):
        [LeRobotReader(root).pictures(n, FRONT) for n in range(3)]


def test_a_table_that_lacks_a_feature_is_named(tmp_path: Path) -> None:
    root = write(tmp_path / "set", [demonstration()])
    (table,) = (root / "data").rglob("*.parquet")
    pd.read_parquet(table).drop(columns="action").to_parquet(table)
    with pytest.raises(DatasetError, match=r"lacks action, which meta/info\.json declares"):
        LeRobotReader(root).arrays(0)
