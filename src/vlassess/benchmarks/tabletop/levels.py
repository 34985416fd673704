"""The axes of the tabletop as they are declared: levels from mild to strong, their parameters, what they may change.

Pure data: `axes.py` reads the parameters and does what they say.
"""

from __future__ import annotations

from functools import lru_cache

from vlassess_link.specs import CAMERA, Axis, Level

from .scene import Camera
from .shapes import CATEGORIES, distractor_name
from .tasks import OBJECTS

INSTRUCTION = "instruction"
MOST_DISTRACTORS = 8

TARGETS = tuple(name for name, _ in OBJECTS)
"""Components that an axis of the target may change; in an episode only its own target's changes."""

DISTRACTOR_NAMES = tuple(distractor_name(number) for number in range(1, MOST_DISTRACTORS + 1))


@lru_cache(maxsize=4)
def declared_axes(cameras: tuple[Camera, ...]) -> tuple[Axis, ...]:
    """Return the axes of a benchmark with these cameras."""
    every = tuple(CAMERA + camera.name for camera in cameras)
    return (
        _object_instance(every),
        Axis(
            "object_category",
            tuple(Level(name, {"shape": name, "words": shape.words}) for name, shape in CATEGORIES.items()),
            (*TARGETS, *every, INSTRUCTION),
            excludes=("object_instance",),
        ),
        _background(every),
        _lighting(every),
        Axis(
            "distractors",
            tuple(Level(str(count), {"count": count}) for count in (1, 2, 4, MOST_DISTRACTORS)),
            (*DISTRACTOR_NAMES, *every),
        ),
        _camera_pose(cameras),
        Axis(
            "language",
            tuple(Level(name, {"wording": name}) for name in ("seen", "unseen", "paraphrase", "referring")),
            (INSTRUCTION,),
        ),
        Axis(
            "initial_state",
            (Level("border", {"beyond": [0.010, 0.035]}), Level("outside", {"beyond": [0.045, 0.080]})),
            (*TARGETS, *every),
            control="unpaired",
        ),
    )


def _object_instance(cameras: tuple[str, ...]) -> Axis:
    shares = [0.76, 1.28]
    return Axis(
        "object_instance",
        (
            Level("shade", {"shade": True}, touched=cameras),
            Level("texture", {"texture": True}, touched=cameras),
            Level("size", {"shares": shares}, touched=(*TARGETS, *cameras)),
            Level("colour", {"colour": True}, touched=(*cameras, INSTRUCTION)),
            Level("all", {"texture": True, "shares": shares, "colour": True}),
        ),
        (*TARGETS, *cameras, INSTRUCTION),
    )


def _background(cameras: tuple[str, ...]) -> Axis:
    return Axis(
        "background",
        (
            Level("wall", {"wall": True}),
            Level("table_colour", {"table": True}),
            Level("table_texture", {"table": True, "texture": True}),
            Level("backdrop", {"wall": True, "panels": 6}),
            Level("room", {"wall": True, "panels": 6, "table": True, "texture": True}),
        ),
        cameras,
    )


def _lighting(cameras: tuple[str, ...]) -> Axis:
    return Axis(
        "lighting",
        (
            Level("direction", {"turn": [80.0, 140.0]}),
            Level("colour", {"tint": 0.30}),
            Level("dim", {"strength": 0.45}),
            Level("harsh", {"turn": [80.0, 140.0], "tint": 0.45, "strength": 0.35, "direct": 4.0}),
        ),
        cameras,
    )


def _camera_pose(cameras: tuple[Camera, ...]) -> Axis:
    standing = tuple(camera.name for camera in cameras if camera.arm is None)
    carried = tuple(camera.name for camera in cameras if camera.arm is not None)
    steps = {
        "near": (standing, 0.04, 3.0),
        "mid": (standing, 0.10, 7.0),
        "far": (standing, 0.20, 12.0),
        "wrist_near": (carried, 0.006, 4.0),
        "wrist_mid": (carried, 0.015, 9.0),
        "wrist_far": (carried, 0.030, 16.0),
    }
    return Axis(
        "camera_pose",
        tuple(
            Level(
                name,
                {"cameras": list(names), "offset_m": offset, "rotation_deg": rotation},
                touched=tuple(CAMERA + camera for camera in names),
            )
            for name, (names, offset, rotation) in steps.items()
        ),
        tuple(CAMERA + camera.name for camera in cameras),
    )
