"""A `Scene` as MJCF, MuJoCo's model language: pure text, no simulator needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .scene import OBJECT_FRICTION, Arm, Camera, Geom, Item, Light, Room, Scene
from .textures import PATTERNS, PIXELS
from .views import camera_axes

TIMESTEP = 0.002
"""Seconds per simulator step."""

FINGER_TRAVEL = 0.04
"""How far each finger opens from the middle, meters."""

FLAT, WRAPPED = "flat_", "wrapped_"
"""Stand before a pattern's name in its two materials."""

_PER_METER = "5 5"
_WORLD, _OBJECT, _ARM = 1, 2, 4
# What a hand holds creeps outwards while the hand swings, in proportion to the pads' contact time (solref), so
# that is the least that the time step allows: two steps. Damping is integrated explicitly, since the contact
# solver does not see implicit damping and the pads would slip further.
_HEADER = """<option timestep="{timestep}" integrator="Euler" cone="elliptic" impratio="10">
<flag eulerdamp="disable"/></option>
<compiler angle="radian" autolimits="true"/>
<size memory="4M"/>
<visual><quality shadowsize="0" offsamples="0" numslices="14" numstacks="8"/>
<global offwidth="128" offheight="128"/><map znear="0.01" zfar="20"/>
<headlight ambient="{ambient}" diffuse="{camera}" specular="0 0 0"/></visual>
<statistic center="0.4 0 0.1" extent="1"/>
<default><geom condim="4" friction="{friction}"/>
<default class="pad"><geom type="box" condim="4" friction="1.6 0.03 0.0005" priority="1" solref="0.004 1"/></default>
</default>"""
_ARM_GREY, _ARM_DARK, _ARM_ACCENT = "0.86 0.87 0.89 1", "0.20 0.21 0.24 1", "0.90 0.52 0.13 1"


def scene_mjcf(scene: Scene) -> str:
    """Return the whole model; bodies carry the items' names, joints and sites their arm's prefix."""
    worldbody = [_room(scene.room)]
    worldbody += [_light(light) for light in scene.lights]
    worldbody += [_camera(camera) for camera in scene.cameras if camera.arm is None]
    worldbody += [_arm(arm, [camera for camera in scene.cameras if camera.arm == arm.prefix]) for arm in scene.arms]
    worldbody += [_item(item) for item in scene.items]
    sections = [
        _HEADER.format(
            timestep=TIMESTEP,
            friction=_text(OBJECT_FRICTION),
            ambient=_text(scene.glow.ambient),
            camera=_text(scene.glow.camera),
        ),
        f"<asset>{''.join(_patterns())}</asset>",
        f"<worldbody>{''.join(worldbody)}</worldbody>",
        f"<contact>{''.join(_exclusion(arm) for arm in scene.arms)}</contact>",
        f"<equality>{''.join(_coupling(arm) for arm in scene.arms)}</equality>",
        f"<actuator>{''.join(_actuators(arm) for arm in scene.arms)}</actuator>",
    ]
    return f'<mujoco model="tabletop">{"".join(sections)}</mujoco>'


def _text(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:.9g}" for number in numbers)


def _patterns() -> Iterator[str]:
    """Yield two materials a pattern: one laid flat in squares of a fixed size, one wrapped around a geom.

    The pixels of their textures come with `painting.draw_patterns`: MJCF itself could only read files.
    """
    for name in PATTERNS:
        yield f'<texture name="{FLAT}{name}" type="2d" builtin="flat" width="{PIXELS}" height="{PIXELS}"/>'
        yield f'<texture name="{WRAPPED}{name}" type="cube" builtin="flat" width="{PIXELS}" height="{PIXELS}"/>'
        yield f'<material name="{FLAT}{name}" texture="{FLAT}{name}" texuniform="true" texrepeat="{_PER_METER}"/>'
        yield f'<material name="{WRAPPED}{name}" texture="{WRAPPED}{name}"/>'


