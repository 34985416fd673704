"""The libraries that recording needs, asked for before anything runs."""

from __future__ import annotations

import importlib.util

from vlassess.schema.config import ArtifactsConfig
from vlassess_link.errors import VlassessError

INSTALL = "pip install 'vlassess[artifacts]'"


class ArtifactsUnavailableError(VlassessError):
    """Something is to be recorded and the library that writes it is not installed."""


def require(config: ArtifactsConfig) -> None:
    """Refuse a recording that could not be written.

    Raises:
        ArtifactsUnavailableError: names the library and the line that installs it.
    """
    pyav = ("av", "PyAV")
    needed = {"artifacts.video": pyav, "artifacts.cameras": pyav, "artifacts.steps": ("pyarrow", "pyarrow")}
    wanted = {
        "artifacts.video": config.video != "off",
        "artifacts.cameras": config.cameras,
        "artifacts.steps": config.steps,
    }
    for field, (module, name) in needed.items():
        if wanted[field] and importlib.util.find_spec(module) is None:
            raise ArtifactsUnavailableError(f"{field} needs {name}, which is not installed: {INSTALL}, or set it off")
