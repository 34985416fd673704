"""What a machine is asked, by use rather than by name: a library that is installed may still not work.

Nothing here leaves the machine: the only connection is to its own loopback address.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

GIB = 2**30
LEAST_DISK = GIB
LEAST_MEMORY = GIB
SERVE_PORT = 8000
LIBRARIES = ("numpy", "scipy", "pydantic", "msgpack", "websockets")
MINORS = range(8, 16)
PATIENCE = 20.0
"""Seconds that another program may take to say its version."""


@dataclass(frozen=True)
class Check:
    """One thing that was tried.

    Attributes:
        name: What, in a word or two.
        ok: It works.
        needed: Runs need it; without it the machine is not ready.
        found: What was found, in a clause.
        mend: How to mend it, or to go without; empty where it works.
    """

    name: str
    ok: bool
    needed: bool
    found: str
    mend: str = ""


def examine(output: Path, rendering: Sequence[Check]) -> tuple[Check, ...]:
    """Return every check, in the order in which they are shown.

    Args:
        output: The folder that runs are to be made in; it need not exist.
        rendering: What `vlassess.diagnosis.rendering` found, which takes longest.
    """
    return (
        python_check(),
        packages_check(),
        cores_check(),
        memory_check(),
        disk_check(output),
        loopback_check(),
        port_check(SERVE_PORT),
        *rendering,
        interpreters_check(),
        uv_check(),
        artifacts_check(),
    )


def python_check() -> Check:
    """Return which Python runs this; that it is new enough is proved by its running."""
    return Check("python", True, True, f"{platform.python_version()} at {sys.executable}")


def packages_check() -> Check:
    """Return whether both distributions are here, at one version, and the versions of what can change a result."""
    found = {name: version for name in ("vlassess", "vlassess-link", *LIBRARIES) if (version := _version(name))}
    same = found.get("vlassess") == found.get("vlassess-link") is not None
    told = ", ".join(f"{name} {version}" for name, version in found.items()) or "none is installed"
    mend = "" if same else "install both packages at one version: pip install ./packages/vlassess-link ."
    return Check("packages", same, True, told, mend)


def cores_check() -> Check:
    """Return how many cores this process may use."""
    cores = len(os.sched_getaffinity(0))
    told = f"{cores} of {os.cpu_count()} may be used" if cores != os.cpu_count() else f"{cores}"
    return Check("cores", True, True, told)


def memory_check(info: Path = Path("/proc/meminfo")) -> Check:
    """Return how much memory is available; a worker with a simulator takes about `LEAST_MEMORY`."""
    if not info.is_file():
        return Check("memory", True, False, "unknown on this system")
    lines = dict(line.split(":", 1) for line in info.read_text(encoding="ascii").splitlines() if ":" in line)
    total, free = (int(lines[key].split()[0]) * 1024 for key in ("MemTotal", "MemAvailable"))
    ok = free >= LEAST_MEMORY
    mend = "" if ok else "end other programs, or take fewer workers: --workers 1"
    return Check("memory", ok, False, f"{free / GIB:.1f} GiB of {total / GIB:.1f} GiB available", mend)


def disk_check(output: Path) -> Check:
    """Return whether the folder for runs can be written, on a disk with at least `LEAST_DISK` free."""
    place = output.absolute()
    while not place.exists():
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            free = shutil.disk_usage(place).free
    except OSError as error:
        return Check("disk", False, True, f"{place}: {error.strerror}", "choose another folder: --output DIR")
    ok = free >= LEAST_DISK
    mend = "" if ok else "free some space, or choose another disk: --output DIR"
    return Check("disk", ok, True, f"{free / GIB:.1f} GiB free at {place}", mend)


def loopback_check() -> Check:
    """Return whether a port on this machine can be opened and reached, as policy servers need it."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=5),
        ):
            return Check("loopback", True, True, "a port on 127.0.0.1 was opened and reached")
    except OSError as error:
        mend = "bring the loopback interface up (sudo ip link set lo up), and allow sockets in the sandbox"
        return Check("loopback", False, True, f"127.0.0.1: {error.strerror or error}", mend)


def port_check(port: int) -> Check:
    """Return whether the port that `vlassess serve` takes is free; runs take any free port by themselves."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return Check(f"port {port}", True, False, "free, for `vlassess serve`")
    except OSError as error:
        mend = "give `vlassess serve` another one: --port 0"
        return Check(f"port {port}", False, False, f"{error.strerror or error}", mend)


def interpreters_check() -> Check:
    """Return which Pythons are on the path; benchmarks with other pins may need one of them."""
    names = [path for minor in MINORS if (path := shutil.which(f"python3.{minor}"))]
    with ThreadPoolExecutor(4) as pool:
        said = dict(zip(names, pool.map(lambda name: _said([name, "--version"]), names), strict=True))
    found = [f"{version.removeprefix('Python ')} ({name})" for name, version in said.items() if version]
    mend = "" if found else "install one that a benchmark asks for, as in: sudo apt-get install -y python3"
    return Check("interpreters", bool(found), False, ", ".join(found) or "none on the path", mend)


def uv_check() -> Check:
    """Return whether uv is here, which builds the environments of benchmarks that pin their own."""
    command = [shutil.which("uv") or "uv"]
    if command == ["uv"] and importlib.util.find_spec("uv") is not None:
        command = [sys.executable, "-m", "uv"]
    version = _said([*command, "--version"])
    mend = "" if version else "only needed for benchmarks with an environment of their own: pip install uv"
    return Check("uv", bool(version), False, version or "not installed", mend)


def artifacts_check() -> Check:
    """Return whether videos and Parquet can be written."""
    versions = {name: _version(name) for name in ("av", "pyarrow")}
    missing = [name for name, version in versions.items() if version is None]
    found = ", ".join(f"{name} {version or 'is not installed'}" for name, version in versions.items())
    mend = "only needed for videos and Parquet: pip install 'vlassess[artifacts]'" if missing else ""
    return Check("recording", not missing, False, found, mend)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _said(command: Sequence[str]) -> str:
    """Return what a program says, empty where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout or done.stderr).strip() if done.returncode == 0 else ""