def _material(kind: str, pattern: str) -> str:
    return f'material="{kind}{pattern}" ' if pattern else ""


def _room(room: Room) -> str:
    thick = 0.02
    x, y, z = room.table_centre
    half = (*room.table_half, thick)
    solid = f'contype="{_WORLD}" conaffinity="{_OBJECT | _ARM}"'
    ghost = 'contype="0" conaffinity="0"'
    return (
        f'<geom name="table" type="box" pos="{_text((x, y, z - thick))}" size="{_text(half)}" '
        f'rgba="{_text(room.table)}" {_material(FLAT, room.table_pattern)}{solid}/>'
        f'<geom name="floor" type="box" pos="0 0 -0.8" size="3 3 0.01" rgba="{_text(room.floor)}" {ghost}/>'
        f'<geom name="wall" type="box" pos="-0.9 0 0.5" size="0.01 3 1.5" rgba="{_text(room.wall)}" '
        f"{ghost}/>{''.join(_geom(geom) for geom in room.backdrop)}"
    )


def _light(light: Light) -> str:
    return (
        f'<light directional="true" castshadow="false" dir="{_text(light.direction)}" ambient="0 0 0" '
        f'diffuse="{_text(light.diffuse * share for share in light.colour)}" specular="0.05 0.05 0.05"/>'
    )


def _camera(camera: Camera) -> str:
    right, up, _ = camera_axes(camera)
    place = f'pos="{_text(camera.position)}" xyaxes="{_text((*right, *up))}"'
    return f'<camera name="{camera.name}" {place} fovy="{camera.fovy:g}"/>'


def _item(item: Item) -> str:
    inner = "".join(_geom(geom) for geom in item.geoms)
    if item.free:
        return f'<body name="{item.name}"><freejoint name="{item.name}"/>{inner}</body>'
    return f'<body name="{item.name}" mocap="true">{inner}</body>'


def _geom(geom: Geom) -> str:
    touches = (_OBJECT, _WORLD | _OBJECT | _ARM) if geom.solid else (0, 0)
    return (
        f'<geom type="{geom.shape}" size="{_text(geom.size)}" pos="{_text(geom.position)}" '
        f'quat="{_text(geom.quaternion)}" rgba="{_text(geom.colour)}" mass="{geom.mass:g}" '
        f"{_material(WRAPPED, geom.pattern)}"
        f'contype="{touches[0]}" conaffinity="{touches[1]}"/>'
    )


