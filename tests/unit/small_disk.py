"""A file system that is soon full: a real one, which needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path]:
    """Mount a tmpfs of ``kib`` KiB for as long as the block lasts; skips the test where that cannot be."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: a full disk needs root, to mount a small tmpfs")
    folder.mkdir()
    mounted = _run("mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", str(folder))
    if mounted.returncode != 0:
        pytest.skip(f"NOT TESTED: a full disk; no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        assert _run("umount", str(folder)).returncode == 0


def grow(folder: Path, kib: int) -> None:
    """Make room on it."""
    assert _run("mount", "-o", f"remount,size={kib}k", str(folder)).returncode == 0


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
