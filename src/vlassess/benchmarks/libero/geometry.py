"""Where things are and where they can be grasped, from the simulator's collision shapes; for the expert alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

MESH = 7
"""MuJoCo's number of a mesh geom."""
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
RIM_ANGLES = 16
WIDEST = 0.075
"""Meters that fit between the open fingers."""
FINGER = 0.045
"""Meters from the middle of a gripped wall to the middle of an open finger on either side."""
PALM, PALM_HALF = 0.09, 0.09
"""Meters from the fingertips up to the hand's broad part, and half its width."""
TURN_COST = 0.004
"""Meters of clearance or width that a turn of one radian must gain."""
RIM_SPREAD = 0.01
"""Meters below the highest point within which the shapes of the wall end."""
GRIP_DEPTH = 0.035
FLOOR_GAP = 0.012


@dataclass(frozen=True)
class Grasp:
    """A way to take hold from above.

    Attributes:
        point: Where the middle between the fingertips goes, in the world, in meters.
        yaw: How far the hand is turned about the world's z from where its fingers close along y, in radians.
    """

    point: np.ndarray
    yaw: float


class Scene:
    """Reads positions and shapes of the present state.

    Args:
        env: robosuite's environment.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self._model = env.sim.model._model
        self._data = env.sim.data._data

    @property
    def hand(self) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3) and rotation matrix (3, 3) of the middle between the fingertips."""
        site = self.env.robots[0].eef_site_id
        return self._data.site_xpos[site].copy(), self._data.site_xmat[site].reshape(3, 3).copy()

    def position(self, name: str) -> np.ndarray:
        """Return where an object, a fixture or a region is."""
        if name in self.env.object_sites_dict:
            return np.array(self.env.sim.data.get_site_xpos(name))
        return np.array(self._data.xpos[self.env.obj_body_id[name]])

    def pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return an object's position (3) and rotation matrix (3, 3)."""
        body = self.env.obj_body_id[name]
        return self._data.xpos[body].copy(), self._data.xmat[body].reshape(3, 3).copy()

    def parent(self, name: str) -> str:
        """Return the object whose region this is, or its own name."""
        region = self.env.object_sites_dict.get(name)
        return name if region is None or region.parent_name is None else str(region.parent_name)

    def shapes(self, name: str) -> list[np.ndarray]:
        """Return (points, 3) of each collision shape of an object: a mesh's vertices, else the corners of its box."""
        return [self._points(geom) for geom in self._solid() if self._root(geom) == self.env.obj_body_id[name]]

    def top(self, name: str) -> float:
        """Return the height of an object's highest point."""
        return float(max(points[:, 2].max() for points in self.shapes(name)))

    def bottom(self, name: str) -> float:
        """Return the height of an object's lowest point."""
        return float(min(points[:, 2].min() for points in self.shapes(name)))

    def foot(self, name: str) -> np.ndarray:
        """Return the middle and the corners, (5, 3), of the lowest face of the upright box around an object."""
        points = np.concatenate(self.shapes(name))
        low, high = points.min(axis=0), points.max(axis=0)
        corners = [[x, y, low[2]] for x in (low[0], high[0]) for y in (low[1], high[1])]
        return np.array([np.mean(corners, axis=0), *corners])

    def clearance(self, point: np.ndarray, ignored: tuple[str, ...]) -> float:
        """Return the distance from a point to the nearest box around a solid shape of another thing, 0 inside."""
        robot = {self._model.body_rootid[self._model.body("robot0_base").id]}
        left_out = {self.env.obj_body_id[name] for name in ignored} | robot
        nearest = math.inf
        for geom in self._solid():
            if self._root(geom) in left_out:
                continue
            centre, half = self._model.geom_aabb[geom, :3], self._model.geom_aabb[geom, 3:]
            rotation = self._data.geom_xmat[geom].reshape(3, 3)
            local = rotation.T @ (point - self._data.geom_xpos[geom]) - centre
            nearest = min(nearest, float(np.linalg.norm(np.maximum(np.abs(local) - half, 0.0))))
        return nearest

    def _solid(self) -> list[int]:
        return [int(i) for i in np.flatnonzero((self._model.geom_contype | self._model.geom_conaffinity) != 0)]

    def _root(self, geom: int) -> int:
        return int(self._model.body_rootid[self._model.geom_bodyid[geom]])

    def _points(self, geom: int) -> np.ndarray:
        if self._model.geom_type[geom] == MESH:
            mesh = self._model.geom_dataid[geom]
            begin = self._model.mesh_vertadr[mesh]
            local = self._model.mesh_vert[begin : begin + self._model.mesh_vertnum[mesh]].astype(np.float64)
        else:
            local = self._model.geom_aabb[geom, :3] + CORNERS * self._model.geom_aabb[geom, 3:]
        return np.asarray(local @ self._data.geom_xmat[geom].reshape(3, 3).T + self._data.geom_xpos[geom])


