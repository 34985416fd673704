"""One recording for Rerun's viewer an episode: pictures as PNG, every number as a line over steps and seconds."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vlassess.datasets.errors import DatasetError
from vlassess.media import png
from vlassess.schema.demonstrations import DatasetAbout, Demonstration

APPLICATION = "vlassess"


def require_rerun() -> None:
    """Refuse to go on without the SDK.

    Raises:
        DatasetError: it is not installed; names the line that installs it.
    """
    if importlib.util.find_spec("rerun") is None:
        raise DatasetError("--to rrd needs rerun-sdk, which is not installed: pip install 'vlassess[rerun]'")


def write_rrd(path: Path, demonstration: Demonstration, about: DatasetAbout) -> None:
    """Write one episode.

    Entities: ``instruction`` (a text), ``camera/NAME`` (of every state), ``action/NAME``, ``executed_action/NAME``,
    ``state/NAME``, ``progress`` and ``success`` (after each step). Timelines: ``step`` from 0 and ``time`` in seconds.
    The recording's id is the item's.
    """
    import rerun as rr

    recording = rr.RecordingStream(APPLICATION, recording_id=demonstration.item.item_id)
    recording.save(str(path))
    recording.send_recording_name(title(demonstration))
    recording.log("instruction", rr.TextDocument(demonstration.instruction), static=True)
    for entity, values in lines(demonstration, about).items():
        columns = rr.Scalars.columns(scalars=np.asarray(values, np.float64))
        recording.send_columns(entity, indexes=_times(len(values), about.fps), columns=columns)
    for camera in demonstration.cameras:
        blobs = [png(picture) for picture in camera.pictures()]
        columns = rr.EncodedImage.columns(blob=blobs, media_type=["image/png"] * len(blobs))
        entity = f"camera/{_part(camera.name)}"
        recording.send_columns(entity, indexes=_times(len(blobs), about.fps), columns=columns)
    recording.flush()
    recording.disconnect()


def lines(demonstration: Demonstration, about: DatasetAbout) -> Mapping[str, np.ndarray]:
    """Return every number that changes with the steps: entity -> (n,)."""
    vectors = {
        "action": (about.action, demonstration.action),
        "executed_action": (about.action, demonstration.executed),
        "state": (about.state, demonstration.state),
    }
    found = {
        f"{kind}/{_part(name)}": values[:, place]
        for kind, (names, values) in vectors.items()
        if values is not None
        for place, name in enumerate(names)
    }
    return {**found, "progress": demonstration.progress, "success": demonstration.success}


def title(demonstration: Demonstration) -> str:
    """Return what a recording is called: "expert, pick/red_block, start 3: success"."""
    episode, outcome = demonstration.item.episode, demonstration.record.outcome
    ended = "success" if outcome and outcome.success else "failure"
    return f"{demonstration.item.policy}, {episode.suite}/{episode.task}, start {episode.index}: {ended}"


def file_name(number: int, demonstration: Demonstration) -> str:
    """Return the name of an episode's file; numbers keep them in order."""
    episode = demonstration.item.episode
    words = "-".join((demonstration.item.policy, episode.suite, episode.task, str(episode.index)))
    return f"{number:06d}-{re.sub(r'[^0-9A-Za-z.-]', '_', words)[:100]}.rrd"


def _times(count: int, fps: float) -> list[Any]:
    import rerun as rr

    steps = np.arange(count)
    return [rr.TimeColumn("step", sequence=steps), rr.TimeColumn("time", duration=steps / fps)]


def _part(name: str) -> str:
    """Return a name as one part of an entity's path."""
    return re.sub(r"[^0-9A-Za-z_.-]", "_", name)
