"""Policy scripts that bring their own dependencies: a PEP 723 header, and the environment that uv builds from it."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from vlassess.execution.interpreters import choose_python
from vlassess.execution.uv import NETWORK, UvFailedError, find_uv, run_uv
from vlassess.schema.interpreter import WORKER_NEEDS
from vlassess_link.errors import PluginError

# tomllib came with Python 3.11; tomli is the same code for 3.10.
tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

HEADER = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""The block's form as PEP 723 defines it."""
BUNDLED = Path(__file__).resolve().parent.parent / "policies"
SERVER_PYTHON = ">=3.10"
"""What the policy server needs, whatever the script says."""
SERVER_NEEDS = WORKER_NEEDS
"""What it imports; `vlassess_link` itself comes from the harness."""

Note = Callable[[str], None]


@dataclass(frozen=True)
class Header:
    """What a script says of its environment.

    Attributes:
        requires_python: Specifier, ">=3.10".
        dependencies: Requirements.
    """

    requires_python: str
    dependencies: tuple[str, ...]


def read_header(path: Path) -> Header | None:
    """Return a script's header, None where it has none.

    Raises:
        PluginError: the file cannot be read, or its header is none.
    """
    try:
        found = HEADER.search(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PluginError(f"the script {path} cannot be read: {error}") from None
    if found is None:
        return None
    lines = [line[2:] if line.startswith("# ") else line[1:] for line in found["content"].splitlines()]
    try:
        values = tomllib.loads("\n".join(lines))
        header = Header(values.get("requires-python", ""), tuple(values.get("dependencies", ())))
        SpecifierSet(header.requires_python)
        for dependency in header.dependencies:
            Requirement(dependency)
    except (tomllib.TOMLDecodeError, InvalidSpecifier, InvalidRequirement, TypeError) as error:
        raise PluginError(f"the header of {path} cannot be read: {error}; see PEP 723") from None
    return header


def own_python(target: str, note: Note) -> Path | None:
    """Return the Python of the environment that a policy's script asks for; builds it with uv if it has to.

    Args:
        target: ``file.py:Class``, ``file.py`` or ``module:Class``.
        note: Told what goes on, a line at a time.

    Returns:
        None where the target has no header, and for a bundled script whose header this interpreter meets: it
        runs here.

    Raises:
        PluginError: the header cannot be read, no Python fits it, or uv cannot build it; says why.
    """
    file = target if target.endswith(".py") else target.rpartition(":")[0]
    if not file.endswith(".py"):
        return None
    path = Path(os.path.expanduser(file)).resolve()
    header = read_header(path) if path.is_file() else None
    if header is None or (path.parent == BUNDLED and is_met_here(header)):
        return None
    wanted = ",".join(part for part in (header.requires_python, SERVER_PYTHON) if part)
    python, _ = choose_python(wanted, f"the policy {path.name}")
    _sync(path, python, note)
    said = run_uv(find_uv(), ("python", "find", "--script", str(path)), note)
    found = [line for line in said.splitlines() if Path(line.strip()).is_file()]
    if not found:
        raise PluginError(f"uv does not tell where the environment of {path} is: {said[-400:]}")
    own = Path(found[-1].strip())
    _require_what_serves(own, path)
    return own


def is_met_here(header: Header) -> bool:
    """Return whether this interpreter has everything that a header asks for."""
    if header.requires_python and not SpecifierSet(header.requires_python).contains(
        platform.python_version(), prereleases=True
    ):
        return False
    return all(_is_installed(Requirement(dependency)) for dependency in header.dependencies)


def _is_installed(wanted: Requirement) -> bool:
    if wanted.marker is not None and not wanted.marker.evaluate():
        return True
    try:
        version = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return wanted.specifier.contains(version, prereleases=True)


def _require_what_serves(python: Path, path: Path) -> None:
    test = (
        f"from importlib.util import find_spec; print(*[name for name in {SERVER_NEEDS!r} if find_spec(name) is None])"
    )
    done = subprocess.run(
        [str(python), "-I", "-c", test], capture_output=True, text=True, errors="replace", check=False
    )
    missing = done.stdout.split()
    if done.returncode != 0 or missing:
        raise PluginError(
            f"the header of {path} leaves out {' and '.join(missing) or done.stderr.strip()[-200:]}, without which no "
            f"policy is served; write dependencies = {json.dumps([*SERVER_NEEDS])} and what the policy needs"
        )


def _sync(path: Path, python: str, note: Note) -> None:
    note(f"preparing the environment of {path.name}")
    arguments = ("sync", "--script", str(path), "--python", python)
    try:
        run_uv(find_uv(), arguments, note)
    except UvFailedError as error:
        if not NETWORK.search(str(error)):
            raise
        # What was built or downloaded before needs no network.
        try:
            run_uv(find_uv(), (*arguments, "--offline"), note)
        except UvFailedError:
            raise error from None
