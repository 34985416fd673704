"""One component's numbers in another's meaning: a rotation's form, units, a gripper's sign and range.

Delta against absolute, and one frame against another, are never converted: the arm's pose would be needed, and the
one that is measured is not the one that the model meant.
"""

from __future__ import annotations

import math
from typing import Callable, List, Optional

import numpy as np

from vlassess_link.conventions import rotations
from vlassess_link.conventions.findings import Findings
from vlassess_link.conventions.grippers import gripper_conversion
from vlassess_link.spaces import Component

Function = Callable[[np.ndarray], np.ndarray]
DEGREE = math.pi / 180.0


def component_conversion(
    source: Component, target: Component, what: str, findings: Findings, sign_matters: bool = False
) -> Optional[Function]:
    """Return what makes ``target``'s numbers (..., n) of ``source``'s (..., m); None where nothing is to be done.

    Args:
        source: Who gives the numbers.
        target: Who takes them.
        what: How sentences name them: "action 'gripper'".
        findings: Told what is converted, cannot be, or cannot be checked.
        sign_matters: The numbers themselves are read (a state), not only the rotation that they stand for.
    """
    if source.kind != target.kind:
        findings.reasons.append(f"{what} is a {source.kind} on one side and a {target.kind} on the other")
        return None
    _compare_mode(source, target, what, findings)
    _compare_frame(source, target, what, findings)
    if source.kind == "gripper" and source.size == target.size:
        return gripper_conversion(source, target, what, findings)
    if source.kind == "rotation" and source.rotation != target.rotation:
        return _rotation(source, target, what, findings, sign_matters)
    if source.size != target.size:
        findings.reasons.append(f"{what} has {source.size} numbers on one side and {target.size} on the other")
        return None
    return _unit(source, target, what, findings)


def _compare_mode(source: Component, target: Component, what: str, findings: Findings) -> None:
    if source.mode is not None and target.mode is not None and source.mode != target.mode:
        findings.reasons.append(f"{what} is {source.mode} on one side and {target.mode} on the other: never converted")
    elif None in (source.mode, target.mode) and source.kind != "other":
        findings.unchecked.append(f"{what}: a side does not declare the mode (delta or absolute)")


def _compare_frame(source: Component, target: Component, what: str, findings: Findings) -> None:
    if source.kind in ("gripper", "joints", "other"):
        return
    if "unknown" in (source.frame, target.frame):
        findings.unchecked.append(f"{what}: a side does not declare the frame")
    elif source.frame != target.frame:
        findings.reasons.append(
            f"{what} is in the frame {source.frame!r} on one side and {target.frame!r} on the other"
        )


def _rotation(
    source: Component, target: Component, what: str, findings: Findings, sign_matters: bool
) -> Optional[Function]:
    old, new = source.rotation, target.rotation
    if old is None or new is None:
        findings.unchecked.append(f"{what}: a side does not declare the form of the rotation")
        if source.size != target.size:
            findings.reasons.append(f"{what} has {source.size} numbers on one side and {target.size} on the other")
        return None
    for side in (source, target):
        if side.rotation is not None and side.size != rotations.SIZES[side.rotation]:
            findings.reasons.append(
                f"{what} has {side.size} numbers; a rotation as {side.rotation} has {rotations.SIZES[side.rotation]}"
            )
            return None
    before, after = _radians(source), _radians(target)
    if before is None or after is None:
        findings.reasons.append(
            f"{what}: {old} cannot become {new} while a side declares no unit, or no `scale` of a normalized one"
        )
        return None
    if sign_matters and new in rotations.SIGNED and old not in rotations.SIGNED:
        findings.unchecked.append(f"{what}: {old} does not tell which of two quaternions is meant; w >= 0 is taken")
    unit = "" if _unit_name(source) == _unit_name(target) else f" ({_unit_name(source)} to {_unit_name(target)})"
    findings.conversions.append(f"{what}: {old} becomes {new}{unit}")
    return lambda values: rotations.convert(values * before, str(old), str(new)) / after


def _unit_name(component: Component) -> str:
    if component.rotation is not None and component.rotation not in rotations.ANGULAR:
        return "no unit"
    if component.unit == "normalized" and component.scale is not None:
        return f"units of {component.scale:g}"
    return {"degree": "degrees", "radian": "radians", "meter": "meters"}.get(component.unit, component.unit)


