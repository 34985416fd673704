"""``collect.json``: what a run is to become once it is complete."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

COLLECT_SCHEMA = 1
"""Version of ``collect.json``; readers accept every earlier one."""

Keep = Literal["successes", "all"]
"""Which episodes a data set has: those that succeeded, or failures too."""
Pictures = Literal["off", "video", "lossless"]
"""How a data set keeps cameras: not, as compact videos, or so that no pixel is changed."""


class CollectSettings(BaseModel):
    """What becomes of a collection; it is in the run's folder from its beginning, so that it can go on after a kill."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    schema_version: int = COLLECT_SCHEMA
    """`COLLECT_SCHEMA` of the writer."""
    output: Path | None = None
    """Folder of the data set; None: `dataset` in the run's own."""
    pictures: Pictures = "video"
    """How cameras are kept."""
    keep: Keep = "successes"
    """Which episodes the data set has."""
