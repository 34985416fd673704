"""The files of a LeRobotDataset v3: numbered, each up to a size, an episode never split over two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vlassess.datasets.lerobot.features import (
    CHUNK_FILES,
    DATA_MB,
    DATA_PATH,
    EPISODES_PATH,
    SCALARS,
    VIDEO_MB,
    VIDEO_PATH,
    Features,
)
from vlassess.media import COMPACT, VideoWriter, chosen

MB = 2**20
EPISODES_A_FILE = 10_000


@dataclass(frozen=True)
class Limits:
    """Bytes of a table and of a video after which the next file is begun."""

    data: int = DATA_MB * MB
    video: int = VIDEO_MB * MB


LIMITS = Limits()


class Numbered:
    """Numbers files, and folders of at most `CHUNK_FILES` of them."""

    def __init__(self) -> None:
        self._number = -1

    def next(self) -> None:
        """Go on to the next file."""
        self._number += 1

    @property
    def chunk(self) -> int:
        """Number of the folder."""
        return self._number // CHUNK_FILES

    @property
    def file(self) -> int:
        """Number of the file in its folder."""
        return self._number % CHUNK_FILES

    def path(self, root: Path, pattern: str, **names: str) -> Path:
        """Return the file's path; its folder is made."""
        path = root / pattern.format(chunk_index=self.chunk, file_index=self.file, **names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


class DataFiles:
    """``data/``: one row a frame, one row group an episode, so that an episode can be read alone.

    Args:
        root: The data set.
        features: What a row has.
        limit: Bytes after which the next file is begun.
    """

    def __init__(self, root: Path, features: Features, limit: int) -> None:
        self._root = root
        self._schema = row_schema(features)
        self._limit = limit
        self._at = Numbered()
        self._path: Path | None = None
        self._writer: Any = None

    def add(self, columns: Mapping[str, Any]) -> dict[str, int]:
        """Write an episode's rows and return where they are, as ``meta/episodes`` says it."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._path is None or self._path.stat().st_size >= self._limit:
            self.close()
            self._at.next()
            self._path = self._at.path(self._root, DATA_PATH)
            self._writer = pq.ParquetWriter(self._path, self._schema, compression="snappy")
        self._writer.write_table(pa.table(dict(columns), schema=self._schema))
        return {"data/chunk_index": self._at.chunk, "data/file_index": self._at.file}

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def abandon(self) -> None:
        """Leave the file as it is: pyarrow would try again to finish it later, and print that it cannot."""
        if self._writer is not None:
            self._writer.is_open = False
            self._writer = None


def row_schema(features: Features) -> Any:
    """Return the Arrow schema of a row."""
    import pyarrow as pa

    fields = [(name, pa.list_(pa.float32(), len(names))) for name, names in features.vectors.items()]
    if not features.video:
        picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        fields += [(camera.key, picture) for camera in features.cameras]
    kinds = {"float32": pa.float32(), "bool": pa.bool_(), "int64": pa.int64()}
    return pa.schema([*fields, *((name, kinds[dtype]) for name, dtype in SCALARS.items())])


def vectors_column(values: np.ndarray) -> Any:
    """Return (n, D) numbers as a column."""
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(values, np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def pictures_column(pictures: Sequence[bytes]) -> Any:
    """Return PNG pictures as a column, as the library `datasets` has images."""
    import pyarrow as pa

    names = [f"frame-{number:06d}.png" for number in range(len(pictures))]
    return pa.StructArray.from_arrays([pa.array(pictures, pa.binary()), pa.array(names)], ["bytes", "path"])


class VideoFiles:
    """``videos/CAMERA/``: the episodes of one camera, one after the other.

    Args:
        root: The data set.
        key: The camera's feature.
        fps: Pictures per second.
        limit: Bytes after which the next file is begun.
    """

    def __init__(self, root: Path, key: str, fps: float, limit: int) -> None:
        self._root = root
        self._key = key
        self._fps = fps
        self._limit = limit
        self._codec = chosen(COMPACT)
        self._at = Numbered()
        self._writer: VideoWriter | None = None
        self.first: Path | None = None

    def begin(self) -> VideoWriter:
        """Return the writer of an episode's pictures; the first of them is to be a whole one."""
        if self._writer is None or self._writer.bytes >= self._limit:
            self.close()
            self._at.next()
            path = self._at.path(self._root, VIDEO_PATH, video_key=self._key)
            self.first = self.first or path
            self._writer = VideoWriter(path, self._codec, self._fps)
        return self._writer

    def place(self, frames: int) -> dict[str, Any]:
        """Return where the ``frames`` pictures are that were written last, as ``meta/episodes`` says it."""
        assert self._writer is not None
        end = self._writer.frames
        return {
            f"videos/{self._key}/chunk_index": self._at.chunk,
            f"videos/{self._key}/file_index": self._at.file,
            f"videos/{self._key}/from_timestamp": (end - frames) / self._fps,
            f"videos/{self._key}/to_timestamp": end / self._fps,
        }

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def abandon(self) -> None:
        """Let go of the file, which need not be whole."""
        with suppress(OSError, ValueError):
            self.close()
        self._writer = None


def write_episodes(root: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write ``meta/episodes``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    at = Numbered()
    for begin in range(0, len(rows), EPISODES_A_FILE):
        at.next()
        place = {"meta/episodes/chunk_index": at.chunk, "meta/episodes/file_index": at.file}
        part = [{**row, **place} for row in rows[begin : begin + EPISODES_A_FILE]]
        pq.write_table(pa.Table.from_pylist(part), at.path(root, EPISODES_PATH), compression="snappy")
