"""Reads which interpreter a benchmark asks for, in its manifest or in a run's config."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vlassess.schema.interpreter import Interpreter
from vlassess.schema.problems import nearest, shown
from vlassess_link.errors import PluginError

KEYS = ("python", "requirements", "requires-python", "disk_mb", "licence")


def read_interpreter(table: Mapping[str, Any] | None, folder: Path, where: str) -> Interpreter | None:
    """Return the interpreter of a manifest's ``[interpreter]``, None where there is no such table.

    Args:
        table: The table.
        folder: What its paths are relative to.
        where: The manifest, for messages.

    Raises:
        PluginError: it has a mistake; names the key.
    """
    if table is None:
        return None
    for key, value in table.items():
        if key not in KEYS:
            raise PluginError(f"{where}: interpreter.{key} is not a known key; {nearest(key, KEYS)}")
        kind: type = int if key == "disk_mb" else str
        if not isinstance(value, kind) or isinstance(value, bool) or not value:
            wanted = "a number of megabytes" if kind is int else "a text"
            raise PluginError(f"{where}: interpreter.{key} is {shown(value)}; it must be {wanted}")
    if ("python" in table) == ("requirements" in table):
        raise PluginError(f"{where}: interpreter must have exactly one of python and requirements")
    return Interpreter(
        python=_path(table, "python", folder, where, _program),
        requirements=_path(table, "requirements", folder, where, None),
        requires_python=table.get("requires-python", Interpreter.requires_python),
        disk_mb=table.get("disk_mb"),
        licence=table.get("licence", ""),
    )


def chosen_interpreter(named: str | None, own: Interpreter | None) -> Interpreter | None:
    """Return the interpreter that a config names, else the benchmark's own.

    Args:
        named: An interpreter's path or name, or a file of pinned requirements that ends with ``.txt``.
        own: What the benchmark's manifest says.

    Raises:
        PluginError: there is no such file.
    """
    if named is None:
        return own
    key = "requirements" if named.endswith(".txt") else "python"
    return read_interpreter({key: named}, Path.cwd(), "benchmark")


def _path(
    table: Mapping[str, Any], key: str, folder: Path, where: str, program: Callable[[str], str | None] | None
) -> Path | None:
    if key not in table:
        return None
    text = table[key]
    found = program(text) if program is not None else None
    # Not resolved: a virtual environment's python is a link, and following it would leave the environment.
    path = Path(found) if found else folder / os.path.expanduser(text)
    if not path.is_file():
        raise PluginError(f"{where}: interpreter.{key} is {shown(text)}, but there is no file {path}; mend the path")
    return path


def _program(text: str) -> str | None:
    """Return where a name without a slash is on the PATH."""
    return None if "/" in text else shutil.which(text)
