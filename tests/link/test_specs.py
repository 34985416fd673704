from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vlassess_link.errors import ContractError
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.specs import (
    Axis,
    BenchmarkSpec,
    CameraSpec,
    ImageConvention,
    Level,
    PolicyIdentity,
    PolicySpec,
    TaskSpec,
    Termination,
)

ONE = PolicyIdentity("one")


def benchmark(**changes: Any) -> BenchmarkSpec:
    given: dict[str, Any] = {
        "id": "bench",
        "version": "2",
        "tasks": (TaskSpec("pick", "red", 10), TaskSpec("place", "red", 20), TaskSpec("pick", "blue", 10)),
        "action": end_effector_delta(),
        **changes,
    }
    return BenchmarkSpec(**given)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: PolicySpec(ONE, chunk=4, horizon=5), r"horizon is 5; it must be from 1 to chunk \(4\)"),
        (lambda: PolicySpec(ONE, horizon=0), "horizon is 0"),
        (lambda: PolicySpec(ONE, observe="never"), "observe is 'never'; it must be one of on_demand, every_step"),
        (lambda: PolicySpec(ONE, image_dtypes=("uint8", "int8")), "image_dtypes is 'int8'"),
        (lambda: PolicySpec(ONE, image_size=(3, 128, 128)), r"image_size is \(3, 128, 128\)"),
        (lambda: ImageConvention(colour="grbg"), "colour is 'grbg'; it must be one of rgb, bgr"),
        (lambda: ImageConvention(orientation="tilted"), "orientation is 'tilted'"),
        (lambda: TaskSpec("pick", "red", 0), "task pick/red: step_limit is 0"),
        (lambda: Axis("light", (Level("dim"),), (), "sometimes"), "control is 'sometimes'"),
        (
            lambda: Axis("light", (Level("dim", touched=("camera:side",)),), ("camera:front",)),
            "level 'dim' of axis 'light' touches camera:side, which the axis does not name",
        ),
        (lambda: Termination("hold"), "hold_steps is 0 with termination 'hold'"),
        (lambda: Termination("at_limit", 3), "hold_steps is 3 with termination 'at_limit'"),
        (lambda: Termination("whenever"), "termination is 'whenever'"),
        (lambda: Component("a", "position", 0), "component 'a' has size 0"),
        (lambda: Component("a", "wheel", 1), "kind is 'wheel'"),
        (lambda: Component("a", "position", 3, "relative"), "mode is 'relative'"),
        (lambda: Component("a", "position", 3, frame="moon"), "frame is 'moon'"),
        (lambda: Component("a", "position", 3, unit="inch"), "unit is 'inch'"),
        (lambda: Component("a", "position", 3, rotation="matrix"), "'a' of kind 'position' cannot have a rotation"),
        (lambda: Component("a", "position", 3, gripper="positive_opens"), "cannot have a gripper sign"),
        (lambda: Layout((Component("a", "base", 1),) * 2), "the layout names 'a' twice"),
        (lambda: benchmark(tasks=(TaskSpec("pick", "red", 1),) * 2), "'bench' declares a task twice"),
        (lambda: benchmark(hold_action=(0.0,)), "hold_action has 1 numbers, an action has 7"),
    ],
)
def test_a_broken_declaration_is_refused(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ContractError, match=says):
        make()


@pytest.mark.parametrize("success", ["ever", "at_end", "held"])
@pytest.mark.parametrize("termination", [Termination(), Termination("at_limit"), Termination("hold", 2)])
def test_only_observable_success_can_be_declared(termination: Termination, success: str) -> None:
    observable = {"on_success": {"ever"}, "at_limit": {"ever", "at_end"}, "hold": {"ever", "held"}}
    if success in observable[termination.kind]:
        assert benchmark(termination=termination, success=success).success == success
    else:
        with pytest.raises(ContractError, match=f"success '{success}' cannot be observed when .* '{termination.kind}'"):
            benchmark(termination=termination, success=success)


def test_a_level_may_touch_less_than_its_axis() -> None:
    levels = (Level("near"), Level("far", touched=("camera:front",)))
    axis = Axis("camera_pose", levels, ("camera:front", "camera:side"))
    assert axis.may_change((), "near") == axis.may_change(()) == {"camera:front", "camera:side"}
    assert axis.may_change((), "far") == {"camera:front"}


def test_a_benchmark_has_two_names() -> None:
    assert (benchmark().ref, benchmark().name) == ("bench@2", "bench-v2")


def test_suites_keep_the_order_of_the_tasks() -> None:
    assert benchmark().suites == ("pick", "place")


def test_the_identity_changes_with_each_of_its_fields() -> None:
    fields = ("name", "revision", "weights_digest", "config_digest", "script_digest")
    digests = {PolicyIdentity(**{"name": "one", field: "other"}).digest for field in fields}
    assert len(digests | {ONE.digest}) == len(fields) + 1
    assert PolicyIdentity("one").digest == ONE.digest


def test_the_end_effector_delta_is_liberos() -> None:
    layout = end_effector_delta("left_")
    assert layout.size == 7
    assert [(part.name, part.kind, part.size, part.mode) for part in layout.components] == [
        ("left_position", "position", 3, "delta"),
        ("left_rotation", "rotation", 3, "delta"),
        ("left_gripper", "gripper", 1, "absolute"),
    ]
    position, rotation, gripper = layout.components
    assert (position.scale, rotation.scale, rotation.rotation) == (0.05, 0.5, "axis_angle_pi")
    assert (gripper.gripper, gripper.binary, gripper.threshold) == ("positive_closes", True, 0.0)
    assert {(part.low, part.high) for part in layout.components} == {(-1.0, 1.0)}


@pytest.mark.parametrize(
    "numbers",
    [{"scale": 0.0}, {"scale": -0.05}, {"scale": float("nan")}, {"low": 1.0, "high": -1.0}, {"low": 0.0, "high": 0.0}],
)
def test_a_component_with_impossible_numbers_is_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(ContractError, match="component 'p'"):
        Component("p", "position", 3, **numbers)  # type: ignore[arg-type]


def test_a_rotation_in_meters_is_refused() -> None:
    with pytest.raises(ContractError, match="cannot be in meters"):
        Component("r", "rotation", 3, unit="meter")


@pytest.mark.parametrize("size", [(0, 0), (-3, 4), (4,)])
def test_a_picture_without_pixels_is_refused(size: tuple[int, ...]) -> None:
    with pytest.raises(ContractError, match="height, width"):
        PolicySpec(PolicyIdentity("p"), image_size=size)
    with pytest.raises(ContractError, match="height, width"):
        CameraSpec("front", (size,))


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf")])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ContractError, match="control_rate_hz"):
        PolicySpec(PolicyIdentity("p"), control_rate_hz=rate)
