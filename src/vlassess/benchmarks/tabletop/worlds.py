"""Compiled scenes: every episode brings its own `Scene`, and scenes that come again are compiled once."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from typing import TYPE_CHECKING

from vlassess_link.errors import PluginError

from .scene import Scene

if TYPE_CHECKING:
    from .rendering import SceneRenderer
    from .simulation import Simulation

KEPT = 4
"""How many scenes stay compiled: a run's controls and cells come in turn, and compiling takes milliseconds."""

_GL_HELP = (
    "mujoco cannot be imported ({reason}); install `vlassess[sim]`, set MUJOCO_GL=egl, and where OpenGL is missing "
    "run: apt-get install -y --no-install-recommends libegl1 libegl-mesa0 libgl1-mesa-dri"
)


class World:
    """One compiled scene, with an OpenGL context from the first picture on.

    Attributes:
        scene: What was compiled.
        simulation: Its model and state.
    """

    def __init__(self, scene: Scene) -> None:
        try:
            module = importlib.import_module(".simulation", __package__)
        except (ImportError, AttributeError, OSError, RuntimeError) as error:
            raise PluginError(_GL_HELP.format(reason=error)) from error
        self.scene = scene
        self.simulation: Simulation = module.Simulation(scene)
        self._renderer: SceneRenderer | None = None

    def renderer(self) -> SceneRenderer:
        """Return what draws it, made on first use; PluginError where OpenGL cannot be used."""
        if self._renderer is None:
            module = importlib.import_module(".rendering", __package__)
            self._renderer = module.SceneRenderer(self.simulation.model)
        return self._renderer

    def close(self) -> None:
        """Free the OpenGL context; calling it again does nothing."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


class Worlds:
    """The last few worlds by scene; what falls out is closed."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._worlds: OrderedDict[Scene, World] = OrderedDict()

    def of(self, scene: Scene) -> World:
        """Return the world of a scene, compiled where it is not kept.

        Raises:
            PluginError: MuJoCo cannot be imported; says what to install.
        """
        world = self._worlds.get(scene)
        if world is None:
            while len(self._worlds) >= self._kept:
                self._worlds.popitem(last=False)[1].close()
            world = self._worlds[scene] = World(scene)
        self._worlds.move_to_end(scene)
        return world

    def close(self) -> None:
        """Close all of them; later ones are compiled anew."""
        while self._worlds:
            self._worlds.popitem()[1].close()
