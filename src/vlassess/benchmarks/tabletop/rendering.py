"""Pictures of the scene from one OpenGL context, at the cost of little more than its pixels.

Shadows, reflections and multisampling are off and the off-screen buffer is exactly as large as the
picture: with software OpenGL they would cost tens of times the rest.
"""

from __future__ import annotations

import mujoco
import numpy as np

from vlassess_link.errors import PluginError

GL_HELP = (
    "no picture can be rendered: OpenGL is missing or MUJOCO_GL names the wrong backend ({reason}); "
    "set MUJOCO_GL=egl and run: apt-get install -y --no-install-recommends libegl1 libegl-mesa0 libgl1-mesa-dri"
)
GL_ERRORS = (ImportError, AttributeError, OSError, RuntimeError, mujoco.FatalError)
"""What a missing or broken OpenGL raises, depending on the backend."""

_MAX_GEOMS = 400
_OFF = (
    mujoco.mjtRndFlag.mjRND_SHADOW,
    mujoco.mjtRndFlag.mjRND_REFLECTION,
    mujoco.mjtRndFlag.mjRND_SKYBOX,
    mujoco.mjtRndFlag.mjRND_HAZE,
)


class SceneRenderer:
    """Renders the cameras of one model, any size, from one OpenGL context that is made once."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._size = (int(model.vis.global_.offheight), int(model.vis.global_.offwidth))
        height, width = self._size
        try:
            self._gl = mujoco.GLContext(width, height)
            self._gl.make_current()
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except GL_ERRORS as error:
            raise PluginError(GL_HELP.format(reason=error)) from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
        for flag in _OFF:
            self._scene.flags[flag] = 0
        self._options = mujoco.MjvOption()
        self._perturb = mujoco.MjvPerturb()
        self._cameras = {}
        for number in range(model.ncam):
            camera = mujoco.MjvCamera()
            camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
            camera.fixedcamid = number
            self._cameras[model.camera(number).name] = camera

    def render(self, data: mujoco.MjData, camera: str, height: int, width: int) -> np.ndarray:
        """Return an upright (height, width, 3) uint8 RGB picture; ``data`` is only read."""
        self._gl.make_current()
        if (height, width) != self._size:
            mujoco.mjr_resizeOffscreen(width, height, self._context)
            self._size = (height, width)
        mujoco.mjv_updateScene(
            self._model,
            data,
            self._options,
            self._perturb,
            self._cameras[camera],
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        area = mujoco.MjrRect(0, 0, width, height)
        pixels = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_render(area, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, area, self._context)
        return np.ascontiguousarray(pixels[::-1])

    def close(self) -> None:
        """Free the context; calling it again does nothing."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()
