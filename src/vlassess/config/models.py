"""Configs that are no run: the same files, overrides, short forms and sentences for another model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from vlassess.config.layers import SUFFIXES, read_layers
from vlassess.config.load import ConfigError
from vlassess.config.overrides import apply_overrides
from vlassess.config.sentences import sentences
from vlassess.config.shorthand import absolute
from vlassess.config.yaml12 import Reading
from vlassess.schema.problems import nearest

M = TypeVar("M", bound=BaseModel)
Place = tuple[str, ...]


def load_model(
    model: type[M], source: str, overrides: Sequence[str], bundled: Mapping[str, Path], paths: Sequence[Place]
) -> M:
    """Return what a config describes as a model.

    Args:
        model: What it has to be.
        source: Path of a YAML file, or a name of ``bundled``.
        overrides: ``a.b=c`` each; their paths are relative to the current directory.
        bundled: Name -> file.
        paths: Places that hold paths, which are relative to the file.

    Raises:
        ConfigError: names every mistake.
    """
    path = _find(source, bundled)
    reading = Reading(os.environ)
    values = read_layers(path, reading)
    base = Path.cwd() if path in bundled.values() else path.parent
    _make_absolute(values, paths, base)
    return _overridden(model, values, (source, overrides, paths), reading)


def override_model(model: type[M], known: M, overrides: Sequence[str], paths: Sequence[Place]) -> M:
    """Return what is known with each ``a.b=c`` applied; their paths are relative to the current directory.

    Raises:
        ConfigError: names every mistake in the overrides.
    """
    values = known.model_dump(mode="json", exclude_defaults=True)
    return _overridden(model, values, ("the overrides", overrides, paths), Reading(os.environ))


def _overridden(
    model: type[M], values: dict[str, Any], asked: tuple[str, Sequence[str], Sequence[Place]], reading: Reading
) -> M:
    source, overrides, paths = asked
    values = apply_overrides(values, overrides, reading)
    _make_absolute(values, paths, Path.cwd())
    problems = list(reading.problems)
    found: M | None = None
    try:
        found = model.model_validate(values)
    except ValidationError as error:
        told = sentences(model, error)
        problems.extend(told if not reading.broken else [one for one in told if " is missing" not in one])
    if problems or found is None:
        raise ConfigError(source, list(dict.fromkeys(problems)))
    return found


def _find(source: str, bundled: Mapping[str, Path]) -> Path:
    path = absolute(source, Path.cwd())
    if path.is_file():
        return path
    if source in bundled:
        return bundled[source]
    if path.is_dir():
        raise ConfigError(f"config {source!r}", [f"{path} is a folder; name a file in it"])
    if source.endswith(SUFFIXES) or "/" in source:
        raise ConfigError(f"config {source!r}", [f"there is no file {path}; mend the path"])
    raise ConfigError(
        f"config {source!r}", [f"no config is called {source!r}, and there is no such file; {nearest(source, bundled)}"]
    )


def _make_absolute(values: dict[str, Any], paths: Sequence[Place], base: Path) -> None:
    for place in paths:
        section: Any = values
        for key in place[:-1]:
            section = section.get(key) if isinstance(section, dict) else None
        if isinstance(section, dict) and isinstance(section.get(place[-1]), str):
            section[place[-1]] = str(absolute(section[place[-1]], base))
