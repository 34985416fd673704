"""What a benchmark without a stored spec declared when it was last asked, found by all that may change the answer.

Asking costs a worker, and for some benchmarks a simulator's import, before every plan. The key is made of the adapter's
sources, its parameters, its requirements and this link package; where one of them cannot be known without the
benchmark's own interpreter, nothing is kept. The answer is checked whenever a run starts its sides.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import vlassess_link
from vlassess.execution.cache import cache_folder
from vlassess.schema.interpreter import Interpreter
from vlassess_link.digest import content_hash, content_id
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.specs import BenchmarkSpec

MOST_FILES = 400
"""Python files of an adapter beyond which its answer is not kept."""
NO_SOURCES = ("node_modules", "site-packages", "runs", "build", "dist")


@dataclass(frozen=True)
class Adapter:
    """All that decides what a benchmark declares.

    Attributes:
        target: What its workers load.
        params: With which parameters.
        env: Variables of its own.
        interpreter: Its own interpreter; None for the harness's.
    """

    target: str
    params: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    interpreter: Interpreter | None = None


class SpecAnswer:
    """The kept answer of one adapter.

    Args:
        adapter: Whose.
        folder: Where answers are kept; None: in the cache.
    """

    def __init__(self, adapter: Adapter, folder: Path | None = None) -> None:
        key = key_of(adapter)
        self._file = None if key is None else (folder or cache_folder() / "specs") / f"{key}.json"

    def recall(self) -> BenchmarkSpec | None:
        """Return what it declared; None where it was not asked, or something of it has changed since."""
        if self._file is None:
            return None
        try:
            return from_json(BenchmarkSpec, json.loads(self._file.read_text(encoding="utf-8")))
        except (OSError, ValueError, ContractError):
            return None

    def keep(self, spec: BenchmarkSpec) -> None:
        """Keep what it declares; a cache that cannot be written keeps nothing, which costs time only."""
        if self._file is None:
            return
        partial = self._file.with_name(f".{self._file.name}-{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(to_json(spec), allow_nan=False), encoding="utf-8")
            partial.replace(self._file)
        except OSError:
            return


def key_of(adapter: Adapter) -> str | None:
    """Return the id of everything that decides the answer; None where that cannot be known."""
    sources, packages = _sources(adapter), _packages(adapter.interpreter)
    if sources is None or packages is None:
        return None
    whole = {
        "target": adapter.target,
        "params": dict(adapter.params),
        "env": dict(adapter.env),
        "sources": sources,
        "packages": packages,
        "link": _link(),
    }
    try:
        return content_id(whole)
    except (TypeError, ValueError):
        return None


def _sources(adapter: Adapter) -> dict[str, str] | None:
    """Return the digest of every Python file of the adapter, and size and time of what lies beside them."""
    file = adapter.target if adapter.target.endswith(".py") else adapter.target.rpartition(":")[0]
    if file.endswith(".py"):
        return _folder_digest(Path(file).parent)
    if adapter.interpreter is not None:
        return None
    found = importlib.machinery.PathFinder.find_spec(file.partition(".")[0])
    if found is None or found.origin is None:
        return None
    origin = Path(found.origin)
    return _folder_digest(origin.parent) if origin.name == "__init__.py" else {origin.name: _digest(origin)}


def _folder_digest(folder: Path) -> dict[str, str] | None:
    found: dict[str, str] = {}
    try:
        for path in _python_files(folder):
            found[str(path.relative_to(folder))] = _digest(path)
            if len(found) > MOST_FILES:
                return None
        for path in folder.iterdir():
            if path.is_file() and path.suffix != ".py":
                state = path.stat()
                found[path.name] = f"{state.st_size} {state.st_mtime_ns}"
    except OSError:
        return None
    return found


def _python_files(folder: Path) -> Iterator[Path]:
    for place, inner, names in os.walk(folder):
        inner[:] = [
            name
            for name in inner
            if not name.startswith((".", "__"))
            and name not in NO_SOURCES
            and not Path(place, name, "pyvenv.cfg").exists()
        ]
        yield from (Path(place, name) for name in names if name.endswith(".py"))


def _packages(interpreter: Interpreter | None) -> dict[str, str] | None:
    if interpreter is None:
        # The folders' names have name and version; reading what is in them would take as long as asking.
        installed = sorted(entry.name for folder in map(Path, sys.path) for entry in folder.glob("*.dist-info"))
        return {"python": platform.python_version(), "packages": " ".join(installed)}
    if interpreter.requirements is None:
        return None
    try:
        return {"requirements": _digest(interpreter.requirements), "requires_python": interpreter.requires_python}
    except OSError:
        return None


@functools.cache
def _link() -> str:
    folder = Path(vlassess_link.__file__).parent
    return content_hash({str(path.relative_to(folder)): _digest(path) for path in _python_files(folder)})


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
