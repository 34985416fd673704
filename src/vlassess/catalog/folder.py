"""Reads a benchmark's folder: ``benchmark.toml`` says how to load it, ``spec.json`` what it declares.

```toml
target = "adapter.py:Tabletop"        # file relative to the folder, or module:Class
requirements = ["mujoco>=3.3"]        # where it runs in the harness's own interpreter

[interpreter]                         # where it runs in one of its own: this, or python = "/path/to/bin/python"
requirements = "requirements.txt"     # pinned, relative to the folder
requires-python = ">=3.10,<3.13"
disk_mb = 300
licence = "MIT"

[params]                              # keyword arguments of its constructor
cameras = ["front"]

[env]                                 # environment variables of its workers
MUJOCO_GL = "egl"

[policies]                            # privileged: they read the simulator's state
expert = "expert.py:Expert"
```

Nothing of the benchmark itself is imported, since that needs its simulator.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlassess.catalog.entries import BenchmarkEntry
from vlassess.catalog.interpreters import read_interpreter
from vlassess.schema.problems import nearest, shown
from vlassess_link.errors import ContractError, PluginError
from vlassess_link.jsonable import from_json
from vlassess_link.specs import BenchmarkSpec

# tomllib came with Python 3.11; tomli is the same code for 3.10.
toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

MANIFEST = "benchmark.toml"
SPEC = "spec.json"
KEYS = ("name", "target", "requirements", "interpreter", "params", "env", "policies")


def read_folder(folder: Path, source: str, target: str | None = None) -> BenchmarkEntry:
    """Return the benchmark of a folder that holds a ``benchmark.toml``.

    Args:
        folder: The folder.
        source: Who brings it.
        target: Replaces the manifest's target.

    Raises:
        PluginError: the manifest or the spec cannot be read or has a mistake; names the file and the key.
    """
    manifest = _read_manifest(folder / MANIFEST)
    spec = _read_spec(folder / SPEC)
    name = manifest.get("name") or (spec.name if spec else folder.name)
    if spec is not None and name != spec.name:
        raise PluginError(f"{folder / MANIFEST}: name is {name!r}, but {SPEC} beside it is of {spec.name!r}; mend one")
    return BenchmarkEntry(
        name=name,
        target=target or target_in(folder, manifest["target"], f"{folder / MANIFEST}: target"),
        folder=folder,
        env=manifest.get("env", {}),
        requirements=tuple(manifest.get("requirements", ())),
        interpreter=read_interpreter(manifest.get("interpreter"), folder, str(folder / MANIFEST)),
        params=manifest.get("params", {}),
        spec=spec,
        policies={
            label: target_in(folder, policy, f"{folder / MANIFEST}: policies.{label}")
            for label, policy in manifest.get("policies", {}).items()
        },
        source=source,
    )


def target_in(folder: Path, target: str, where: str) -> str:
    """Return a target with its file made absolute; ``module:Class`` stays as it is.

    Raises:
        PluginError: it is no target, or its file is not there.
    """
    file, colon, name = file_and_class(target)
    if not file or not (name or file.endswith(".py")):
        raise PluginError(f"{where} is {shown(target)}; it must be FILE.py:CLASS, FILE.py or MODULE:CLASS")
    if not file.endswith(".py"):
        return target
    path = (folder / os.path.expanduser(file)).resolve()
    if not path.is_file():
        raise PluginError(f"{where} is {shown(target)}, but there is no file {path}; mend the path")
    return f"{path}{colon}{name}"


def file_and_class(target: str) -> tuple[str, str, str]:
    """Return what stands before the colon, the colon, and the class; the latter two empty for ``FILE.py`` alone."""
    return (target, "", "") if target.endswith(".py") else target.rpartition(":")


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = toml.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PluginError(f"{path} cannot be read: {error}") from None
    for key, value in manifest.items():
        if key not in KEYS:
            raise PluginError(f"{path}: {key} is not a known key; {nearest(key, KEYS)}")
        wanted = _mistake(key, value)
        if wanted:
            raise PluginError(f"{path}: {key} is {shown(value)}; it must be {wanted}")
    if "target" not in manifest:
        raise PluginError(f'{path}: target is missing; give it, as in target = "adapter.py:MyBenchmark"')
    return manifest


def _mistake(key: str, value: Any) -> str | None:
    """Return what the value must be, None where it is."""
    if key in ("name", "target"):
        return None if isinstance(value, str) and value else "a text"
    if key == "requirements":
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return None if fits else "a list of texts"
    if key in ("interpreter", "params"):
        return None if isinstance(value, Mapping) else "a table"
    fits = isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values())
    return None if fits else "a table of texts"


def _read_spec(path: Path) -> BenchmarkSpec | None:
    if not path.is_file():
        return None
    try:
        return from_json(BenchmarkSpec, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ContractError) as error:
        raise PluginError(f"{path} cannot be read: {error}; write it anew from the benchmark's own spec") from None
