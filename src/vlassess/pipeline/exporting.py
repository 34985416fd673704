"""A run's recordings as a data set."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from vlassess.datasets.errors import DatasetError
from vlassess.datasets.folders import refuse_filled, whole_folder
from vlassess.datasets.lerobot import Images, new_dataset
from vlassess.datasets.rows import write_rows
from vlassess.datasets.rrd import file_name, require_rerun, write_rrd
from vlassess.pipeline.demonstrating import Choice, Sifted, about, nothing_to_write, sift
from vlassess.records import RunDirectory
from vlassess.schema.demonstrations import Demonstration

Told = Callable[[int, int], None]
"""Told how many of how many episodes are done."""


def _nobody(done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Exported:
    """A data set that was written.

    Attributes:
        folder: Where it is.
        episodes: How many it has.
        frames: How many frames these have.
        left_out: Why -> how many episodes of the run are not in it.
        cameras: Names of the cameras in it.
    """

    folder: Path
    episodes: int
    frames: int
    left_out: Mapping[str, int]
    cameras: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What it came to, with everything that is not in it."""
        filmed = f"cameras {', '.join(self.cameras)}" if self.cameras else "no pictures"
        left = "".join(f"; {count} {reason} left out" for reason, count in self.left_out.items())
        return f"{self.folder}: {self.episodes} episodes, {self.frames} frames, {filmed}{left}"


def export_lerobot(
    run: RunDirectory, folder: Path, choice: Choice, images: Images = "video", told: Told = _nobody
) -> Exported:
    """Write a run's recordings as a LeRobotDataset v3; what is not whole or not wanted is left out and counted.

    Args:
        run: The run.
        folder: Where to; it must not exist, or must hold a data set of this very run, which is replaced.
        choice: Which episodes.
        images: How pictures are kept.
        told: Told how it goes on.

    Raises:
        NothingRecordedError: no episode can be taken; says how to record.
        DatasetError: the folder holds something else, the episodes are of several kinds, or pictures that were
            already compressed are asked for without loss.
    """
    again = own_dataset(folder, run.manifest.run_id)
    if not again:
        refuse_filled(folder)
    sifted = sift(run, choice)
    taken = _Taken(sifted, images, told)
    demonstrations = iter(taken)
    first = next(demonstrations, None)
    if first is None:
        raise nothing_to_write(sifted)
    with new_dataset(folder, about(run), images, replace=again) as writer:
        writer.add(first)
        for demonstration in demonstrations:
            writer.add(demonstration)
        writer.origin |= {"kept": choice.keep, "left_out": dict(sifted.left_out)}
        episodes, frames = writer.episodes, writer.frames
    return Exported(folder, episodes, frames, dict(sifted.left_out), tuple(camera.name for camera in first.cameras))


def export_rrd(run: RunDirectory, folder: Path, choice: Choice, told: Told = _nobody) -> Exported:
    """Write one file for Rerun's viewer an episode; what is not whole or not wanted is left out and counted.

    Raises:
        NothingRecordedError: no episode can be taken; says how to record.
        DatasetError: the SDK is not installed, or the folder holds something.
    """
    require_rerun()
    refuse_filled(folder)
    sifted, common = sift(run, choice), about(run)
    frames, cameras, episodes = 0, dict[str, None](), 0
    with whole_folder(folder) as partial:
        for demonstration in _Taken(sifted, "video", told):
            write_rrd(partial / file_name(episodes, demonstration), demonstration, common)
            episodes, frames = episodes + 1, frames + demonstration.steps
            cameras |= dict.fromkeys(camera.name for camera in demonstration.cameras)
        if not episodes:
            raise nothing_to_write(sifted)
    return Exported(folder, episodes, frames, dict(sifted.left_out), tuple(cameras))


def export_rows(run: RunDirectory, out: TextIO, choice: Choice) -> Sifted:
    """Write every recorded control step as a row of CSV and return what was taken and left out.

    Raises:
        NothingRecordedError: no episode can be taken; says how to record. Only the header is written then.
    """
    sifted = sift(run, dataclasses.replace(choice, pictures=False))
    if not write_rows(out, sifted.demonstrations(), about(run)):
        raise nothing_to_write(sifted)
    return sifted


class _Taken:
    """The demonstrations of a run, one after the other; tells how far it is."""

    def __init__(self, sifted: Sifted, images: Images, told: Told) -> None:
        self._sifted = sifted
        self._images = images
        self._told = told

    def __iter__(self) -> Iterator[Demonstration]:
        total = len(self._sifted.entries)
        for done, demonstration in enumerate(self._sifted.demonstrations(), 1):
            self._check(demonstration)
            yield demonstration
            self._told(done + self._sifted.left_out.total(), total)
        self._told(total, total)

    def _check(self, demonstration: Demonstration) -> None:
        changed = [camera.name for camera in demonstration.cameras if not camera.exact]
        if changed and self._images == "lossless":
            raise DatasetError(
                f"camera {changed[0]!r} was kept in a compressed video only, so its pictures have lost something "
                "already: export with --images video, or record with artifacts.cameras=true"
            )


def own_dataset(folder: Path, run_id: str) -> bool:
    """Return whether a folder holds a data set that was made of this run."""
    try:
        told = json.loads((folder / "meta" / "vlassess.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("run_id") == run_id
