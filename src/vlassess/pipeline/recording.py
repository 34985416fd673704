"""A run's recordings: asked for before the first episode, put away when the last one has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vlassess.artifacts import Studio, left_unwritten
from vlassess.execution import ArtifactSink, NoArtifacts, StopSwitch
from vlassess.records import RunDirectory
from vlassess.schema.config import ArtifactsConfig, RunConfig
from vlassess.schema.events import Listener
from vlassess_link.errors import ContractError
from vlassess_link.specs import BenchmarkSpec


def check_camera_size(spec: BenchmarkSpec, config: RunConfig) -> None:
    """Refuse to film at a size that a camera does not render at, before the first episode.

    Raises:
        ContractError: names the camera and its sizes.
    """
    size = config.artifacts.camera_size
    for camera in spec.cameras if size is not None else ():
        if size not in [tuple(offered) for offered in camera.sizes]:
            offered = ", ".join(f"[{height}, {width}]" for height, width in camera.sizes)
            raise ContractError(
                f"artifacts.camera_size is {list(size or ())}, but camera {camera.name!r} of {spec.name} renders at "
                f"{offered}: take one of these"
            )


def kept(config: RunConfig) -> ArtifactsConfig:
    """Return what a run records: what it was told to, and first observations where its cells are audited by arrays."""
    if config.audit == "arrays" and config.cells:
        return config.artifacts.model_copy(update={"inputs": max(1, config.artifacts.inputs)})
    return config.artifacts


def put_away_left(run: RunDirectory, config: ArtifactsConfig, listener: Listener, stop: StopSwitch) -> None:
    """Write what an earlier coordinator has recorded of its last episodes and left unwritten."""
    if left_unwritten(run.path):
        with recording(run, config, listener, stop):
            pass


@contextmanager
def recording(
    run: RunDirectory, config: ArtifactsConfig, listener: Listener, stop: StopSwitch
) -> Iterator[ArtifactSink]:
    """Yield where recordings go; at the end wait for those that are being written, unless asked to stop now."""
    if not config.wanted:
        yield NoArtifacts()
        return
    items = run.items()
    studio = Studio(run.path, config, items, float(run.manifest.benchmark_spec["control_rate_hz"]))
    listener.note(studio.announcement())
    studio.recover(items, run.records().records)
    try:
        yield studio
    finally:
        for note in studio.close(hurry=lambda: stop.requests > 1):
            listener.note(note)
