"""What `make` does on a machine that lacks something: bring it, or say the one line that does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    """A folder with an apt-get that only writes down what it is told."""
    program = tmp_path / "bin" / "apt-get"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/told\n')
    program.chmod(0o755)
    return program.parent


@pytest.mark.skipif(sys.platform != "linux", reason="EGL is looked for on Linux only")
def test_a_missing_driver_is_brought_by_root_and_named_to_others(apt: Path, tmp_path: Path) -> None:
    done = run(
        [sys.executable, str(TOOLS / "gl_libraries.py")],
        PATH=f"{apt}{os.pathsep}{os.environ['PATH']}",
        __EGL_VENDOR_LIBRARY_DIRS=str(tmp_path),
        __EGL_VENDOR_LIBRARY_FILENAMES="",
        MUJOCO_GL="egl",
    )
    assert done.returncode == 1
    assert "sudo apt-get install -y libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri" in done.stdout
    told = tmp_path / "told"
    if os.geteuid() == 0:
        update, install = told.read_text().splitlines()
        assert update.startswith("update")
        assert install.endswith("libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri")
    else:
        assert not told.exists()


def test_another_backend_is_left_alone(apt: Path, tmp_path: Path) -> None:
    done = run(
        [sys.executable, str(TOOLS / "gl_libraries.py")],
        PATH=f"{apt}{os.pathsep}{os.environ['PATH']}",
        __EGL_VENDOR_LIBRARY_DIRS=str(tmp_path),
        MUJOCO_GL="osmesa",
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_python_that_does_not_start_is_named(tmp_path: Path) -> None:
    done = run([str(TOOLS / "make_venv.sh"), str(tmp_path / "venv"), "no-such-python"])
    assert done.returncode == 2
    assert "no-such-python" in done.stderr
    assert "PYTHON=" in done.stderr


def test_a_venv_is_made_with_the_python_that_was_named(tmp_path: Path) -> None:
    done = run([str(TOOLS / "make_venv.sh"), str(tmp_path / "venv"), sys.executable])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "venv" / "bin" / "python").exists()


def test_an_unknown_benchmark_is_answered_with_the_known_ones() -> None:
    done = run(["make", "-C", str(TOOLS.parent), "--no-print-directory", "bench", "NAME=nothing"])
    assert done.returncode == 2
    assert "with one of: execution wire tabletop" in done.stderr
