"""The expert's geometry on scenes of plain shapes: where it grasps, and what it keeps clear of."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess_link import Policy
from vlassess_link.loading import load_class

FOLDER = Path(__file__).parents[3] / "src" / "vlassess" / "benchmarks" / "libero"
PACKAGE = load_class(f"{FOLDER / 'experts.py'}:Expert", Policy).__module__.rpartition(".")[0]
geometry = importlib.import_module(f"{PACKAGE}.geometry")
routine = importlib.import_module(f"{PACKAGE}.routine")

RADIUS, HEIGHT = 0.05, 0.04


def bowl(name: str, pos: str, euler: str = "0 0 0") -> str:
    walls = "".join(
        f'<geom type="box" size="0.001 0.01 {HEIGHT / 2}" '
        f'pos="{RADIUS * math.cos(a)} {RADIUS * math.sin(a)} {HEIGHT / 2}" euler="0 0 {math.degrees(a)}"/>'
        for a in np.linspace(0, 2 * math.pi, 16, endpoint=False)
    )
    return f'<body name="{name}" pos="{pos}" euler="{euler}"><freejoint/>{walls}</body>'


def scene(*bodies: str, hand: str = "0 0 0") -> Any:
    robot = f"<body name='robot0_base'><site name='hand' pos='{hand}'/></body>"
    xml = f"<mujoco><worldbody>{robot}{''.join(bodies)}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    names = {model.body(i).name: i for i in range(1, model.nbody)}
    sim = SimpleNamespace(model=SimpleNamespace(_model=model), data=SimpleNamespace(_data=data))
    robots = [SimpleNamespace(eef_site_id=model.site("hand").id)]
    return geometry.Scene(SimpleNamespace(sim=sim, obj_body_id=names, object_sites_dict={}, robots=robots))


def upright(name: str, pos: str, size: str) -> str:
    return f'<body name="{name}" pos="{pos}"><geom type="box" size="{size}"/></body>'


@pytest.mark.parametrize("euler", ["0 0 0", "0 0 30", "12 0 0"])
def test_a_bowl_is_held_at_its_wall_even_where_it_leans(euler: str) -> None:
    found = scene(bowl("bowl", "0.3 0.1 0.9", euler))
    origin, rotation = found.pose("bowl")
    grasps = geometry.rim_grasps(found, "bowl")
    assert len(grasps) == geometry.RIM_ANGLES
    for grasp in grasps:
        local = rotation.T @ (grasp.point - origin)
        assert np.linalg.norm(local[:2]) == pytest.approx(RADIUS, abs=0.004)
        assert 0 < local[2] < HEIGHT


def test_fingers_close_across_the_wall() -> None:
    for grasp in geometry.rim_grasps(scene(bowl("bowl", "0 0 0")), "bowl"):
        across = np.array([-math.sin(grasp.yaw), math.cos(grasp.yaw)])
        outward = grasp.point[:2] / np.linalg.norm(grasp.point[:2])
        assert abs(across @ outward) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_side_with_room_for_the_hand_comes_first(side: float) -> None:
    """A tall box stands beside the bowl, along the direction in which unturned fingers close."""
    box = f'<body name="box" pos="0 {0.13 * side} 0.1"><geom type="box" size="0.1 0.03 0.1"/></body>'
    best = geometry.rim_grasps(scene(bowl("bowl", "0 0 0"), box), "bowl")[0]
    assert best.point[1] * side < 0


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_it_is_held_where_the_hand_has_room_to_let_go(side: float) -> None:
    """Nothing stands beside the bowl, but beside the plate."""
    plate = upright("plate", "0.4 0 0.01", "0.06 0.06 0.01")
    cabinet = upright("cabinet", f"0.4 {0.18 * side} 0.15", "0.2 0.06 0.15")
    found = scene(bowl("bowl", "0 0 0"), plate, cabinet)
    grasp = routine._grasp(found, "bowl", ("plate", False), 0)
    assert grasp.point[1] * side < 0
    there = geometry.Grasp(grasp.point + np.array([0.4, 0.0, 0.02]), grasp.yaw)
    assert geometry.hand_room(found, there, "bowl") >= routine.WAY_GAP


@given(st.floats(0.02, 0.5))
def test_what_is_carried_goes_over_what_stands_between(height: float) -> None:
    """A pole stands in the straight way of a bowl whose foot is 0.1 above the table."""
    pole = upright("pole", f"0.25 0.05 {height / 2}", f"0.01 0.01 {height / 2}")
    found = scene(bowl("bowl", "0 0.05 0.1"), pole, hand="0 0 0.14")
    rise = routine._rise(found, "bowl", 0.0, np.array([0.5, 0.0, 0.14]))
    assert rise[:2].tolist() == [0.0, 0.0]
    assert 0.1 + rise[2] >= height + routine.WAY_GAP - 1e-9
    assert rise[2] <= max(0.0, height - 0.1) + routine.WAY_GAP + routine.RAISE


def test_a_free_way_is_not_raised() -> None:
    found = scene(bowl("bowl", "0 0.05 0.1"), hand="0 0 0.14")
    assert routine._rise(found, "bowl", 0.0, np.array([0.5, 0.0, 0.14])).tolist() == [0.0, 0.0, 0.0]


def test_a_long_box_is_held_across_its_narrow_way() -> None:
    box = '<body name="box" pos="0.2 0 0.03" euler="0 0 40"><freejoint/><geom type="box" size="0.06 0.02 0.03"/></body>'
    grasp = geometry.body_grasps(scene(box), "box")[0]
    assert grasp.point[:2] == pytest.approx([0.2, 0.0], abs=1e-6)
    assert 0.0 < grasp.point[2] < 0.06
    # Its narrow way is at 130 degrees; unturned fingers close along 90.
    assert math.degrees(grasp.yaw) == pytest.approx(40, abs=12)


@given(st.floats(-10, 10))
def test_a_turn_is_a_quarter_at_most_and_brings_the_fingers_there(angle: float) -> None:
    turn = geometry._least_turn(angle)
    assert abs(turn) <= math.pi / 2 + 1e-9
    assert math.sin(turn + math.pi / 2 - angle) == pytest.approx(0.0, abs=1e-9)


@given(st.tuples(*[st.floats(-1, 1)] * 3), st.floats(0.01, 3.0))
def test_axis_and_angle_come_out_of_their_matrix(axis: tuple[float, ...], angle: float) -> None:
    length = math.sqrt(sum(value**2 for value in axis))
    if length < 0.1:
        return
    vector = np.array(axis) / length * angle
    matrix, quaternion = np.zeros(9), np.zeros(4)
    mujoco.mju_axisAngle2Quat(quaternion, vector / angle, angle)
    mujoco.mju_quat2Mat(matrix, quaternion)
    assert routine.axis_angle(matrix.reshape(3, 3)) == pytest.approx(vector, abs=1e-5)
