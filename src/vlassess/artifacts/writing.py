"""Writes one attempt's files: a video that browsers play, each camera's pictures as they were, steps as Parquet."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from vlassess.artifacts.pictures import Composer, caption_of, metadata_of
from vlassess.artifacts.spool import Spool
from vlassess.media import LOSSLESS, Codec, VideoWriter, chosen
from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord

CODECS: Sequence[Codec] = (
    Codec("libx264", "yuv420p", {"preset": "veryfast", "crf": "23", "threads": "1"}),
    Codec("libopenh264", "yuv420p"),
    Codec("libvpx-vp9", "yuv420p", {"deadline": "realtime", "cpu-used": "8", "crf": "34", "b": "0"}),
)
"""Encoders whose videos every current browser plays, best first; PyAV's own wheels have the first."""


@dataclass(frozen=True)
class Kept:
    """What is made of an attempt's pictures.

    Attributes:
        video: A video for people.
        cameras: A file a camera, in which no pixel is changed.
        fps: Pictures per second.
    """

    video: bool = False
    cameras: bool = False
    fps: float = 20.0


@dataclass(frozen=True)
class Shelf:
    """One attempt to put away.

    Attributes:
        spool: What its worker left; removed at the end, whatever happens.
        target: Folder that the files come into.
        item: What was run.
        record: What it came to; it is on disk already.
        kept: What is made of its pictures.
    """

    spool: Path
    target: Path
    item: WorkItem
    record: EpisodeRecord
    kept: Kept = Kept()


def put_away(shelf: Shelf) -> str | None:
    """Write the files of one attempt; returns what is missing of them, None where nothing is.

    Raises:
        Exception: whatever the libraries and the disk raise; files that are there are whole.
    """
    try:
        found = Spool.open(shelf.spool)
        if found is None:
            return "its worker died before the recording was finished"
        shelf.target.mkdir(parents=True, exist_ok=True)
        if (shelf.spool / "inputs.npz").exists():
            os.replace(shelf.spool / "inputs.npz", shelf.target / "inputs.npz")
        steps = found.steps()
        if steps:
            _whole(shelf.target / "steps.parquet", lambda path: write_steps(path, steps, metadata_of(*_both(shelf))))
        if shelf.kept.cameras and found.frames:
            write_cameras(found, shelf)
        if shelf.kept.video and found.frames:
            _whole(shelf.target / "video.mp4", lambda path: write_video(path, found, shelf))
        filmed = shelf.kept.video or shelf.kept.cameras
        return found.problem or ("it has no camera to film with" if filmed and not found.frames else None)
    finally:
        shutil.rmtree(shelf.spool, ignore_errors=True)


def write_video(path: Path, spool: Spool, shelf: Shelf) -> None:
    """Encode a recording's frames, side by side over a caption; the container's comment says where each camera is.

    Raises:
        EncodeError: PyAV has no encoder that browsers understand.
    """
    frames = spool.pictures()
    first = next(frames)
    composer = Composer(first, caption_of(*_both(shelf)), spool.frames)
    metadata = metadata_of(*_both(shelf), composer.places(spool.cameras))
    with VideoWriter(path, chosen(CODECS), shelf.kept.fps, metadata) as writer:
        for number, frame in enumerate(chain([first], frames)):
            writer.add(composer.picture(frame, number))


def write_cameras(spool: Spool, shelf: Shelf) -> None:
    """Encode each camera's frames without loss, as ``camera-NAME.mkv``; the title is the camera's whole name.

    Raises:
        EncodeError: PyAV has no lossless encoder, or a camera's pictures change their size.
    """
    codec = chosen(LOSSLESS)
    names, told = camera_files(spool.cameras), metadata_of(*_both(shelf))
    partial = [shelf.target / f".partial-{name}" for name in names]
    try:
        with ExitStack() as stack:
            writers = [
                stack.enter_context(VideoWriter(path, codec, shelf.kept.fps, {**told, "title": camera}))
                for path, camera in zip(partial, spool.cameras, strict=True)
            ]
            for frame in spool.pictures():
                for writer, image in zip(writers, frame, strict=True):
                    writer.add(image)
        for path, name in zip(partial, names, strict=True):
            os.replace(path, shelf.target / name)
    finally:
        for path in partial:
            path.unlink(missing_ok=True)


def camera_files(cameras: Sequence[str]) -> list[str]:
    """Return the names of the cameras' files: in their order, whatever characters the cameras' own names have."""
    plain = [re.sub(r"[^0-9A-Za-z_-]", "_", camera)[:60] for camera in cameras]
    return [f"camera-{name}{i if plain.count(name) > 1 else ''}.mkv" for i, name in enumerate(plain)]


def write_steps(path: Path, steps: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write one row a control step.

    Columns: step (from 1), action (as executed), meant (as the policy gave it, only where a disturbance made another
    of it), state (proprioception before it, null where nobody looked), observed, progress, success, and seconds_PHASE
    (of what led to the step and of the step itself).
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = len(steps["action"])
    states = [row.tolist() if seen else None for row, seen in zip(steps["state"], steps["observed"], strict=True)]
    columns = {
        "step": pa.array(range(1, count + 1), pa.int32()),
        **{
            name: pa.array(steps[name].tolist(), pa.list_(pa.float64()))
            for name in ("action", "meant")
            if name in steps
        },
        "state": pa.array(states, pa.list_(pa.float64())),
        **{name: pa.array(steps[name]) for name in ("observed", "progress", "success")},
        **{name: pa.array(steps[name]) for name in sorted(steps) if name.startswith("seconds_")},
    }
    table = pa.table(columns).replace_schema_metadata({key: text.encode() for key, text in metadata.items()})
    pq.write_table(table, path)


def _whole(path: Path, write: object) -> None:
    partial = path.with_name(f".partial-{path.name}")
    assert callable(write)
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _both(shelf: Shelf) -> tuple[WorkItem, EpisodeRecord]:
    return shelf.item, shelf.record
