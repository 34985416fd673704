"""Finds config files, follows `extends`, and merges what they say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlassess.config.shorthand import Replaced, absolute, expand_layer, source_keys
from vlassess.config.yaml12 import Reading, Unreadable, read_yaml
from vlassess.schema.problems import nearest, shown

BUNDLED = Path(__file__).resolve().parent.parent / "configs"
SUFFIXES = (".yaml", ".yml")


def bundled_configs() -> dict[str, Path]:
    """Return the configs that come with vlassess: name -> file."""
    return {path.stem: path for path in sorted(BUNDLED.glob("*.yaml"))}


def find_config(source: str, base: Path) -> tuple[Path | None, str]:
    """Return the file that ``source`` names, a path relative to ``base`` or a bundled name, else None and why not."""
    path = absolute(source, base)
    if path.is_file():
        return path, ""
    bundled = bundled_configs()
    if source in bundled:
        return bundled[source], ""
    if path.is_dir():
        return None, f"{path} is a folder; name a file in it"
    if source.endswith(SUFFIXES) or "/" in source:
        return None, f"there is no file {path}; mend the path, or name a bundled config ({', '.join(bundled)})"
    return None, f"no config is called {source!r}, and there is no such file; {nearest(source, bundled)}"


def read_layers(path: Path, reading: Reading) -> dict[str, Any]:
    """Return what a config file says, merged over what it extends.

    A bundled file's own paths would point into the installation, so they are relative to the current directory.

    Args:
        path: The file.
        reading: Collects the mistakes of all files.
    """
    return _Chain(reading).read(path, [])


class _Chain:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, path: Path, above: list[Path]) -> dict[str, Any]:
        if path in above:
            names = " -> ".join(file.name for file in [*above[above.index(path) :], path])
            return self._broken(f"extends goes in a circle ({names}); remove one of the extends")
        problems: list[str] = []
        values = self._parse(path, problems)
        extends = values.pop("extends", None)
        base = Path.cwd() if path.parent == BUNDLED else path.parent
        layer = expand_layer(values, base, problems)
        self._reading.problems.extend(f"{path.name}: {problem}" if above else problem for problem in problems)
        return merge(self._inherited(extends, path, above), layer)

    def _parse(self, path: Path, problems: list[str]) -> dict[str, Any]:
        inner = Reading(self._reading.environment, problems)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return self._broken(f"{path} cannot be read as UTF-8 text: {error}")
        values = read_yaml(text, inner)
        if isinstance(values, dict):
            return values
        self._reading.broken = True
        if not isinstance(values, Unreadable):
            problems.append(f"the file holds {shown(values)}; it must hold named values, as `benchmark: tabletop-v1`")
        return {}

    def _inherited(self, extends: Any, path: Path, above: list[Path]) -> dict[str, Any]:
        if extends is None:
            return {}
        if isinstance(extends, Unreadable):
            self._reading.broken = True
            return {}
        if not isinstance(extends, str):
            return self._broken(f"extends is {shown(extends)}; it must be one path or bundled name")
        parent, reason = find_config(extends, path.parent)
        if parent is None:
            return self._broken(f"extends is {shown(extends)}: {reason}")
        return self.read(parent, [*above, path])

    def _broken(self, problem: str) -> dict[str, Any]:
        self._reading.broken = True
        self._reading.problems.append(problem)
        return {}


def merge(below: Mapping[str, Any], above: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return ``below`` overridden by ``above``: sections are merged, everything else is replaced.

    A benchmark or policy of ``above`` that names another source than the inherited one is another thing and
    replaces it whole.

    Args:
        below: What is inherited.
        above: What overrides it.
        path: Keys that lead to both.
    """
    result = dict(below)
    for key, value in above.items():
        old, place = result.get(key), (*path, key)
        if isinstance(value, dict) and isinstance(old, dict) and not _is_another(old, value, place):
            result[key] = merge(old, value, place)
        else:
            result[key] = value
    return result


def _is_another(old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    named = [key for key in source_keys(path) if key in new]
    return isinstance(new, Replaced) or any(new[key] != old.get(key) for key in named)
