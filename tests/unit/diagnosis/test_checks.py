from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from vlassess.diagnosis import Check, checks, examine
from vlassess.diagnosis.rendering import MENDS, Tried, rendering_checks, try_backend


def test_everything_is_told_and_what_fails_has_its_mend(tmp_path: Path) -> None:
    found = examine(tmp_path, [Check("rendering", True, True, "works")])
    assert len({check.name for check in found}) == len(found)
    for check in found:
        assert check.found
        assert bool(check.mend) == (not check.ok)
    needed = {check.name for check in found if check.needed}
    assert needed == {"python", "packages", "cores", "disk", "loopback", "rendering"}


def test_the_disk_is_that_of_the_nearest_folder(tmp_path: Path) -> None:
    found = checks.disk_check(tmp_path / "not" / "there" / "yet")
    assert found.found.endswith(f"GiB free at {tmp_path}")


def test_a_folder_that_cannot_be_written_is_told() -> None:
    found = checks.disk_check(Path("/proc/runs"))
    assert (found.ok, found.needed) == (False, True)
    assert "--output" in found.mend


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = checks.port_check(server.getsockname()[1])
    assert (found.ok, found.needed) == (False, False)
    assert "--port 0" in found.mend


@pytest.mark.parametrize(("free", "ok"), [(512 * 1024, False), (4 * 1024 * 1024, True)])
def test_little_memory_is_told(tmp_path: Path, free: int, ok: bool) -> None:
    info = tmp_path / "meminfo"
    info.write_text(f"MemTotal: 8388608 kB\nMemAvailable: {free} kB\n")
    found = checks.memory_check(info)
    assert found.ok is ok
    assert "of 8.0 GiB available" in found.found
    assert checks.memory_check(tmp_path / "none").found == "unknown on this system"


def test_interpreters_are_asked_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python3.9").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "python3.12").write_text("#!/bin/sh\necho Python 3.12.99\n")
    for file in tmp_path.iterdir():
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    assert f"3.12.99 ({tmp_path}/python3.12)" in checks.interpreters_check().found
    assert "python3.9" not in checks.interpreters_check().found


def works(*backends: str) -> tuple[Check, ...]:
    return rendering_checks(lambda name: Tried(name in backends, f"tried {name}"))


def test_the_chosen_backend_is_the_one_that_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    needed, *single = works("egl")
    assert needed == Check("rendering", True, True, "works through egl")
    assert [(check.name, check.ok, check.needed) for check in single] == [
        ("backend egl", True, False),
        ("backend osmesa", False, False),
        ("backend glfw", False, False),
    ]
    assert single[1].mend == MENDS["osmesa"]


def test_another_backend_that_works_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    needed = works("egl", "glfw")[0]
    assert (needed.ok, needed.found) == (False, "osmesa does not work, egl and glfw would")
    assert needed.mend.startswith("export MUJOCO_GL=egl, or: sudo apt-get install -y libosmesa6")


def test_a_backend_nobody_knows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.setenv("MUJOCO_GL", "vulkan")
    needed = works()[0]
    assert needed.mend == "set MUJOCO_GL to one of egl, osmesa, glfw"


def test_a_frame_is_rendered_for_real() -> None:
    pytest.importorskip("mujoco")
    tried = try_backend(os.environ.get("MUJOCO_GL", "egl"))
    assert tried.ok, tried.told
    assert "first frame after" in tried.told


def test_without_a_screen_glfw_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert try_backend("glfw") == Tried(False, "there is no screen: DISPLAY and WAYLAND_DISPLAY are not set")


def test_a_backend_that_fails_says_why_in_one_line() -> None:
    tried = try_backend("nonsense")
    assert not tried.ok
    assert tried.told
    assert "\n" not in tried.told


def test_the_python_that_runs_is_named(tmp_path: Path) -> None:
    assert sys.executable in checks.python_check().found
