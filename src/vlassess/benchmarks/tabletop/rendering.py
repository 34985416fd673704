"""Pictures of the scene from one OpenGL context, at the cost of little more than its pixels.

Shadows, reflections and multisampling are off and the off-screen buffer is exactly as large as the
picture: with software OpenGL they would cost tens of times the rest. All models of a thread share one OpenGL
context: a new one would compile its shaders anew.
"""

from __future__ import annotations

import threading

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
_FIRST_SIZE = 128
_OFF = (
    mujoco.mjtRndFlag.mjRND_SHADOW,
    mujoco.mjtRndFlag.mjRND_REFLECTION,
    mujoco.mjtRndFlag.mjRND_SKYBOX,
    mujoco.mjtRndFlag.mjRND_HAZE,
)


class _SharedContext:
    """An OpenGL context that is made for its first user and freed with its last."""

    def __init__(self) -> None:
        self._users = 0
        self._gl: mujoco.GLContext | None = None

    def take(self) -> None:
        """Become a user, with the context current.

        Raises:
            PluginError: OpenGL cannot be used; says what to install.
        """
        try:
            if self._gl is None:
                self._gl = mujoco.GLContext(_FIRST_SIZE, _FIRST_SIZE)
            self._gl.make_current()
        except GL_ERRORS as error:
            raise PluginError(GL_HELP.format(reason=error)) from error
        self._users += 1

    def use(self) -> None:
        """Make the context current."""
        if self._gl is not None:
            self._gl.make_current()

    def leave(self) -> None:
        """Be a user no longer."""
        self._users -= 1
        if self._users == 0 and self._gl is not None:
            self._gl.free()
            self._gl = None


class _Contexts(threading.local):
    """Each thread's own shared context: OpenGL binds a context to a thread."""

    def __init__(self) -> None:
        self.shared = _SharedContext()


_CONTEXTS = _Contexts()


class SceneRenderer:
    """Renders the cameras of one model, any size; what belongs to the model alone is made once."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._size = (int(model.vis.global_.offheight), int(model.vis.global_.offwidth))
        self._gl = _CONTEXTS.shared
        self._gl.take()
        try:
            self._context: mujoco.MjrContext | None = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except GL_ERRORS as error:
            self._gl.leave()
            raise PluginError(GL_HELP.format(reason=error)) from error
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
        self._gl.use()
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
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
        """Free what belongs to the model, and the OpenGL context with its last model; calling it again does nothing."""
        if self._context is not None:
            self._gl.use()
            self._context.free()
            self._gl.leave()
            self._context = None
