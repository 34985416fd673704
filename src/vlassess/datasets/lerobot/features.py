"""What a LeRobotDataset v3 says of itself: its features and ``meta/info.json``.

Learned from lerobot 0.4.4 and 0.6.2, which read and write the same format: keys that begin with ``action`` or
``observation`` become a policy's outputs and inputs, so that whatever is neither has another name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CODEBASE = "v3.0"
CHUNK_FILES = 1000
"""Files in one folder."""
DATA_MB, VIDEO_MB = 100, 200
"""Size of a file beyond which the next one is begun."""
FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA_PATH = f"data/{FILE}.parquet"
VIDEO_PATH = f"videos/{{video_key}}/{FILE}.mp4"
EPISODES_PATH = f"meta/episodes/{FILE}.parquet"
INFO_PATH, STATS_PATH, TASKS_PATH = "meta/info.json", "meta/stats.json", "meta/tasks.parquet"
OWN_PATH = "meta/vlassess.json"
"""What nobody else's format has a place for; readers of the format leave it alone."""

ACTION, STATE, IMAGES = "action", "observation.state", "observation.images."
EXECUTED, PROGRESS, SUCCESS, DONE = "executed_action", "next.progress", "next.success", "next.done"
TIMESTAMP, FRAME, EPISODE, INDEX, TASK = "timestamp", "frame_index", "episode_index", "index", "task_index"

SCALARS: Mapping[str, str] = {
    PROGRESS: "float32",
    SUCCESS: "bool",
    DONE: "bool",
    TIMESTAMP: "float32",
    FRAME: "int64",
    EPISODE: "int64",
    INDEX: "int64",
    TASK: "int64",
}
"""Feature of one number a frame -> dtype."""


@dataclass(frozen=True)
class CameraFeature:
    """One camera: its name, and (height, width) of its pictures."""

    name: str
    size: tuple[int, int]

    @property
    def key(self) -> str:
        """Its feature; the format forbids slashes in it."""
        return IMAGES + self.name.replace("/", "_")


@dataclass(frozen=True)
class Features:
    """Which features there are.

    Attributes:
        action: Names of an action's numbers.
        state: Names of the state's numbers; empty: there is no state.
        cameras: By name.
        executed: Whether what was executed is told beside what was meant.
        video: Pictures are in videos; else they are PNG in the table.
    """

    action: tuple[str, ...]
    state: tuple[str, ...]
    cameras: tuple[CameraFeature, ...]
    executed: bool
    video: bool

    @property
    def vectors(self) -> dict[str, tuple[str, ...]]:
        """Feature of several numbers -> their names."""
        found = {STATE: self.state} if self.state else {}
        found[ACTION] = self.action
        return {**found, EXECUTED: self.action} if self.executed else found

    def described(self, videos: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return ``features`` of ``info.json``.

        Args:
            videos: Camera's key -> what `media.stream_info` says of its first video.
        """
        found: dict[str, dict[str, Any]] = {
            name: {"dtype": "float32", "shape": [len(names)], "names": list(names)}
            for name, names in self.vectors.items()
        }
        for camera in self.cameras:
            shape: dict[str, Any] = {"shape": [*camera.size, 3], "names": ["height", "width", "channels"]}
            if self.video:
                found[camera.key] = {"dtype": "video", **shape, "info": video_info(videos[camera.key])}
            else:
                found[camera.key] = {"dtype": "image", **shape}
        for name, dtype in SCALARS.items():
            found[name] = {"dtype": dtype, "shape": [1], "names": None}
        return found


def video_info(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``info`` of a video feature."""
    return {
        "video.height": told["height"],
        "video.width": told["width"],
        "video.codec": told["codec"],
        "video.pix_fmt": told["pix_fmt"],
        "video.is_depth_map": False,
        "video.fps": whole(told["fps"]),
        "video.channels": 3,
        "has_audio": False,
    }


@dataclass(frozen=True)
class Totals:
    """How much there is."""

    episodes: int
    frames: int
    tasks: int


def info_of(features: Mapping[str, Any], totals: Totals, robot: str, fps: float, video: bool) -> dict[str, Any]:
    """Return the content of ``info.json``."""
    return {
        "codebase_version": CODEBASE,
        "robot_type": robot,
        "total_episodes": totals.episodes,
        "total_frames": totals.frames,
        "total_tasks": totals.tasks,
        "chunks_size": CHUNK_FILES,
        "data_files_size_in_mb": DATA_MB,
        "video_files_size_in_mb": VIDEO_MB,
        "fps": whole(fps),
        "splits": {"train": f"0:{totals.episodes}"},
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH if video else None,
        "features": features,
    }


def whole(value: float) -> int | float:
    """Return a number as readers expect it: as an integer where it is one."""
    return int(value) if float(value).is_integer() else float(value)


def check_keys(cameras: Sequence[CameraFeature]) -> str | None:
    """Return why cameras cannot be told apart by their keys; None where they can."""
    keys = [camera.key for camera in cameras]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    return f"two cameras would have the feature {twice[0]!r}; rename one" if twice else None
