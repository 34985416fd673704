"""What a number was made with: versions, the state of the checkout, the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

PACKAGES = ("vlassess", "vlassess-link", "numpy", "scipy", "pydantic", "msgpack", "websockets", "mujoco")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that can change a result."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def git_state(folder: Path) -> dict[str, str]:
    """Return commit and dirtiness of the checkout that ``folder`` is in; empty where it is in none."""
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    if commit is None or changes is None:
        return {}
    return {"commit": commit, "dirty": "yes" if changes else "no"}


def hardware() -> dict[str, str]:
    """Return host, system, CPU model, cores and memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "cpu": _cpu_model() or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory_gib": f"{memory / 2**30:.1f}",
    }


def _cpu_model() -> str | None:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
