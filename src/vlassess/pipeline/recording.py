"""A run's recordings: asked for before the first episode, put away when the last one has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vlassess.artifacts import Studio
from vlassess.execution import ArtifactSink, NoArtifacts, StopSwitch
from vlassess.records import RunDirectory
from vlassess.schema.config import ArtifactsConfig
from vlassess.schema.events import Listener


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
