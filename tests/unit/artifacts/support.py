"""Recordings as workers leave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from vlassess.artifacts.pictures import Caption, Composer
from vlassess.artifacts.spool import Frame
from vlassess_link.benchmarks.recording import ArtifactRequest, Recorder
from vlassess_link.data import Observation, StepOutcome

Size = tuple[int, int]


def pictures(frames: Iterator[Frame], caption: Caption, total: int) -> Iterator[np.ndarray]:
    """Yield a video's pictures."""
    composer: Composer | None = None
    for number, frame in enumerate(frames):
        composer = composer or Composer(frame, caption, total)
        yield composer.picture(frame, number)


def spool(
    folder: Path, sizes: Sequence[Size] = ((6, 8),), frames: int = 5, steps: bool = True, limit: int = 2**30
) -> Path:
    """Leave a recording: frame n is of one colour, 40 n."""
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(ArtifactRequest(str(folder), True, steps, 1, limit), lambda phase: phase, dict)
    for step in range(frames):
        images = {f"camera {i}": np.full((*size, 3), 40 * step, np.uint8) for i, size in enumerate(sizes)}
        obs = Observation(images, "go to 4", np.array([step], np.float32), step=step)
        recorder.saw(obs)
        recorder.delivered(obs)
        if step < frames - 1:
            recorder.stepped(np.array([0.5, -1.0]), StepOutcome(step == frames - 2, step / frames))
    recorder.finish()
    return folder
