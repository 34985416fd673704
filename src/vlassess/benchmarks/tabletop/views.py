"""Cameras as geometry: where they look, where they see a point, and the same camera elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .scene import Camera, Vector

Axes = tuple[Vector, Vector, Vector]


def camera_axes(camera: Camera) -> Axes:
    """Return (right, up, back) of a camera's frame, unit vectors in the frame that it is mounted in."""
    back = _unit(_minus(camera.position, camera.target))
    right = _unit(_cross(camera.up, back))
    return right, _cross(back, right), back


def project(camera: Camera, point: Vector) -> tuple[float, float]:
    """Return where a square picture shows a point, by the pinhole model: (right, up), both in [-1, 1] inside it.

    The point is in the frame that the camera is mounted in; one behind the camera is infinitely far outside.
    """
    away = _minus(point, camera.position)
    right, up, back = (_dot(axis, away) for axis in camera_axes(camera))
    if back >= 0.0:
        return math.inf, math.inf
    scale = 1.0 / (math.tan(math.radians(camera.fovy) / 2) * -back)
    return right * scale, up * scale


def shows(camera: Camera, points: tuple[Vector, ...], edge: float = 0.95) -> bool:
    """Return whether all points lie within this share of the picture."""
    return all(max(map(abs, project(camera, point))) <= edge for point in points)


def moved(camera: Camera, offset: np.ndarray, rotation: np.ndarray) -> Camera:
    """Return a camera that was shifted while it kept its aim, and was then turned.

    Args:
        camera: The camera.
        offset: Meters along its right, up and back.
        rotation: Axis-angle in radians, about the same axes.
    """
    shifted = replace(camera, position=_vector(camera.position + offset @ np.array(camera_axes(camera))))
    turned = _rotation(rotation) @ np.array(camera_axes(shifted))
    reach = math.dist(shifted.target, shifted.position)
    target = np.array(shifted.position) - reach * turned[2]
    return replace(shifted, target=_vector(target), up=_vector(turned[1]))


def _rotation(turn: np.ndarray) -> np.ndarray:
    """Return the matrix that turns the rows (right, up, back) about these same axes: Rodrigues' formula."""
    angle = float(np.sqrt(turn @ turn))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = turn / angle
    cross = np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
    return np.asarray((np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross).T)


def _vector(array: np.ndarray) -> Vector:
    x, y, z = array.tolist()
    return (x, y, z)


def _minus(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _unit(a: Vector) -> Vector:
    length = math.sqrt(a[0] ** 2 + a[1] ** 2 + a[2] ** 2)
    return (a[0] / length, a[1] / length, a[2] / length)
