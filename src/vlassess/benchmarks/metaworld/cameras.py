"""Pictures of a MetaWorld scene as upstream renders them, the right way up, from one OpenGL context."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from vlassess_link.errors import PluginError

from .adapter import ROLLED

GL_HELP = (
    "no picture can be rendered: OpenGL is missing or MUJOCO_GL names the wrong backend ({reason}); "
    "set MUJOCO_GL=egl and run: apt-get install -y --no-install-recommends libegl1 libegl-mesa0 libgl1-mesa-dri"
)
GL_ERRORS = (ImportError, AttributeError, OSError, RuntimeError, mujoco.FatalError)
"""What a missing or broken OpenGL raises, depending on the backend."""

LARGEST = (480, 480)
FAST_SHADOWS = 512


class Cameras:
    """Renders the cameras of one model at any size up to `LARGEST`.

    Scene, flags and font are those of gymnasium's off-screen viewer, so the pictures are upstream's.

    Args:
        model: The model; ``fast`` changes its quality settings.
        fast: Small shadow map and no multisampling: about ten times as fast with software OpenGL, other pixels.
    """

    def __init__(self, model: Any, fast: bool) -> None:
        self._model = model
        model.vis.global_.offheight, model.vis.global_.offwidth = LARGEST
        if fast:
            model.vis.quality.shadowsize = FAST_SHADOWS
            model.vis.quality.offsamples = 0
        try:
            self._gl = mujoco.GLContext(LARGEST[1], LARGEST[0])
            self._gl.make_current()
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except GL_ERRORS as error:
            raise PluginError(GL_HELP.format(reason=error)) from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._size: tuple[int, int] = LARGEST
        self._scene = mujoco.MjvScene(model, 1000)
        self._options = mujoco.MjvOption()
        self._perturb = mujoco.MjvPerturb()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def render(self, data: Any, name: str, size: tuple[int, int]) -> np.ndarray:
        """Return an upright (height, width, 3) uint8 RGB picture; ``data`` is only read."""
        self._gl.make_current()
        if size != self._size:
            mujoco.mjr_resizeOffscreen(size[1], size[0], self._context)
            self._size = size
        self._camera.fixedcamid = self._model.camera(name).id
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, data, self._options, self._perturb, self._camera, everything, self._scene)
        area = mujoco.MjrRect(0, 0, size[1], size[0])
        pixels = np.empty((*size, 3), np.uint8)
        mujoco.mjr_render(area, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, area, self._context)
        # OpenGL's first row is the lowest one; a rolled camera stands on its head besides.
        upright = pixels[:, ::-1] if name in ROLLED else pixels[::-1]
        return np.ascontiguousarray(upright)

    def close(self) -> None:
        """Free the context."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()
