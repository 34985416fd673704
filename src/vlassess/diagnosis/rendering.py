"""Renders one frame with MuJoCo through each backend, each in a process of its own: a driver may crash or hang."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from vlassess.diagnosis.checks import Check

APT = "sudo apt-get install -y"
MENDS = {
    "egl": f"{APT} libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri",
    "osmesa": f"{APT} libosmesa6 libgl1",
    "glfw": f"run it on a screen, or on a virtual one: {APT} xvfb libgl1 libgl1-mesa-dri, then xvfb-run vlassess ...",
}
"""Backend -> how to mend it; Debian's and Ubuntu's names."""

DEFAULT = "egl"
"""What bundled benchmarks render through where MUJOCO_GL does not say otherwise."""

SCREENS = {"DISPLAY", "WAYLAND_DISPLAY"}
"""Variables that name a screen; glfw draws off the screen, but needs one."""

SECONDS = 60.0
"""How long a backend may take for its frame."""

FRAME = """
import time, mujoco
began = time.perf_counter()
scene = "<light pos='0 0 3'/><geom type='sphere' size='.2' rgba='1 0 0 1'/>"
model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{scene}</worldbody></mujoco>")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 64, 64) as renderer:
    renderer.update_scene(data)
    image = renderer.render()
    from OpenGL import GL
    name = GL.glGetString(GL.GL_RENDERER).decode("ascii", "replace")
if image.std() < 1:
    raise SystemExit("the frame is empty")
print(f"{name}, first frame after {time.perf_counter() - began:.2f} s")
"""


class Tried(NamedTuple):
    """What came of one backend.

    Attributes:
        ok: It rendered the scene.
        told: The renderer's name and time, or what went wrong, in a clause.
    """

    ok: bool
    told: str


Try = Callable[[str], Tried]


def try_backend(backend: str) -> Tried:
    """Render one frame in a new process."""
    if backend == "glfw" and not SCREENS & os.environ.keys():
        return Tried(False, f"there is no screen: {' and '.join(sorted(SCREENS))} are not set")
    # MuJoCo chooses PyOpenGL's platform by itself.
    environment = {name: value for name, value in os.environ.items() if name != "PYOPENGL_PLATFORM"}
    environment["MUJOCO_GL"] = backend
    try:
        done = subprocess.run(
            [sys.executable, "-c", FRAME], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Tried(False, f"no frame within {SECONDS:g} s")
    if done.returncode == 0:
        return Tried(True, done.stdout.strip())
    if done.returncode < 0:
        return Tried(False, f"the driver crashed ({signal.Signals(-done.returncode).name})")
    lines = done.stderr.strip().splitlines()
    return Tried(False, lines[-1][:120] if lines else f"it ended with {done.returncode} and said nothing")


def rendering_checks(attempt: Try = try_backend) -> tuple[Check, ...]:
    """Return a check for each backend, after the one that matters: whether the one that runs take works."""
    if importlib.util.find_spec("mujoco") is None:
        mend = "only needed for benchmarks in MuJoCo: pip install 'vlassess[sim]'"
        return (Check("rendering", False, False, "mujoco is not installed", mend),)
    chosen = os.environ.get("MUJOCO_GL", DEFAULT)
    backends = list(dict.fromkeys([*MENDS, chosen]))
    with ThreadPoolExecutor(len(backends)) as pool:
        tried = dict(zip(backends, pool.map(attempt, backends), strict=True))
    single = [
        Check(f"backend {name}", found.ok, False, found.told, "" if found.ok else MENDS.get(name, _known()))
        for name, found in tried.items()
    ]
    return (_needed(chosen, {name: found.ok for name, found in tried.items()}), *single)


def _needed(chosen: str, works: dict[str, bool]) -> Check:
    if works[chosen]:
        return Check("rendering", True, True, f"works through {chosen}")
    others = [name for name, ok in works.items() if ok]
    way = f"export MUJOCO_GL={others[0]}, or: " if others else ""
    found = f"{chosen} does not work" + (f", {' and '.join(others)} would" if others else "")
    return Check("rendering", False, True, found, way + MENDS.get(chosen, _known()))


def _known() -> str:
    return f"set MUJOCO_GL to one of {', '.join(MENDS)}"