def _arm(arm: Arm, cameras: list[Camera]) -> str:
    """Return a yaw-pitch-pitch arm with a pitch-roll-yaw wrist.

    This order keeps every pose with the hand pointing about downwards far from a singularity. Links are
    seen and have mass but touch nothing; hand and fingers do.
    """
    p = arm.prefix
    look = 'contype="0" conaffinity="0"'
    touch = f'contype="{_ARM}" conaffinity="{_WORLD | _OBJECT | _ARM}"'
    joint = '<joint name="{p}{name}" axis="{axis}" range="{low} {high}" armature="{armature}" damping="1"/>'

    def hinge(name: str, axis: str, reach: tuple[float, float], armature: float) -> str:
        return joint.format(p=p, name=name, axis=axis, low=reach[0], high=reach[1], armature=armature)

    eyes = "".join(_camera(camera) for camera in cameras)
    return f"""<body name="{p}base" pos="{_text(arm.base)}" gravcomp="1">
<geom type="cylinder" size="0.075 0.03" pos="0 0 0.03" rgba="{_ARM_DARK}" {look}/>
<geom type="cylinder" size="0.05 0.12" pos="0 0 0.16" rgba="{_ARM_GREY}" {look}/>
<body name="{p}shoulder" pos="0 0 0.32" gravcomp="1">{hinge("j1", "0 0 1", (-2.8, 2.8), 0.2)}
<geom type="cylinder" size="0.055 0.07" quat="0.7071068 0.7071068 0 0" rgba="{_ARM_ACCENT}" mass="0.8" {look}/>
<body name="{p}upper" gravcomp="1">{hinge("j2", "0 1 0", (-1.5, 1.6), 0.2)}
<geom type="capsule" size="0.038" fromto="0 0 0 0 0 0.4" rgba="{_ARM_GREY}" mass="1.2" {look}/>
<body name="{p}fore" pos="0 0 0.4" gravcomp="1">{hinge("j3", "0 1 0", (-1.0, 1.5), 0.2)}
<geom type="cylinder" size="0.045 0.05" quat="0.7071068 0.7071068 0 0" rgba="{_ARM_ACCENT}" mass="0.5" {look}/>
<geom type="capsule" size="0.032" fromto="0 0 0 0.4 0 0" rgba="{_ARM_GREY}" mass="0.8" {look}/>
<body name="{p}wrist1" pos="0.4 0 0" gravcomp="1">{hinge("j4", "0 1 0", (-2.4, 2.4), 0.1)}
<geom type="cylinder" size="0.036 0.04" quat="0.7071068 0.7071068 0 0" rgba="{_ARM_ACCENT}" mass="0.3" {look}/>
<body name="{p}wrist2" gravcomp="1">{hinge("j5", "1 0 0", (-1.1, 1.1), 0.1)}
<geom type="sphere" size="0.034" rgba="{_ARM_DARK}" mass="0.2" {look}/>
<body name="{p}hand" gravcomp="1">{hinge("j6", "0 0 1", (-2.9, 2.9), 0.1)}
<geom type="cylinder" size="0.026 0.025" pos="0 0 -0.04" rgba="{_ARM_GREY}" mass="0.2" {look}/>
<geom type="box" size="0.02 0.058 0.016" pos="0 0 -0.076" rgba="{_ARM_DARK}" mass="0.3" {touch}/>
<site name="{p}eef" pos="0 0 -0.14" quat="0 1 0 0" size="0.004" rgba="0 0 0 0"/>{eyes}
{_finger(p, "left", 1.0, touch)}{_finger(p, "right", -1.0, touch)}
</body></body></body></body></body></body></body>"""


def _finger(prefix: str, side: str, sign: float, touch: str) -> str:
    low, high = sorted((0.0, sign * FINGER_TRAVEL))
    return (
        f'<body name="{prefix}{side}_finger" pos="0 0 -0.092" gravcomp="1">'
        f'<joint name="{prefix}{side}_finger" type="slide" axis="0 1 0" range="{low} {high}" armature="0.2" '
        f'damping="2"/>'
        f'<geom name="{prefix}{side}_pad" class="pad" size="0.011 0.005 0.030" pos="0 {0.005 * sign:g} -0.030" '
        f'rgba="{_ARM_ACCENT}" mass="0.05" {touch}/></body>'
    )


def _coupling(arm: Arm) -> str:
    """Return what makes the fingers mirror each other, as one motor drives both in a real gripper."""
    p = arm.prefix
    return f'<joint joint1="{p}right_finger" joint2="{p}left_finger" polycoef="0 -1 0 0 0" solref="0.005 1"/>'


def _exclusion(arm: Arm) -> str:
    """Return that an arm's own fingers do not push each other: their joint limits already stop them."""
    return f'<exclude body1="{arm.prefix}left_finger" body2="{arm.prefix}right_finger"/>'


def _actuators(arm: Arm) -> str:
    p = arm.prefix
    stiff = {"j1": 2500, "j2": 3500, "j3": 2500, "j4": 800, "j5": 800, "j6": 800}
    joints = [
        f'<position name="{p}{name}" joint="{p}{name}" kp="{kp}" dampratio="1" forcerange="-150 150"/>'
        for name, kp in stiff.items()
    ]
    fingers = [
        f'<position name="{p}{side}_finger" joint="{p}{side}_finger" kp="1000" kv="30" forcerange="-25 25"/>'
        for side in ("left", "right")
    ]
    return "".join(joints + fingers)
