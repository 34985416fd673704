"""What a recording costs: the encoder beside the bare library, the worker's part, and a big report.

Usage: ``python benchmarks_perf/recording.py``. Baseline of the encoder: PyAV with the same codec and settings on
pictures of the same size that are ready in memory, so that the ratio is what reading the spool and composing the
pictures cost.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from reporting import at_least, at_most, bench, median_of

from vlassess.artifacts.pictures import Caption, Composer
from vlassess.artifacts.spool import Spool
from vlassess.artifacts.writing import CODECS, Kept, Shelf, write_video
from vlassess.report.episodes import episodes_json
from vlassess.schema.items import WorkItem, episode_item
from vlassess_link.benchmarks.recording import ArtifactRequest, Recorder
from vlassess_link.data import Episode, EpisodeRecord, Observation, Outcome

FRAMES = 200
SIDE = 224


def episode(index: int) -> WorkItem:
    """Return a planned item."""
    planned = Episode(f"{index:020x}", "pair", "b@1", "suite", "task", index, 0, 0, FRAMES)
    return episode_item("policy", planned)


def record_of(item: WorkItem) -> EpisodeRecord:
    """Return what it came to."""
    return EpisodeRecord(
        item_id=item.item_id,
        attempt=1,
        policy=item.policy,
        episode_id=item.episode.episode_id,
        pair_key="pair",
        suite="suite",
        task="task",
        index=item.episode.index,
        seed=0,
        policy_seed=0,
        instruction="put the red block in the bowl",
        steps=FRAMES,
        outcome=Outcome(True, "success", 1.0, 1.0),
    )


def scene(step: int) -> np.ndarray:
    """Return a picture in which something moves over a smooth ground, as in a simulator."""
    ground = np.linspace(60, 180, SIDE)[:, None, None] + np.linspace(0, 40, SIDE)[None, :, None] * np.ones(3)
    picture = ground.astype(np.uint8)
    picture[80:120, step % 180 : step % 180 + 40] = (200, 40, 40)
    return picture


def spool(folder: Path, frames: Sequence[np.ndarray]) -> float:
    """Leave a recording of two cameras; return the seconds that the worker spent."""
    recorder = Recorder(ArtifactRequest(str(folder), frames=True), lambda phase: phase, dict)
    begin = time.perf_counter()
    for frame in frames:
        recorder.saw(Observation({"front": frame, "wrist": frame}, "go"))
    recorder.finish()
    return time.perf_counter() - begin


def bare_encoder(path: Path, ready: Sequence[np.ndarray]) -> float:
    """Return the seconds that PyAV takes for pictures that are ready."""
    begin = time.perf_counter()
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(20), options=dict(CODECS[0].options))
        stream.height, stream.width = ready[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for picture in ready:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return time.perf_counter() - begin


def encoding(folder: Path) -> None:
    """Print the encoder's figures."""
    frames = [scene(step) for step in range(FRAMES)]
    where = folder / "spool"
    where.mkdir()
    bench("recording_worker_ms_per_step", 1000 * median_of(lambda: spool(where, frames), 3) / FRAMES)
    found = Spool.open(where)
    assert found is not None
    item = episode(0)
    shelf = Shelf(where, folder, item, record_of(item), Kept(video=True))

    def ours() -> float:
        begin = time.perf_counter()
        write_video(folder / "ours.mp4", found, shelf)
        return time.perf_counter() - begin

    composer = Composer((frames[0], frames[0]), Caption("go", "SUCCESS", "success", "here"), FRAMES)
    ready = [composer.picture((frame, frame), number) for number, frame in enumerate(frames)]
    seconds, bare = median_of(ours, 3), median_of(lambda: bare_encoder(folder / "bare.mp4", ready), 3)
    at_least("recording_encoded_frames_per_s", FRAMES / seconds, 100)
    at_most("recording_encode_vs_bare_pyav", seconds / bare, 2.0)
    bench("recording_video_kb_per_s_of_robot", (folder / "ours.mp4").stat().st_size / 1000 / (FRAMES / 20))


def table() -> None:
    """Print what 2,000 episodes take in a report."""
    items = [episode(index) for index in range(2000)]
    records = [record_of(item) for item in items]

    def make() -> float:
        begin = time.perf_counter()
        episodes_json(items, records, None)
        return time.perf_counter() - begin

    at_most("report_2000_rows_s", median_of(make, 3), 0.5)
    at_most("report_2000_rows_mb", len(episodes_json(items, records, None)) / 1e6, 5.0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        encoding(Path(made))
    table()
