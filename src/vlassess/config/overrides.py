"""What the command line says on top of the files: ``--set a.b=c``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vlassess.config.layers import merge
from vlassess.config.shorthand import Replaced, expand_layer
from vlassess.config.yaml12 import Reading, join, read_yaml
from vlassess.schema.problems import shown


def apply_overrides(values: dict[str, Any], overrides: Sequence[str], reading: Reading) -> dict[str, Any]:
    """Return ``values`` with each ``a.b=c`` applied in order; paths are relative to the current directory.

    The value is YAML. Whatever is named is replaced: a section, a list (``suites=[pick]``), or one place of a
    list (``cells.0.level=far``). A label with dots in it is found when it is already there.

    Args:
        values: The merged files, every short form made long.
        overrides: ``a.b=c`` each.
        reading: Collects the mistakes.
    """
    for override in overrides:
        inner = Reading(reading.environment, lines=False)
        values = merge(values, _layer(values, override, inner))
        reading.problems.extend(f"--set {override}: {problem}" for problem in inner.problems)
    return values


def _layer(values: dict[str, Any], override: str, reading: Reading) -> dict[str, Any]:
    path, equals, text = override.partition("=")
    path = path.strip()
    if not equals or not path:
        reading.problems.append("it must be PATH=VALUE, as in `--set episodes=20`")
        return {}
    value = read_yaml(text, reading, path)
    if reading.problems:
        return {}
    keys = _keys(values, path.split("."))
    if keys[0] == "policy" and len(keys) > 1:
        reading.problems.append(f"`policy` is a short form; write policies.LABEL.{'.'.join(keys[1:])}")
        return {}
    layer = _nested(values, keys, value, "", reading.problems)
    return expand_layer(layer, Path.cwd(), reading.problems) if isinstance(layer, dict) else {}


def _keys(values: Any, segments: Sequence[str]) -> list[str]:
    """Join segments where a key with dots in it is already there (``policies.pi0.5.horizon``)."""
    keys: list[str] = []
    while segments:
        known = values if isinstance(values, dict) else {}
        sizes = (size for size in range(len(segments), 1, -1) if ".".join(segments[:size]) in known)
        size = next(sizes, 1)
        keys.append(".".join(segments[:size]))
        values, segments = known.get(keys[-1]), segments[size:]
    return keys


def _nested(current: Any, keys: Sequence[str], value: Any, path: str, problems: list[str]) -> Any:
    """Return what has to be merged over ``current`` so that ``value`` stands at ``keys``."""
    if not keys:
        return Replaced(value) if isinstance(value, dict) else value
    key, rest = keys[0], keys[1:]
    if isinstance(current, list):
        if not key.isdecimal() or int(key) >= len(current):
            size = f"entries 0 to {len(current) - 1}" if current else "no entry yet"
            problems.append(f"{path} has {size}, and {shown(key)} is none of them; give an index or the whole list")
            return current
        old = current[int(key)]
        new = _nested(old, rest, value, join(path, key), problems)
        whole = merge(old, new) if isinstance(old, dict) and isinstance(new, dict) else new
        return [whole if i == int(key) else item for i, item in enumerate(current)]
    below = current.get(key) if isinstance(current, dict) else None
    return {key: _nested(below, rest, value, join(path, key), problems)}
