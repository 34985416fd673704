"""Reads a LeRobotDataset v3 with pyarrow and PyAV alone, an episode at a time, as numpy arrays.

A table is read by row group, a video from the episode's own first picture on: an episode costs what it holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vlassess.datasets.errors import DatasetError
from vlassess.datasets.lerobot import features as names
from vlassess.media import frames_of, unpng


@dataclass(frozen=True)
class EpisodeOfDataset:
    """Where one episode is.

    Attributes:
        index: Its number.
        task: Its instruction.
        length: How many frames it has.
        first: Number of its first frame in the whole data set.
        row: Its row of ``meta/episodes``.
    """

    index: int
    task: str
    length: int
    first: int
    row: Mapping[str, Any]


class LeRobotReader:
    """A LeRobotDataset v3 on disk.

    Args:
        root: Its folder.

    Attributes:
        root: As given.
        fps: Frames per second.
        features: Feature -> dtype, shape and names, as ``info.json`` has it.
        cameras: Keys of the features that are pictures.
        tasks: Every instruction, by its number.
        episodes: In order.

    Raises:
        DatasetError: the folder holds no such data set.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        info = _json(root / names.INFO_PATH)
        if info.get("codebase_version") != names.CODEBASE:
            version = info.get("codebase_version")
            raise DatasetError(f"{root} is a LeRobotDataset {version}; convert it to {names.CODEBASE} with lerobot")
        self.fps, self.features, self._paths = _described(info, root / names.INFO_PATH)
        self.cameras = tuple(key for key, one in self.features.items() if one["dtype"] in ("video", "image"))
        self.tasks = _tasks(root / names.TASKS_PATH)
        self.episodes = _episodes(root)
        self._table = lru_cache(maxsize=8)(_open)
        self._groups: dict[Path, int] = {}
        for episode in self.episodes:
            self._groups.setdefault(self._data(episode), episode.index)

    def __len__(self) -> int:
        """Return how many episodes there are."""
        return len(self.episodes)

    def arrays(self, index: int) -> dict[str, np.ndarray]:
        """Return every feature of an episode but pictures: (n, D), or (n,) for one number.

        Raises:
            DatasetError: its rows are not where ``meta/episodes`` says, or lack a feature.
        """
        episode = self.episodes[index]
        wanted = [key for key in self.features if key not in self.cameras]
        table = self._rows(episode, wanted)
        found = {name: _array(table.column(name)) for name in table.column_names}
        lacking = [name for name in wanted if name not in found]
        if lacking:
            raise DatasetError(f"{self._data(episode)} lacks {', '.join(lacking)}, which {names.INFO_PATH} declares")
        if len(table) != episode.length or (found[names.EPISODE] != index).any():
            raise DatasetError(f"{self._data(episode)} has not the rows of episode {index}; it is damaged")
        return found

    def pictures(self, index: int, camera: str) -> np.ndarray:
        """Return one camera's pictures of an episode, (n, height, width, 3) uint8.

        Args:
            index: The episode.
            camera: One of `cameras`.

        Raises:
            DatasetError: the pictures are not all there, or cannot be read.
        """
        episode = self.episodes[index]
        if self.features[camera]["dtype"] == "image":
            column = self._rows(episode, [camera]).column(camera)
            return np.stack([unpng(value["bytes"]) for value in column.to_pylist()])
        place = {key: episode.row[f"videos/{camera}/{key}"] for key in ("chunk_index", "file_index", "from_timestamp")}
        path = self.root / self._paths[1].format(
            video_key=camera, chunk_index=place["chunk_index"], file_index=place["file_index"]
        )
        try:
            found = list(frames_of(path, round(place["from_timestamp"] * self.fps), episode.length))
        except (OSError, ValueError, IndexError, TypeError) as error:  # also: no stream in it, or one without a rate
            raise DatasetError(f"{path} cannot be read ({error}); the data set is not whole") from error
        if len(found) < episode.length:
            raise DatasetError(f"{path} has {len(found)} of the {episode.length} pictures of episode {index}")
        return np.stack(found)

    def _data(self, episode: EpisodeOfDataset) -> Path:
        row = episode.row
        place = {"chunk_index": row["data/chunk_index"], "file_index": row["data/file_index"]}
        return Path(self.root / self._paths[0].format(**place))

    def _rows(self, episode: EpisodeOfDataset, columns: list[str]) -> Any:
        """Return an episode's rows: one row group where each episode has its own, else they are looked for."""
        path = self._data(episode)
        table = self._table(path)
        group = episode.index - self._groups[path]
        if group < table.num_row_groups and table.metadata.row_group(group).num_rows == episode.length:
            found = table.read_row_group(group, columns)
            if names.EPISODE not in columns or found.column(names.EPISODE)[0].as_py() == episode.index:
                return found
        first = self.episodes[self._groups[path]].first
        return table.read(columns).slice(episode.first - first, episode.length)


def _described(info: Mapping[str, Any], path: Path) -> tuple[float, Mapping[str, Mapping[str, Any]], tuple[str, str]]:
    """Return frames per second, features, and the patterns of table and video files.

    Raises:
        DatasetError: one of them is not there, or cannot be what it says.
    """
    try:
        fps, features, paths = float(info["fps"]), info["features"], (info["data_path"], info["video_path"])
        for pattern in paths:
            (pattern or "").format(video_key="", chunk_index=0, file_index=0)
        dtypes = [one["dtype"] for one in features.values()]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise DatasetError(f"{path} is not as the format has it ({type(error).__name__}: {error})") from error
    if not 0 < fps < np.inf or not paths[0] or ("video" in dtypes and not paths[1]):
        raise DatasetError(f"{path} has {fps:g} frames per second and the paths {paths}; restore the file")
    return fps, features, paths


def _open(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(f"{path} cannot be read ({error}); the data set is not whole") from error


def _episodes(root: Path) -> tuple[EpisodeOfDataset, ...]:
    files = sorted((root / "meta" / "episodes").glob("*/*.parquet"))
    if not files:
        raise DatasetError(f"{root / 'meta' / 'episodes'} holds no episodes; the data set is not whole")
    found = []
    for file in files:
        table = _open(file)
        columns = [name for name in table.schema_arrow.names if not name.startswith("stats/")]
        for row in table.read(columns).to_pylist():
            task = str((row.get("tasks") or [""])[0])
            length, first = int(row["length"]), int(row["dataset_from_index"])
            found.append(EpisodeOfDataset(int(row[names.EPISODE]), task, length, first, row))
    return tuple(sorted(found, key=lambda episode: episode.index))


def _tasks(path: Path) -> tuple[str, ...]:
    table: dict[str, list[Any]] = _open(path).read().to_pydict()
    index = table.pop("task_index", [])
    texts = next(iter(table.values()), [])
    return tuple(str(text) for _, text in sorted(zip(index, texts, strict=True)))


def _array(column: Any) -> np.ndarray:
    import pyarrow as pa

    chunk = column.combine_chunks()
    if pa.types.is_list(chunk.type) or pa.types.is_fixed_size_list(chunk.type):
        return np.asarray(chunk.flatten().to_numpy(zero_copy_only=False)).reshape(len(chunk), -1)
    return np.asarray(chunk.to_numpy(zero_copy_only=False))


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DatasetError(f"{path} is not there: {path.parent.parent} holds no LeRobotDataset") from None
    except ValueError as error:
        raise DatasetError(f"{path} is not JSON ({error}); restore the file") from error
    if not isinstance(found, dict):
        raise DatasetError(f"{path} holds no object; restore the file")
    return found
