"""Puts the colours, patterns, lights and cameras of a scene onto a model that was compiled from another one.

What is only seen costs no compiling: a model serves every scene that moves alike. Where a scene agrees with the
compiled one, the model gets the compiler's own numbers back, so that what was painted before leaves no trace.
"""

from __future__ import annotations

import mujoco
import numpy as np

from .mjcf import FLAT, WRAPPED
from .scene import Camera, Geom, Room, Scene
from .textures import PATTERNS, pattern
from .views import camera_axes

_TABLE, _WALL, _FLOOR = "table", "wall", "floor"


class Painter:
    """Paints one model.

    Args:
        model: Compiled from ``scene``; its looks are changed in place.
        scene: What was compiled; see `worlds.mechanics`.
    """

    def __init__(self, model: mujoco.MjModel, scene: Scene) -> None:
        self._model, self._scene = model, scene
        self._painted: Scene | None = None
        self._first = {item.name: int(model.body(item.name).geomadr[0]) for item in scene.items}
        self._room = {name: int(model.geom(name).id) for name in (_TABLE, _WALL, _FLOOR)}
        self._backdrop = self._room[_WALL] + 1
        self._cameras = {camera.name: int(model.camera(camera.name).id) for camera in scene.cameras}
        self._materials = {
            kind + name: int(model.material(kind + name).id) for kind in (FLAT, WRAPPED) for name in PATTERNS
        }
        self._camera_poses = [array.copy() for array in (model.cam_pos, model.cam_quat)]
        self._lights = [array.copy() for array in (model.light_dir, model.light_diffuse)]

    def paint(self, scene: Scene) -> None:
        """Give the model a scene's looks; the scene must have the mechanics that were compiled."""
        if scene == self._painted:
            return
        for item in scene.items:
            self._paint_geoms(self._first[item.name], item.geoms)
        self._paint_room(scene.room)
        self._place_cameras(scene.cameras)
        self._light(scene)
        self._painted = scene

    def _paint_geoms(self, first: int, geoms: tuple[Geom, ...]) -> None:
        for number, geom in enumerate(geoms, first):
            self._model.geom_rgba[number] = geom.colour
            self._model.geom_matid[number] = self._material(WRAPPED, geom.pattern)

    def _paint_room(self, room: Room) -> None:
        for name, colour in ((_TABLE, room.table), (_WALL, room.wall), (_FLOOR, room.floor)):
            self._model.geom_rgba[self._room[name]] = colour
        self._model.geom_matid[self._room[_TABLE]] = self._material(FLAT, room.table_pattern)
        self._paint_geoms(self._backdrop, room.backdrop)

    def _material(self, kind: str, name: str) -> int:
        return self._materials[kind + name] if name else -1

    def _place_cameras(self, cameras: tuple[Camera, ...]) -> None:
        positions, quaternions = self._camera_poses
        for camera, compiled in zip(cameras, self._scene.cameras, strict=True):
            number = self._cameras[camera.name]
            self._model.cam_pos[number], self._model.cam_quat[number] = positions[number], quaternions[number]
            if camera != compiled:
                self._model.cam_pos[number] = camera.position
                mujoco.mju_mat2Quat(self._model.cam_quat[number], np.array(camera_axes(camera)).T.ravel())

    def _light(self, scene: Scene) -> None:
        directions, diffuse = self._lights
        for number, (light, compiled) in enumerate(zip(scene.lights, self._scene.lights, strict=True)):
            self._model.light_dir[number], self._model.light_diffuse[number] = directions[number], diffuse[number]
            if light != compiled:
                direction = np.array(light.direction)
                self._model.light_dir[number] = direction / np.sqrt(direction @ direction)
                self._model.light_diffuse[number] = [light.diffuse * share for share in light.colour]
        self._model.vis.headlight.ambient = scene.glow.ambient
        self._model.vis.headlight.diffuse = scene.glow.camera


def draw_patterns(model: mujoco.MjModel) -> None:
    """Fill the model's textures; before its first picture."""
    for name in PATTERNS:
        gray = np.repeat(pattern(name).ravel(), 3)
        for kind, faces in ((FLAT, 1), (WRAPPED, 6)):
            begin = int(model.tex_adr[model.texture(kind + name).id])
            model.tex_data[begin : begin + faces * gray.size] = np.tile(gray, faces)
