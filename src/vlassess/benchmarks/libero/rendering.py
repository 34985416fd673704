"""Pictures of a LIBERO scene as robosuite renders them, from one OpenGL context for all episodes of a task."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from vlassess_link.errors import PluginError

GL_HELP = (
    "no picture can be rendered: OpenGL is missing or MUJOCO_GL names the wrong backend ({reason}); "
    "set MUJOCO_GL=egl and run: apt-get install -y --no-install-recommends libegl1 libegl-mesa0 libgl1-mesa-dri"
)
GL_ERRORS = (ImportError, AttributeError, OSError, RuntimeError, mujoco.FatalError)
"""What a missing or broken OpenGL raises, depending on the backend."""
BUFFER = (640, 480)
"""(width, height) of the context that robosuite makes."""
MAX_GEOMS = 1000
FAST_SHADOWS = 512
COLLISION_GROUP = 0


class DeferredContext:
    """Does to the simulator what robosuite's off-screen context does when it is made, and nothing to OpenGL.

    Args:
        sim: The simulation; its forward dynamics are computed, which the course of an episode depends on in its last
            bits.
        device_id: Not used, nor are the others.
    """

    offscreen = True

    def __init__(self, sim: Any, device_id: int = -1, max_width: int = 640, max_height: int = 480) -> None:
        sim.forward()
        sim.add_render_context(self)
        self.vopt = mujoco.MjvOption()


class Cameras:
    """Renders the cameras of one task's model; later models of the same task have the same meshes and textures.

    Args:
        model: The model.
        fast: Small shadow map and no multisampling: several times as fast with software OpenGL, other pixels.
    """

    def __init__(self, model: Any, fast: bool) -> None:
        if fast:
            model.vis.quality.shadowsize = FAST_SHADOWS
            model.vis.quality.offsamples = 0
        try:
            self._gl = mujoco.GLContext(*BUFFER)
            self._gl.make_current()
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except GL_ERRORS as error:
            raise PluginError(GL_HELP.format(reason=error)) from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=MAX_GEOMS)
        self._options = mujoco.MjvOption()
        self._options.geomgroup[COLLISION_GROUP] = 0
        self._perturb = mujoco.MjvPerturb()
        self._perturb.active = self._perturb.select = 0
        self._perturb.skinselect = -1
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def render(self, model: Any, data: Any, name: str, size: tuple[int, int]) -> np.ndarray:
        """Return (height, width, 3) uint8 RGB, rows from the lowest up; ``data`` is only read."""
        self._gl.make_current()
        self._camera.fixedcamid = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name)
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(model, data, self._options, self._perturb, self._camera, everything, self._scene)
        area = mujoco.MjrRect(0, 0, size[1], size[0])
        pixels = np.empty((*size, 3), np.uint8)
        mujoco.mjr_render(area, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, area, self._context)
        return pixels

    def close(self) -> None:
        """Free the context."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()
