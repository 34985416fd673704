"""A benchmark's own interpreter: an existing one is asked what it is, a missing one is built once.

Simulators pin versions that conflict, so each may have an environment of its own. What was built is found by
its content: the pinned requirements and the Python that they were installed in.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from vlassess.execution.cache import VARIABLE, cache_folder, fresh_folder, locked, remove_leftovers
from vlassess.execution.requirements import normalised, read_pinned
from vlassess.execution.uv import find_uv, run_uv
from vlassess.schema.interpreter import WORKER_NEEDS, Interpreter
from vlassess_link.digest import content_id
from vlassess_link.errors import PluginError

MARKER = "environment.json"
MINORS = range(14, 7, -1)
PATIENCE = 60.0
"""Seconds that an interpreter may take to say what it is."""

_INSPECT = (
    "import json, platform, importlib.metadata as m; "
    "print(json.dumps([platform.python_version(), {d.metadata['Name']: d.version for d in m.distributions()}]))"
)

Note = Callable[[str], None]


@dataclass(frozen=True)
class Environment:
    """An interpreter that is there, and what is installed in it.

    Attributes:
        python: Its path.
        version: Of Python, "3.11.7".
        packages: Distribution -> version.
    """

    python: Path
    version: str
    packages: Mapping[str, str]

    @property
    def digest(self) -> str:
        """One id over Python and every package: what a result may depend on, and not where it lies."""
        return content_id({"python": self.version, "packages": dict(self.packages)})


def prepare(wanted: Interpreter, benchmark: str, note: Note) -> Environment:
    """Return the interpreter that a benchmark asks for; builds it if it has to, which may take minutes.

    Args:
        wanted: What is asked for.
        benchmark: Whose it is, for messages.
        note: Told what goes on, a line at a time, before and while something is built.

    Raises:
        PluginError: it cannot be used or built; says why and how to mend it.
    """
    if wanted.python is not None:
        return inspect(wanted.python, benchmark)
    if wanted.requirements is None:
        raise PluginError(f"{benchmark}: the interpreter has neither python nor requirements; give one of them")
    order = _order(wanted, wanted.requirements, benchmark)
    found = _whole(order.folder)
    if found is not None:
        return found
    text = f"another process builds the environment of {benchmark}; waiting for it"
    with locked(order.folder.with_suffix(".lock"), lambda: note(text)):
        return _whole(order.folder) or _build(order, note)


def ready(wanted: Interpreter, benchmark: str) -> Environment | None:
    """Return the interpreter that a benchmark asks for where it is there already; builds nothing.

    Raises:
        PluginError: it is there and cannot be used, or could not be built; says why and how to mend it.
    """
    if wanted.python is not None:
        return inspect(wanted.python, benchmark)
    return None if wanted.requirements is None else _whole(_order(wanted, wanted.requirements, benchmark).folder)


def _order(wanted: Interpreter, requirements: Path, benchmark: str) -> _Order:
    pinned = read_pinned(requirements)
    python, version = choose_python(wanted.requires_python, benchmark)
    key = {"requirements": pinned, "python": version, "platform": sysconfig.get_platform()}
    return _Order(wanted, benchmark, pinned, python, cache_folder() / "environments" / content_id(key))


def inspect(python: Path, benchmark: str) -> Environment:
    """Ask an interpreter what it is.

    Raises:
        PluginError: it does not start, or lacks what every worker needs.
    """
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            [str(python), "-c", _INSPECT],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
            env=env,
        )
        version, packages = json.loads(done.stdout)
        installed = {normalised(name): release for name, release in packages.items() if name != "null"}
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PluginError(f"the interpreter {python} of {benchmark} does not start: {error}") from None
    except (ValueError, TypeError, AttributeError):  # it said something else
        words = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise PluginError(
            f"{python} of {benchmark} is no Python of 3.8 or newer that works: {words[0]}; name another interpreter"
        ) from None
    missing = [name for name in WORKER_NEEDS if name not in installed]
    if missing:
        raise PluginError(
            f"the interpreter {python} of {benchmark} lacks {' and '.join(missing)}, which every worker needs; "
            f"install it: {python} -m pip install {' '.join(missing)}"
        )
    return Environment(python, version, dict(sorted(installed.items())))


def choose_python(requires: str, benchmark: str) -> tuple[str, str]:
    """Return path and version of a Python that a benchmark's requirements can be installed in: ours if it fits.

    Raises:
        PluginError: there is none, or the specifier is no specifier.
    """
    try:
        wanted = SpecifierSet(requires)
    except InvalidSpecifier:
        raise PluginError(f"{benchmark}: requires-python is {requires!r}; write it as '>=3.10,<3.13'") from None
    for path, version in _pythons():
        if wanted.contains(version, prereleases=True):
            return path, version
    raise PluginError(
        f"{benchmark} needs Python {requires}, and neither {platform.python_version()}, which runs this, nor any "
        "pythonX.Y on the PATH is one; install one, or name an interpreter that has everything: "
        "--set benchmark.interpreter=/path/to/bin/python"
    )


def _pythons() -> Iterator[tuple[str, str]]:
    yield sys.executable, platform.python_version()
    for minor in MINORS:
        path = shutil.which(f"python3.{minor}")
        if path is None:
            continue
        # Asked, not believed: a version manager's shim may be on the path and start nothing.
        command = [path, "-c", "import platform; print(platform.python_version())"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            yield path, done.stdout.strip()


@dataclass(frozen=True)
class _Order:
    wanted: Interpreter
    benchmark: str
    pinned: tuple[str, ...]
    python: str
    folder: Path


def _whole(folder: Path) -> Environment | None:
    """Return what was built, None where it is not whole: its base Python may have been removed."""
    python = folder / "bin" / "python"
    try:
        marker: dict[str, Any] = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return Environment(python, marker["python"], marker["packages"]) if python.exists() else None


def _build(order: _Order, note: Note) -> Environment:
    """Build an environment in a folder beside its place, and move it there as the last step."""
    uv = find_uv()
    root = order.folder.parent
    note(_notice(order))
    _check_space(order, root)
    shutil.rmtree(order.folder, ignore_errors=True)
    remove_leftovers(order.folder)
    with fresh_folder(order.folder) as folder:
        listed = folder / "requirements.txt"
        listed.write_text("".join(f"{line}\n" for line in order.pinned), encoding="utf-8")
        python = folder / "bin" / "python"
        run_uv(
            uv, ("venv", "--quiet", "--allow-existing", "--relocatable", "--python", order.python, str(folder)), note
        )
        install = ("pip", "install", "--no-deps", "--python", str(python), "--requirement", str(listed))
        run_uv(uv, install, note)
        made = inspect(python, order.benchmark)
        marker = {"python": made.version, "packages": made.packages, "requirements": order.pinned}
        (folder / MARKER).write_text(json.dumps(marker, indent=1), encoding="utf-8")
    note(f"the environment of {order.benchmark} is built: {order.folder}")
    return Environment(order.folder / "bin" / "python", made.version, made.packages)


def _notice(order: _Order) -> str:
    size = f", about {order.wanted.disk_mb} MB" if order.wanted.disk_mb else ""
    licence = f"; licences: {order.wanted.licence}" if order.wanted.licence else ""
    return (
        f"building the environment of {order.benchmark}, once: {len(order.pinned)} packages{size} in "
        f"{order.folder.parent}{licence}"
    )


def _check_space(order: _Order, root: Path) -> None:
    free = shutil.disk_usage(root).free // 10**6
    if order.wanted.disk_mb is not None and free < order.wanted.disk_mb:
        raise PluginError(
            f"the environment of {order.benchmark} takes about {order.wanted.disk_mb} MB and {root} has {free} MB "
            f"free; free some, or move the cache: {VARIABLE}=/path"
        )
