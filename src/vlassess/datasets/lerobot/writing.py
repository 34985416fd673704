"""Writes demonstrations as a LeRobotDataset v3, which nobody sees before it is whole."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vlassess.datasets.errors import DatasetError
from vlassess.datasets.folders import refuse_filled, whole_folder
from vlassess.datasets.lerobot import features as names
from vlassess.datasets.lerobot.features import CameraFeature, Features, Totals
from vlassess.datasets.lerobot.files import (
    LIMITS,
    DataFiles,
    Limits,
    VideoFiles,
    pictures_column,
    vectors_column,
    write_episodes,
)
from vlassess.datasets.lerobot.statistics import PictureStats, Stats, as_columns, as_json, over_all, vector_stats
from vlassess.media import png, stream_info
from vlassess.schema.demonstrations import DatasetAbout, Demonstration, Filmed

Images = Literal["video", "lossless"]
"""Compact videos, or PNG in the table, in which no pixel is changed."""


class LeRobotWriter:
    """Writes one data set into a folder; see `new_dataset` for how it comes to be whole.

    Args:
        root: An empty folder.
        about: What the demonstrations have in common.
        images: How pictures are kept.
        limits: How large files become.

    Attributes:
        episodes: How many demonstrations were added.
        frames: How many frames they have.
        origin: What ``meta/vlassess.json`` says beside the episodes; may be added to before the end.
    """

    def __init__(self, root: Path, about: DatasetAbout, images: Images = "video", limits: Limits = LIMITS) -> None:
        self.episodes = 0
        self.frames = 0
        self.origin: dict[str, Any] = dict(about.origin)
        self._root = root
        self._about = about
        self._images = images
        self._limits = limits
        self._features: Features | None = None
        self._data: DataFiles | None = None
        self._videos: dict[str, VideoFiles] = {}
        self._tasks: dict[str, int] = {}
        self._rows: list[dict[str, Any]] = []
        self._own: list[dict[str, Any]] = []
        self._all: dict[str, list[np.ndarray]] = {}
        self._pictures: dict[str, PictureStats] = {}

    def add(self, demonstration: Demonstration) -> None:
        """Add an episode.

        Raises:
            DatasetError: it has other numbers or cameras than those before it, or its pictures are not all there.
        """
        features, data = self._fitting(demonstration)
        columns = self._columns(demonstration, features)
        stats = {name: vector_stats(_two_d(values)) for name, values in columns.items()}
        arrow: dict[str, Any] = {
            name: vectors_column(values) if values.ndim == 2 else values for name, values in columns.items()
        }
        place: dict[str, Any] = {}
        for camera, filmed in zip(features.cameras, demonstration.cameras, strict=True):
            counted = PictureStats()
            pictures = _pictures(filmed, demonstration, camera, counted)
            if features.video:
                place |= self._film(camera, pictures, demonstration.steps)
            else:
                arrow[camera.key] = pictures_column([png(picture) for picture in pictures])
            stats[camera.key] = counted.stats()
            self._pictures.setdefault(camera.key, PictureStats()).merge(counted)
        place |= data.add(arrow)
        for name, values in columns.items():
            self._all.setdefault(name, []).append(_two_d(values))
        self._note(demonstration, place, stats)

    def close(self) -> None:
        """Write what describes the whole.

        Raises:
            DatasetError: no demonstration was added.
        """
        if self._features is None or self._data is None:
            raise DatasetError("there is no demonstration to write, so there is no data set")
        self._data.close()
        for video in self._videos.values():
            video.close()
        write_episodes(self._root, self._rows)
        self._write_tasks()
        videos = {key: stream_info(video.first) for key, video in self._videos.items() if video.first is not None}
        totals = Totals(self.episodes, self.frames, len(self._tasks))
        described = self._features.described(videos)
        info = names.info_of(described, totals, self._about.robot, self._about.fps, bool(videos))
        self._write_json(names.INFO_PATH, info)
        self._write_json(names.STATS_PATH, as_json(over_all(self._all, self._pictures)))
        self._write_json(names.OWN_PATH, {**self.origin, "images": self._images, "episodes": self._own})

    def abandon(self) -> None:
        """Write no more; nothing happens after `close`."""
        if self._data is not None:
            self._data.abandon()
        for video in self._videos.values():
            video.abandon()

    def _fitting(self, demonstration: Demonstration) -> tuple[Features, DataFiles]:
        """Return what every demonstration has; the first one decides."""
        found = self._features_of(demonstration)
        if self._features is None or self._data is None:
            self._features, self._data = found, DataFiles(self._root, found, self._limits.data)
        if found != self._features:
            episode = demonstration.item.episode
            raise DatasetError(
                f"{demonstration.item.policy}, {episode.suite}/{episode.task}, start {episode.index} has "
                f"{_told(found)}, those before it {_told(self._features)}: choose some of one kind"
            )
        return self._features, self._data

    def _features_of(self, demonstration: Demonstration) -> Features:
        if demonstration.action.shape[1] != len(self._about.action):
            told, declared = demonstration.action.shape[1], len(self._about.action)
            raise DatasetError(f"actions have {told} numbers; the benchmark declares {declared}")
        cameras = tuple(_camera(filmed) for filmed in demonstration.cameras)
        problem = names.check_keys(cameras)
        if problem is not None:
            raise DatasetError(problem)
        state = self._about.state if demonstration.state is not None else ()
        executed = demonstration.executed is not None
        return Features(self._about.action, state, cameras, executed, self._images == "video")

    def _columns(self, demonstration: Demonstration, features: Features) -> dict[str, np.ndarray]:
        """Return every feature but pictures, in the order of the schema."""
        steps, vectors = demonstration.steps, {}
        given = {
            names.STATE: demonstration.state,
            names.ACTION: demonstration.action,
            names.EXECUTED: demonstration.executed,
        }
        for name in features.vectors:
            vectors[name] = np.asarray(given[name], np.float32)
        frame = np.arange(steps, dtype=np.int64)
        task = self._tasks.setdefault(demonstration.instruction, len(self._tasks))
        return {
            **vectors,
            names.PROGRESS: np.asarray(demonstration.progress, np.float32),
            names.SUCCESS: np.asarray(demonstration.success, bool),
            names.DONE: frame == steps - 1,
            names.TIMESTAMP: (frame / self._about.fps).astype(np.float32),
            names.FRAME: frame,
            names.EPISODE: np.full(steps, self.episodes, np.int64),
            names.INDEX: frame + self.frames,
            names.TASK: np.full(steps, task, np.int64),
        }

    def _film(self, camera: CameraFeature, pictures: Iterator[np.ndarray], steps: int) -> dict[str, Any]:
        if camera.key not in self._videos:
            self._videos[camera.key] = VideoFiles(self._root, camera.key, self._about.fps, self._limits.video)
        files = self._videos[camera.key]
        writer = files.begin()
        for number, picture in enumerate(pictures):
            writer.add(picture, whole=number == 0)
        return files.place(steps)

    def _note(self, demonstration: Demonstration, place: dict[str, Any], stats: dict[str, Stats]) -> None:
        """Keep what ``meta/`` says of an episode, and count it."""
        steps = demonstration.steps
        self._rows.append(
            {
                names.EPISODE: self.episodes,
                "tasks": [demonstration.instruction],
                "length": steps,
                **place,
                "dataset_from_index": self.frames,
                "dataset_to_index": self.frames + steps,
                **as_columns(stats),
            }
        )
        self._own.append({names.EPISODE: self.episodes, **_told_of(demonstration)})
        self.episodes += 1
        self.frames += steps

    def _write_tasks(self) -> None:
        import pandas as pd

        path = self._root / names.TASKS_PATH
        path.parent.mkdir(parents=True, exist_ok=True)
        index = pd.Index(list(self._tasks), name="task")
        pd.DataFrame({"task_index": range(len(self._tasks))}, index=index).to_parquet(path)

    def _write_json(self, name: str, value: Any) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=4, allow_nan=False) + "\n", encoding="utf-8")


@contextmanager
def new_dataset(folder: Path, about: DatasetAbout, images: Images, replace: bool = False) -> Iterator[LeRobotWriter]:
    """Yield a writer; when it ends without an error, the data set is whole in ``folder``, else nothing is.

    Args:
        folder: Where to; made.
        about: What the demonstrations have in common.
        images: How pictures are kept.
        replace: Put it in the place of one that is there.

    Raises:
        DatasetError: the folder holds something, or no demonstration was added.
    """
    if not replace:
        refuse_filled(folder)
    with whole_folder(folder) as partial:
        writer = LeRobotWriter(partial, about, images)
        try:
            yield writer
            writer.close()
        finally:
            writer.abandon()


def _camera(filmed: Filmed) -> CameraFeature:
    first = next(filmed.pictures(), None)
    if first is None:
        raise DatasetError(f"camera {filmed.name!r} has no picture")
    return CameraFeature(filmed.name, (int(first.shape[0]), int(first.shape[1])))


def _pictures(
    filmed: Filmed, demonstration: Demonstration, camera: CameraFeature, counted: PictureStats
) -> Iterator[np.ndarray]:
    """Yield the picture before each step, counted; the last state has no action and no frame."""
    given = 0
    for picture in itertools.islice(filmed.pictures(), demonstration.steps):
        if picture.shape[:2] != camera.size:
            raise DatasetError(f"camera {camera.name!r} changes its size in {demonstration.item.item_id}")
        counted.add(picture)
        given += 1
        yield picture
    if given < demonstration.steps:
        where = f"{demonstration.steps} steps in {demonstration.item.item_id}"
        raise DatasetError(f"camera {camera.name!r} has {given} pictures for {where}")


def _told_of(demonstration: Demonstration) -> dict[str, Any]:
    """Return what ``meta/vlassess.json`` says of an episode: where it comes from, how it ended."""
    record, episode = demonstration.record, demonstration.item.episode
    outcome = record.outcome
    return {
        "item_id": demonstration.item.item_id,
        "episode_id": episode.episode_id,
        "pair_key": episode.pair_key,
        "policy": demonstration.item.policy,
        "suite": episode.suite,
        "task": episode.task,
        "index": episode.index,
        "repeat": episode.repeat,
        "seed": episode.seed,
        "perturbation": dict(episode.perturbation),
        "success": bool(outcome and outcome.success),
        "steps": record.steps,
        "disturbed": record.disturbed,
        "state_digest": record.state_digest,
        "actions_digest": record.actions_digest,
    }


def _two_d(values: np.ndarray) -> np.ndarray:
    return values if values.ndim == 2 else values.reshape(-1, 1)


def _told(features: Features) -> str:
    cameras: Sequence[str] = [f"{c.name} at {c.size[0]}x{c.size[1]}" for c in features.cameras]
    parts = [f"cameras {', '.join(cameras)}" if cameras else "no camera"]
    parts.append(f"{len(features.state)} numbers of state" if features.state else "no state")
    parts.append("disturbed actions" if features.executed else "actions as they were meant")
    return ", ".join(parts)
