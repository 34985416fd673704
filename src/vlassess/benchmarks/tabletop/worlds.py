"""Compiled scenes: every episode brings its own `Scene`; scenes that move alike are compiled once, and painted."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from vlassess_link.errors import PluginError

from .scene import Geom, Item, Scene

if TYPE_CHECKING:
    from .painting import Painter
    from .rendering import SceneRenderer
    from .simulation import Simulation

KEPT = 24
"""How many scenes stay compiled: a run's controls and cells come in turn, and compiling takes milliseconds."""

_WHITE = (1.0, 1.0, 1.0, 1.0)

_GL_HELP = (
    "mujoco cannot be imported ({reason}); install `vlassess[sim]`, set MUJOCO_GL=egl, and where OpenGL is missing "
    "run: apt-get install -y --no-install-recommends libegl1 libegl-mesa0 libgl1-mesa-dri"
)


class World:
    """One compiled scene, with what draws it from the first picture on.

    Attributes:
        scene: What was compiled.
        simulation: Its model and state.
    """

    def __init__(self, scene: Scene) -> None:
        try:
            module = importlib.import_module(".simulation", __package__)
            painting = importlib.import_module(".painting", __package__)
        except (ImportError, AttributeError, OSError, RuntimeError) as error:
            raise PluginError(_GL_HELP.format(reason=error)) from error
        self.scene = scene
        self.simulation: Simulation = module.Simulation(scene)
        painting.draw_patterns(self.simulation.model)
        self._painter: Painter = painting.Painter(self.simulation.model, scene)
        self._renderer: SceneRenderer | None = None

    def renderer(self) -> SceneRenderer:
        """Return what draws it, made on first use; PluginError where OpenGL cannot be used."""
        if self._renderer is None:
            module = importlib.import_module(".rendering", __package__)
            self._renderer = module.SceneRenderer(self.simulation.model)
        return self._renderer

    def paint(self, scene: Scene) -> None:
        """Take the looks of a scene that moves like the compiled one."""
        self._painter.paint(scene)

    def close(self) -> None:
        """Free what draws it; calling it again does nothing."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


class Worlds:
    """The last few worlds by what moves in them; what falls out is closed.

    Args:
        base: The scene whose cameras and lights all are compiled with, before they are painted.
        kept: How many.
    """

    def __init__(self, base: Scene, kept: int = KEPT) -> None:
        self._base, self._kept = base, kept
        self._worlds: OrderedDict[Scene, World] = OrderedDict()
        self._latest: tuple[Scene, World] | None = None

    def of(self, scene: Scene) -> World:
        """Return the world of a scene, compiled where none that moves alike is kept.

        It has this scene's looks until the next call for one that moves alike.

        Raises:
            PluginError: MuJoCo cannot be imported; says what to install.
        """
        if self._latest is not None and self._latest[0] is scene:
            return self._latest[1]
        moving = mechanics(scene, self._base)
        world = self._worlds.get(moving)
        if world is None:
            while len(self._worlds) >= self._kept:
                self._worlds.popitem(last=False)[1].close()
            world = self._worlds[moving] = World(moving)
        self._worlds.move_to_end(moving)
        world.paint(scene)
        self._latest = (scene, world)
        return world

    def close(self) -> None:
        """Close all of them; later ones are compiled anew."""
        self._latest = None
        while self._worlds:
            self._worlds.popitem()[1].close()


def mechanics(scene: Scene, base: Scene) -> Scene:
    """Return what has to be compiled: a scene's own geoms and masses, with the cameras and lights of a base scene."""
    room = replace(base.room, backdrop=tuple(_bare(geom) for geom in scene.room.backdrop))
    items = tuple(_bare_item(item) for item in scene.items)
    return replace(scene, items=items, cameras=base.cameras, lights=base.lights, glow=base.glow, room=room)


@lru_cache(maxsize=256)
def _bare_item(item: Item) -> Item:
    return replace(item, geoms=tuple(_bare(geom) for geom in item.geoms))


def _bare(geom: Geom) -> Geom:
    return replace(geom, colour=_WHITE, pattern="")
