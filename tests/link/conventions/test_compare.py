"""Which pairs fit, and what is said of each; every mismatch that a spec can declare is converted or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess_link.conventions.compare import check, plan, undeclared_by_benchmark, undeclared_by_policy
from vlassess_link.conventions.findings import COMPATIBLE, CONVERTIBLE, INCOMPATIBLE
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.specs import (
    BenchmarkSpec,
    CameraSpec,
    ImageConvention,
    PolicyIdentity,
    PolicySpec,
    TaskSpec,
)

POSITION = Component("eef_position", "position", 3, "absolute", "base", unit="meter", source="site")
ROTATION = Component(
    "eef_rotation", "rotation", 3, "absolute", "base", rotation="axis_angle_2pi", unit="radian", source="site"
)
FINGERS = Component("fingers", "joints", 2, "absolute", "joint", unit="meter", source="joints")
STATE = Layout((POSITION, ROTATION, FINGERS))
ACTION = end_effector_delta()
FRONT = CameraSpec("front", ((128, 128), (224, 224)))


def benchmark_of(**changes: Any) -> BenchmarkSpec:
    fields: dict[str, Any] = {
        "id": "bench",
        "version": "1",
        "tasks": (TaskSpec("s", "t", 10, "do it"),),
        "action": ACTION,
        "cameras": (FRONT,),
        "state": STATE,
        **changes,
    }
    return BenchmarkSpec(**fields)


def policy_of(**changes: Any) -> PolicySpec:
    return PolicySpec(PolicyIdentity("p"), **{"action": ACTION, "state": STATE, **changes})


def with_component(layout: Layout, name: str, **changes: Any) -> Layout:
    return replace(
        layout,
        components=tuple(replace(one, **changes) if one.name == name else one for one in layout.components),
    )


def test_equal_declarations_are_compatible_and_nothing_is_touched() -> None:
    found = plan(policy_of(control_rate_hz=20.0), benchmark_of())
    assert (found.fit.verdict, found.fit.conversions, found.fit.reasons, found.fit.unchecked) == (
        COMPATIBLE,
        (),
        (),
        (),
    )
    assert (found.images, found.state, found.action) == ({}, None, None)


CONVERTED: dict[str, tuple[dict[str, Any], str]] = {
    "antipodal flip": (
        {"state": with_component(STATE, "eef_rotation", rotation="axis_angle_pi")},
        "state 'eef_rotation': axis_angle_2pi becomes axis_angle_pi",
    ),
    "quaternion": (
        {"state": with_component(STATE, "eef_rotation", rotation="quaternion_wxyz", size=4)},
        "state 'eef_rotation': axis_angle_2pi becomes quaternion_wxyz (radians to no unit)",
    ),
    "degrees": (
        {"state": with_component(STATE, "eef_rotation", unit="degree")},
        "state 'eef_rotation': radians become degrees",
    ),
    "one component": ({"state": Layout((FINGERS,))}, "state: numbers 6-7 of 8 are taken, in this order"),
    "another order": ({"state": Layout((FINGERS, POSITION))}, "state: numbers 6-7, 0-2 of 8 are taken, in this order"),
    "euler actions": (
        {"action": with_component(ACTION, "rotation", rotation="euler_xyz")},
        "action 'rotation': euler_xyz becomes axis_angle_pi",
    ),
    "actions in meters": (
        {"action": with_component(ACTION, "position", unit="meter", scale=None, low=-0.05, high=0.05)},
        "action 'position': meters become units of 0.05",
    ),
    "gripper sign": (
        {"action": with_component(ACTION, "gripper", gripper="positive_opens")},
        "action 'gripper': positive opens becomes positive closes",
    ),
    "gripper range and sign": (
        {"action": with_component(ACTION, "gripper", gripper="positive_opens", low=0.0, threshold=0.5)},
        "action 'gripper': positive opens becomes positive closes, [0, 1] becomes [-1, 1]",
    ),
    "gripper threshold": (
        {"action": with_component(ACTION, "gripper", low=0.0, threshold=0.7)},
        "action 'gripper': split at 0.7 into two values (0.7 itself opens), [0, 1] becomes [-1, 1]",
    ),
    "colour": ({"image": ImageConvention("bgr")}, "camera 'front': rgb becomes bgr"),
    "orientation": ({"image": ImageConvention("rgb", "rotated_180")}, "camera 'front': upright becomes rotated_180"),
    "crop": (
        {"image": ImageConvention(crop=0.9, resize="bilinear")},
        "camera 'front': the middle 0.9 of each side is cut out, resized back by bilinear",
    ),
    "size": (
        {"image": ImageConvention(resize="area"), "image_size": (64, 96)},
        "camera 'front': 128x128 is resized to 64x96 by area; proportions change",
    ),
    "floats": ({"image_dtypes": ("float32",)}, "images: bytes become float32 on the same scale, [0, 255]"),
}


@pytest.mark.parametrize("case", CONVERTED)
def test_what_can_be_converted_is_listed(case: str) -> None:
    changes, words = CONVERTED[case]
    fit = check(policy_of(**changes), benchmark_of())
    assert fit.verdict == CONVERTIBLE, fit
    assert words in fit.conversions
    assert fit.reasons == ()


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "absolute for delta": (
        {"action": with_component(ACTION, "position", mode="absolute")},
        {},
        "action 'position' is absolute on one side and delta on the other: never converted",
    ),
    "state source": (
        {"state": with_component(STATE, "eef_position", source="controller")},
        {},
        "the policy reads the state 'eef_position' from 'controller', and the benchmark takes it from 'site'",
    ),
    "missing state field": (
        {"state": Layout((*STATE.components, Component("eef_pose", "position", 3)))},
        {},
        "the policy reads the state 'eef_pose' (position), which the benchmark has not; it has eef_position (position)",
    ),
    "no state": ({}, {"state": None}, "and the benchmark has none"),
    "frame": (
        {"action": with_component(ACTION, "rotation", frame="end_effector")},
        {},
        "action 'rotation' is in the frame 'end_effector' on one side and 'base' on the other",
    ),
    "too few actions": (
        {"action": Layout(ACTION.components[:2])},
        {},
        "the benchmark takes the action component 'gripper' (gripper), which the policy does not give",
    ),
    "too many actions": (
        {},
        {"action": Layout(ACTION.components[:2])},
        "the policy gives the action component 'gripper' (gripper), which the benchmark does not take",
    ),
    "no such camera": ({"cameras": ("wrist",)}, {}, "the policy looks at camera 'wrist', and the benchmark has front"),
    "no such size": (
        {"image_size": (96, 96)},
        {},
        "the policy wants camera 'front' at 96x96, and the benchmark offers",
    ),
    "crop without a method": ({"image": ImageConvention(crop=0.9)}, {}, "name how it is resized back"),
    "cropped already": (
        {},
        {"cameras": (replace(FRONT, image=ImageConvention(crop=0.9)),)},
        "camera 'front' is cropped to 0.9 of each side; the policy expects 1",
    ),
    "resized otherwise": (
        {"image": ImageConvention(resize="bilinear")},
        {"cameras": (replace(FRONT, image=ImageConvention(resize="area")),)},
        "camera 'front' was resized by area; the policy expects bilinear",
    ),
    "control rate": ({"control_rate_hz": 5.0}, {}, "meant for 5 Hz, and the benchmark steps at 20 Hz"),
    "meters and radians": (
        {"state": with_component(STATE, "fingers", unit="radian")},
        {},
        "state 'fingers' is in meters on one side and radians on the other",
    ),
    "wrong size of a form": (
        {"state": with_component(STATE, "eef_rotation", rotation="matrix")},
        {},
        "has 3 numbers; a rotation as matrix has 9",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_converted_is_refused_with_the_reason(case: str) -> None:
    mine, theirs, words = REFUSED[case]
    fit = check(policy_of(**mine), benchmark_of(**theirs))
    assert fit.verdict == INCOMPATIBLE
    assert any(words in reason for reason in fit.reasons), fit.reasons


JOINTS = Component("arm", "joints", 2, "absolute", "joint", unit="normalized", scale=0.5, source="joints")


@pytest.mark.parametrize(
    ("mine", "theirs", "factor", "words"),
    [
        ({"unit": "radian", "scale": None}, {}, 0.5, "radians is assumed"),
        ({"unit": "degree", "scale": None}, {}, np.rad2deg(0.5), "radians is assumed"),
        ({"unit": "meter", "scale": None}, {}, 0.5, "meters is assumed"),
        ({"scale": 0.25}, {}, 2.0, "the same on both sides is assumed"),
        ({}, {}, 1.0, None),
        ({"unit": "meter", "scale": 0.1}, {"unit": "meter", "scale": None}, 1.0, None),
    ],
)
def test_a_normalized_unit_that_hides_meters_or_radians_is_said(
    mine: dict[str, Any], theirs: dict[str, Any], factor: float, words: str | None
) -> None:
    found = plan(
        policy_of(state=Layout((replace(JOINTS, **mine),))), benchmark_of(state=Layout((replace(JOINTS, **theirs),)))
    )
    assert found.fit.reasons == ()
    assert [words in sentence for sentence in found.fit.unchecked if words is not None] == ([True] if words else [])
    assert (found.state is None) == (factor == 1.0)
    if found.state is not None:
        np.testing.assert_allclose(found.state(np.ones(2)), [factor, factor])


def test_normalized_units_of_two_quantities_never_meet() -> None:
    """A position's scale is in meters and a rotation's in radians, so these need no word."""
    scaled = with_component(ACTION, "position", scale=0.1, low=-0.5, high=0.5)
    assert check(policy_of(action=scaled), benchmark_of()).unchecked == ()
    wide = check(policy_of(action=with_component(ACTION, "position", scale=0.1)), benchmark_of()).unchecked
    assert wide == (
        "action 'position': the policy's range [-1.0, 1.0] becomes [-2, 2], which reaches beyond the benchmark's "
        "[-1.0, 1.0]",
    )
    bare = Layout((replace(JOINTS, scale=None),))
    fit = check(policy_of(state=bare), benchmark_of(state=Layout((JOINTS,))))
    assert any("declare `scale`" in reason for reason in fit.reasons)
    turned = with_component(ACTION, "rotation", rotation="euler_xyz", scale=None)
    fit = check(policy_of(action=turned), benchmark_of())
    assert any("no `scale` of a normalized one" in reason for reason in fit.reasons)


def test_every_reason_is_given_at_once() -> None:
    wrong = policy_of(
        cameras=("wrist", "head"), action=with_component(ACTION, "position", mode="absolute"), control_rate_hz=1.0
    )
    assert len(check(wrong, benchmark_of()).reasons) == 4


def test_a_policy_that_declares_nothing_is_told_what_cannot_be_checked() -> None:
    fit = check(PolicySpec(PolicyIdentity("p")), benchmark_of())
    assert fit.verdict == COMPATIBLE
    text = " ".join(fit.unchecked)
    for word in ("delta or absolute", "frame", "rotation form", "gripper sign", "units", "control rate", "source"):
        assert word in text
    assert "position, rotation, gripper" in text


def test_a_policy_that_declares_that_it_means_nothing_is_believed() -> None:
    baseline = PolicySpec(PolicyIdentity("p"), cameras=(), state=Layout(()), action=Layout(()))
    found = plan(baseline, benchmark_of())
    assert found.fit.verdict == COMPATIBLE
    assert found.fit.unchecked == ()
    assert found.drops_state
    assert found.action_size is None


def test_a_field_that_one_side_leaves_open_is_named() -> None:
    vague = Layout((Component("position", "position", 3), *ACTION.components[1:]))
    fit = check(policy_of(action=vague), benchmark_of())
    assert fit.verdict == COMPATIBLE
    assert "action 'position': a side does not declare the mode (delta or absolute)" in fit.unchecked
    assert "action 'position': a side does not declare the unit" in fit.unchecked
    assert "state 'eef_rotation': a side does not declare the source" not in fit.unchecked


def test_a_sign_that_has_to_be_made_up_is_said() -> None:
    pose = with_component(STATE, "eef_rotation", rotation="axis_angle_pi")
    fit = check(policy_of(), benchmark_of(state=pose))
    assert any("which of two quaternions" in sentence for sentence in fit.unchecked)


def test_a_range_beyond_the_benchmarks_is_said() -> None:
    wide = with_component(ACTION, "position", low=-2.0)
    assert any("reaches beyond" in sentence for sentence in check(policy_of(action=wide), benchmark_of()).unchecked)


def test_components_of_other_names_are_found_by_their_kind_or_source() -> None:
    renamed = Layout(tuple(replace(one, name=f"my_{one.name}") for one in reversed(ACTION.components)))
    state = Layout((replace(FINGERS, name="gripper_joints"),))
    found = plan(policy_of(action=renamed, state=state), benchmark_of())
    assert found.fit.verdict == CONVERTIBLE
    assert found.action is not None
    assert found.state is not None
    np.testing.assert_array_equal(found.action(np.array([[1.0, 2, 3, 4, 5, 6, 7]])), [[5, 6, 7, 2, 3, 4, 1]])
    np.testing.assert_array_equal(found.state(np.arange(8.0)), [6, 7])


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, 1.0), (0.49, 0.02), (0.5, 0.0), (1.0, -1.0)],
)
def test_a_gripper_of_rlds_becomes_liberos(value: float, expected: float) -> None:
    """1 opens, 0 closes; LIBERO closes at 1: 1 - 2 g, of which the simulator takes the sign."""
    rlds = with_component(ACTION, "gripper", gripper="positive_opens", low=0.0, high=1.0, threshold=0.5)
    convert = plan(policy_of(action=rlds), benchmark_of()).action
    assert convert is not None
    np.testing.assert_allclose(convert(np.array([[0, 0, 0, 0, 0, 0, value]]))[0, 6], expected, atol=1e-12)


def test_a_binary_gripper_gives_two_values_to_a_continuous_one() -> None:
    graded = with_component(ACTION, "gripper", binary=False, threshold=None)
    convert = plan(policy_of(), benchmark_of(action=graded)).action
    assert convert is not None
    rows = convert(np.array([[0, 0, 0, 0, 0, 0, g] for g in (-0.3, 0.0, 0.2)]))
    np.testing.assert_array_equal(rows[:, 6], [-1, -1, 1])


GRIPPERS = [
    (sign, low, high) for sign in ("positive_opens", "positive_closes") for low, high in ((-1, 1), (0, 1), (0, 0.3))
]


def gripper_of(numbers: tuple[str, float, float], threshold: float | None) -> Layout:
    sign, low, high = numbers
    return with_component(
        ACTION, "gripper", gripper=sign, low=low, high=high, threshold=threshold, binary=threshold is not None
    )


def converted(source: Layout, target: Layout, value: float) -> float:
    convert = plan(policy_of(action=source), benchmark_of(action=target)).action
    row = np.array([[0, 0, 0, 0, 0, 0, value]])
    return float(row[0, 6] if convert is None else convert(row)[0, 6])


@pytest.mark.parametrize("theirs", GRIPPERS)
@pytest.mark.parametrize("mine", GRIPPERS)
def test_what_is_exactly_at_the_threshold_means_the_same_under_every_sign_and_range(
    mine: tuple[str, float, float], theirs: tuple[str, float, float]
) -> None:
    """Where it is split here it opens; where the benchmark splits likewise it stays exactly at the threshold."""
    sign, low, high = theirs
    opens = high if sign == "positive_opens" else low
    middle = (mine[1] + mine[2]) / 2
    assert converted(gripper_of(mine, middle), gripper_of(theirs, None), middle) == opens
    assert converted(gripper_of(mine, middle), gripper_of(theirs, low + 0.1 * (high - low)), middle) == opens
    share = 0.7 if mine[0] == sign else 0.3
    at, theirs_at = mine[1] + 0.7 * (mine[2] - mine[1]), low + share * (high - low)
    assert converted(gripper_of(mine, at), gripper_of(theirs, theirs_at), at) == theirs_at


def test_a_gripper_and_its_negative_give_the_same_for_every_number() -> None:
    """One policy, told in either sign: what it asks for of a gripper with two values and any is the same."""
    for graded in (gripper_of(("positive_closes", -1, 1), None), gripper_of(("positive_opens", 0, 1), 0.2)):
        for value in (-1.0, -0.5, -0.0, 0.0, 1e-9, 0.5, 1.0):
            opens = converted(gripper_of(("positive_opens", -1, 1), 0.0), graded, value)
            closes = converted(gripper_of(("positive_closes", -1, 1), -0.0), graded, -value)
            assert opens == closes


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_a_conversion_and_its_reverse_give_the_numbers_back(data: st.DataObject) -> None:
    """Whatever a policy declares of LIBERO's action, there and back is the identity."""
    forms = ("axis_angle_pi", "euler_xyz", "euler_xyz_fixed", "quaternion_wxyz", "rot6d_contiguous", "matrix")
    form = data.draw(st.sampled_from(forms))
    size = {"quaternion_wxyz": 4, "rot6d_contiguous": 6, "matrix": 9}.get(form, 3)
    unit = data.draw(st.sampled_from(("radian", "degree")))
    low = data.draw(st.sampled_from((-1.0, 0.0)))
    sign = data.draw(st.sampled_from(("positive_opens", "positive_closes")))
    mine = with_component(ACTION, "rotation", rotation=form, size=size, unit=unit, scale=None, low=None, high=None)
    mine = with_component(mine, "position", unit="meter", scale=None, low=None, high=None)
    mine = with_component(mine, "gripper", gripper=sign, low=low, binary=False, threshold=None)
    graded = with_component(ACTION, "gripper", binary=False, threshold=None)
    there = plan(policy_of(action=mine, state=None), benchmark_of(action=graded)).action
    back = plan(policy_of(action=graded, state=None), benchmark_of(action=mine)).action
    assert there is not None
    assert back is not None
    action = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=7, max_size=7)))[None]
    np.testing.assert_allclose(there(back(action)), action, atol=1e-9)


def test_floats_keep_their_precision() -> None:
    convert = plan(policy_of(action=with_component(ACTION, "rotation", rotation="euler_xyz")), benchmark_of()).action
    assert convert is not None
    for dtype in (np.float32, np.float64):
        assert convert(np.zeros((2, 7), dtype)).dtype == dtype


def test_each_sides_own_gaps_are_listed() -> None:
    assert undeclared_by_policy(policy_of(control_rate_hz=20.0)) == []
    assert len(undeclared_by_policy(PolicySpec(PolicyIdentity("p")))) == 2
    vague = benchmark_of(state=Layout((Component("eef_position", "position", 3),)))
    assert undeclared_by_benchmark(benchmark_of()) == []
    assert undeclared_by_benchmark(vague) == ["state 'eef_position' does not declare mode, frame, unit, source"]