def _radians(component: Component) -> Optional[float]:
    """Return what 1.0 is in radians, 1.0 for forms that are no angles; None where nobody knows."""
    if component.rotation is not None and component.rotation not in rotations.ANGULAR:
        return 1.0
    return _base_units(component)


def _base_units(component: Component) -> Optional[float]:
    """Return what 1.0 is in meters or radians, None where nobody knows."""
    if component.unit == "normalized":
        return component.scale
    return {"meter": 1.0, "radian": 1.0, "degree": DEGREE}.get(component.unit)


def _unit(source: Component, target: Component, what: str, findings: Findings) -> Optional[Function]:
    if source.kind == "rotation" and source.rotation is not None and source.rotation not in rotations.ANGULAR:
        return None
    if source.kind == "rotation" and source.rotation is None:
        findings.unchecked.append(f"{what}: no side declares the form of the rotation")
    if source.unit == target.unit and (source.unit != "normalized" or source.scale == target.scale):
        return _range(source, target, what, findings)
    if "unknown" in (source.unit, target.unit):
        findings.unchecked.append(f"{what}: a side does not declare the unit")
        return None
    quantities = _quantity(source), _quantity(target)
    if None not in quantities and quantities[0] != quantities[1]:
        findings.reasons.append(f"{what} is in {_unit_name(source)} on one side and {_unit_name(target)} on the other")
        return None
    before, after = _base_units(source), _base_units(target)
    if before is None or after is None:
        findings.reasons.append(f"{what} is normalized on one side: declare `scale`, what 1.0 stands for")
        return None
    if None in quantities:
        known = next((quantity for quantity in quantities if quantity is not None), "the same on both sides")
        findings.unchecked.append(
            f"{what}: normalized {source.kind} do not tell whether `scale` is in meters or radians; {known} is assumed"
        )
    findings.conversions.append(f"{what}: {_unit_name(source)} become {_unit_name(target)}")
    factor = before / after
    return lambda values: values * factor


def _quantity(component: Component) -> Optional[str]:
    """Return in which unit a component's `_base_units` are; None where neither its unit nor its kind tells."""
    by_unit = {"meter": "meters", "radian": "radians", "degree": "radians"}
    return by_unit.get(component.unit) or {"position": "meters", "rotation": "radians"}.get(component.kind)


def _range(source: Component, target: Component, what: str, findings: Findings) -> Optional[Function]:
    """Map one normalized range to another where 1.0 stands for nothing in particular, only for a bound."""
    if source.unit != "normalized" or source.scale is not None:
        return None
    low, high, new_low, new_high = source.low, source.high, target.low, target.high
    if low is None or high is None or new_low is None or new_high is None:
        if (low, high) != (new_low, new_high):
            findings.unchecked.append(f"{what}: a side does not declare the range (low and high)")
        return None
    if (low, high) == (new_low, new_high):
        return None
    findings.conversions.append(f"{what}: [{low:g}, {high:g}] becomes [{new_low:g}, {new_high:g}]")

    def mapped(values: np.ndarray) -> np.ndarray:
        share = (values - low) / (high - low)
        result: np.ndarray = new_low * (1.0 - share) + new_high * share
        return result

    return mapped


def undeclared(component: Component, is_action: bool) -> List[str]:
    """Return what a component leaves open, a word or two each: what nobody can check against another's."""
    open_ = []
    if component.mode is None and component.kind not in ("other",):
        open_.append("mode")
    if component.frame == "unknown" and component.kind in ("position", "rotation", "base"):
        open_.append("frame")
    if component.kind == "rotation" and component.rotation is None:
        open_.append("rotation form")
    if component.kind == "gripper" and component.gripper is None:
        open_.append("gripper sign")
    angular = component.rotation is None or component.rotation in rotations.ANGULAR
    if component.unit == "unknown" and component.kind != "other" and angular:
        open_.append("unit")
    if component.unit == "normalized" and component.scale is None and component.kind in ("position", "rotation"):
        open_.append("scale")
    if (is_action or component.kind == "gripper") and (component.low is None or component.high is None):
        open_.append("range")
    if not is_action and component.source is None:
        open_.append("source")
    return open_
