"""Writes one attempt's files: a video that browsers play, steps as Parquet, inputs as they were spooled."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from vlassess.artifacts.pictures import caption_of, metadata_of, pictures
from vlassess.artifacts.spool import Spool
from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import VlassessError

CODECS: Mapping[str, Mapping[str, str]] = {
    "libx264": {"preset": "veryfast", "crf": "23", "threads": "1"},
    "libopenh264": {},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "crf": "34", "b": "0"},
}
"""Encoders whose videos every current browser plays, best first; PyAV's own wheels have the first."""


class EncodeError(VlassessError):
    """A video cannot be written."""


@dataclass(frozen=True)
class Shelf:
    """One attempt to put away.

    Attributes:
        spool: What its worker left; removed at the end, whatever happens.
        target: Folder that the files come into.
        item: What was run.
        record: What it came to; it is on disk already.
        video: Keep a video.
        fps: Pictures per second.
    """

    spool: Path
    target: Path
    item: WorkItem
    record: EpisodeRecord
    video: bool
    fps: float


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
        if shelf.video and found.frames:
            _whole(shelf.target / "video.mp4", lambda path: write_video(path, found, shelf))
        return found.problem or ("it has no camera to film with" if shelf.video and not found.frames else None)
    finally:
        shutil.rmtree(shelf.spool, ignore_errors=True)


def write_video(path: Path, spool: Spool, shelf: Shelf) -> None:
    """Encode a recording's frames.

    Raises:
        EncodeError: PyAV has no encoder that browsers understand.
    """
    import av

    codec = next((name for name in CODECS if name in av.codecs_available), None)
    if codec is None:
        raise EncodeError(f"PyAV has none of the encoders {', '.join(CODECS)}: install its wheel, pip install av")
    rate = Fraction(shelf.fps).limit_denominator(1001)
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        container.metadata.update(metadata_of(*_both(shelf)))
        stream = None
        for picture in pictures(spool.pictures(), caption_of(*_both(shelf)), spool.frames):
            if stream is None:
                stream = container.add_stream(codec, rate=rate, options=dict(CODECS[codec]))
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = "yuv420p"
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        if stream is not None:
            container.mux(stream.encode())


def write_steps(path: Path, steps: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write one row a control step.

    Columns: step (from 1), action, state (proprioception before it, null where nobody looked), observed, progress,
    success, and seconds_PHASE (of what led to the step and of the step itself).
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = len(steps["action"])
    states = [row.tolist() if seen else None for row, seen in zip(steps["state"], steps["observed"], strict=True)]
    columns = {
        "step": pa.array(range(1, count + 1), pa.int32()),
        "action": pa.array(steps["action"].tolist(), pa.list_(pa.float64())),
        "state": pa.array(states, pa.list_(pa.float64())),
        **{name: pa.array(steps[name]) for name in ("observed", "progress", "success")},
        **{name: pa.array(steps[name]) for name in sorted(steps) if name.startswith("seconds_")},
    }
    table = pa.table(columns).replace_schema_metadata({key: text.encode() for key, text in metadata.items()})
    pq.write_table(table, path)


def _whole(path: Path, write: object) -> None:
    partial = path.with_name(f".{path.name}.partial")
    assert callable(write)
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _both(shelf: Shelf) -> tuple[WorkItem, EpisodeRecord]:
    return shelf.item, shelf.record
