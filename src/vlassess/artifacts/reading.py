"""What a run has kept of an attempt, read back: its steps as arrays, its cameras' pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vlassess.artifacts.pictures import Place
from vlassess.media import comment_of, count_of, frames_of, title_of
from vlassess_link.errors import VlassessError


class RecordingError(VlassessError):
    """What was recorded cannot be read."""


@dataclass(frozen=True)
class Camera:
    """One camera's pictures: of the state before the first step, and of the state after each.

    Attributes:
        name: The camera.
        file: Where they are.
        place: Where in the pictures of a video that shows several; None: they are the file's own, bit for bit.
    """

    name: str
    file: Path
    place: Place | None = None

    @property
    def exact(self) -> bool:
        """Whether no pixel has been changed."""
        return self.place is None

    @property
    def count(self) -> int:
        """How many pictures there are."""
        return count_of(self.file)

    def pictures(self) -> Iterator[np.ndarray]:
        """Yield each picture, (height, width, 3) uint8."""
        place = self.place
        for image in frames_of(self.file):
            if place is None:
                yield image
                continue
            rows, columns = (place.scale * side for side in (place.height, place.width))
            middle = place.scale // 2
            part = image[middle : rows : place.scale, place.left + middle : place.left + columns : place.scale]
            yield np.ascontiguousarray(part)


@dataclass(frozen=True)
class Recording:
    """What is left of one attempt.

    Attributes:
        folder: Where it lies.
        cameras: By name, sorted; empty where nothing was filmed, or where what was filmed cannot be taken apart.
    """

    folder: Path
    cameras: tuple[Camera, ...]

    @classmethod
    def open(cls, folder: Path) -> Recording | None:
        """Return what a folder holds, None where it holds no steps and no pictures."""
        own = [Camera(title_of(file), file) for file in sorted(folder.glob("camera-*.mkv"))]
        cameras = tuple(sorted(own or _in_video(folder / "video.mp4"), key=lambda camera: camera.name))
        if not cameras and not (folder / "steps.parquet").is_file():
            return None
        return cls(folder, cameras)

    def attempts(self) -> set[int]:
        """Return which attempts the files are of: more than one where a later attempt left some files of an earlier.

        Raises:
            RecordingError: a file cannot be read.
        """
        comments = [comment_of(camera.file) for camera in self.cameras]
        file = self.folder / "steps.parquet"
        if file.is_file():
            comments.append((_parquet(file).metadata.metadata or {}).get(b"comment", b"{}").decode())
        return {_attempt(comment) for comment in comments}

    def steps(self) -> dict[str, np.ndarray]:
        """Return the columns of ``steps.parquet``; vectors as (n, size), where one is missing as NaN. Empty without it.

        Raises:
            RecordingError: the file cannot be read.
        """
        file = self.folder / "steps.parquet"
        if not file.is_file():
            return {}
        table = _parquet(file).read()
        return {name: _array(table.column(name)) for name in table.column_names}


def _in_video(file: Path) -> list[Camera]:
    """Return the cameras in a video for people; none where it does not say where they are, or left pixels out."""
    if not file.is_file():
        return []
    try:
        places = [Place(**one) for one in json.loads(comment_of(file))["places"]]
    except (ValueError, KeyError, TypeError):  # an earlier version's video, or somebody else's
        return []
    return [Camera(place.camera, file, place) for place in places if place.scale > 0]


def _attempt(comment: str) -> int:
    try:
        return int(json.loads(comment)["attempt"])
    except (ValueError, KeyError, TypeError):
        return 0


def _parquet(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file)
    except (OSError, pa.ArrowException) as error:
        raise RecordingError(f"{file} cannot be read ({error}); it is not whole") from error


def _array(column: Any) -> np.ndarray:
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        return np.asarray(column.to_numpy())
    rows = column.to_pylist()
    size = next((len(row) for row in rows if row is not None), 0)
    return np.array([[np.nan] * size if row is None else row for row in rows], np.float64).reshape(len(rows), size)