def rim_grasps(scene: Scene, name: str) -> list[Grasp]:
    """Return grasps of a bowl's wall, fingers across it; the best, with room and little turning, comes first."""
    origin, rotation = scene.pose(name)
    # In the bowl's own frame: one that leans, in a drawer or on a ramekin, has a high and a low side.
    shapes = [(points - origin) @ rotation for points in scene.shapes(name)]
    top = max(points[:, 2].max() for points in shapes)
    wall = np.array([points.mean(axis=0) for points in shapes if points[:, 2].max() > top - RIM_SPREAD])
    centre = origin + rotation @ ((wall.max(axis=0) + wall.min(axis=0)) / 2)
    radius = float(np.linalg.norm(wall[:, :2] - wall[:, :2].mean(axis=0), axis=1).mean())
    found = []
    for angle in np.arange(RIM_ANGLES) * (2 * math.pi / RIM_ANGLES):
        outward = np.array([math.cos(angle), math.sin(angle), 0.0])
        point = centre + radius * outward
        yaw = _least_turn(angle)
        outside = point + FINGER * outward
        fingers = min(scene.clearance(outside + up, (name,)) for up in (np.zeros(3), np.array([0.0, 0.0, 0.03])))
        room = min(fingers, hand_room(scene, Grasp(point, yaw), name))
        found.append((min(room, 0.03) - TURN_COST * abs(yaw), Grasp(point, yaw)))
    return [grasp for _, grasp in sorted(found, key=lambda pair: -pair[0])]


def hand_room(scene: Scene, grasp: Grasp, name: str) -> float:
    """Return the least distance of anything but a thing from the hand that holds it: broad along its fingers' way."""
    across = np.array([-math.sin(grasp.yaw), math.cos(grasp.yaw), 0.0])
    places = (grasp.point + side * across + np.array([0.0, 0.0, PALM]) for side in (-PALM_HALF, 0.0, PALM_HALF))
    return min(scene.clearance(place, (name,)) for place in places)


def body_grasps(scene: Scene, name: str) -> list[Grasp]:
    """Return grasps around an object, the narrowest first: fingers on two of its sides, as deep as they reach."""
    shapes = scene.shapes(name)
    low, high = scene.bottom(name), scene.top(name)
    height = max((low + high) / 2, high - GRIP_DEPTH, low + FLOOR_GAP)
    level = [points for points in shapes if points[:, 2].min() < height + 0.01 and points[:, 2].max() > height - 0.01]
    points = np.concatenate(level or shapes)[:, :2]
    found = []
    for angle in np.arange(RIM_ANGLES) * (math.pi / RIM_ANGLES):
        axes = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        low_sides, high_sides = (points @ axes.T).min(axis=0), (points @ axes.T).max(axis=0)
        width, yaw = float(high_sides[0] - low_sides[0]), _least_turn(angle)
        place = (low_sides + high_sides) / 2 @ axes
        cost = width + 10 * max(width - WIDEST, 0.0) + TURN_COST * abs(yaw)
        found.append((cost, Grasp(np.array([*place, height]), yaw)))
    return [grasp for _, grasp in sorted(found, key=lambda pair: pair[0])]


def _least_turn(angle: float) -> float:
    """Return the turn, a quarter at most, after which the fingers close along a direction instead of along y."""
    return (angle - math.pi / 2 + math.pi / 2) % math.pi - math.pi / 2
