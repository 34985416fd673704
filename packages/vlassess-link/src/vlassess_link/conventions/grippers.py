"""The numbers of one gripper convention in another: sign, range, and two values or any."""

from __future__ import annotations

from typing import Callable, Optional, Tuple

import numpy as np

from vlassess_link.conventions.findings import Findings
from vlassess_link.spaces import Component

Function = Callable[[np.ndarray], np.ndarray]
Range = Tuple[float, float]


def gripper_conversion(source: Component, target: Component, what: str, findings: Findings) -> Optional[Function]:
    """Return what makes ``target``'s numbers of ``source``'s; None where nothing is to be done.

    Ranges are mapped linearly, the bound that closes to the bound that closes. A source of two values gives two
    values; a target of two values splits any itself, at its own threshold.

    Args:
        source: Who gives the numbers.
        target: Who takes them.
        what: How sentences name them.
        findings: Told what is converted, cannot be, or cannot be checked.
    """
    reverse = _reversed(source, target, what, findings)
    split = _needs_split(source, target, reverse)
    old, new = _range(source), _range(target)
    if not reverse and not split and old == new:
        if old is None:
            findings.unchecked.append(f"{what}: no side declares the range (low and high)")
        return None
    if old is None or new is None:
        if reverse or split:
            findings.reasons.append(
                f"{what}: sign or threshold differ, and low or high is not declared: declare both on both sides"
            )
        else:
            findings.unchecked.append(f"{what}: a side does not declare the range (low and high)")
        return None
    if split and source.threshold is None:
        findings.reasons.append(f"{what}: it is binary without a threshold: declare where it splits")
        return None
    threshold = source.threshold if split else None
    findings.conversions.append(f"{what}: {_words(source, target, reverse, threshold)}")
    return lambda values: _mapped(values, old, new, reverse, threshold)


def _reversed(source: Component, target: Component, what: str, findings: Findings) -> bool:
    if source.gripper is None or target.gripper is None:
        if source.gripper != target.gripper or source.gripper is None:
            findings.unchecked.append(f"{what}: a side does not declare the gripper's sign (positive closes or opens)")
        return False
    return source.gripper != target.gripper


def _range(component: Component) -> Optional[Range]:
    return None if component.low is None or component.high is None else (component.low, component.high)


def _needs_split(source: Component, target: Component, reverse: bool) -> bool:
    """Whether a source of two values must be split here, since the target would not split it likewise."""
    if not source.binary or not target.binary:
        return source.binary
    old, new = _range(source), _range(target)
    if not reverse and (old == new or old is None or new is None):
        return source.threshold != target.threshold
    if old is None or new is None or source.threshold is None or target.threshold is None:
        return True
    mapped = float(_mapped(np.array([source.threshold]), old, new, reverse, None)[0])
    return abs(mapped - target.threshold) > 1e-12


def _mapped(values: np.ndarray, old: Range, new: Range, reverse: bool, threshold: Optional[float]) -> np.ndarray:
    share = (values - old[0]) / (old[1] - old[0])
    if threshold is not None:
        share = np.where(values > threshold, 1.0, 0.0)
    if reverse:
        share = 1.0 - share
    # From both ends, so that each end is met exactly.
    mapped: np.ndarray = new[0] * (1.0 - share) + new[1] * share
    return mapped


def _words(source: Component, target: Component, reverse: bool, threshold: Optional[float]) -> str:
    said = []
    if threshold is not None:
        said.append(f"split at {threshold:g} into two values")
    if reverse:
        said.append(f"{_sign(source)} becomes {_sign(target)}")
    if _range(source) != _range(target):
        said.append(f"[{source.low:g}, {source.high:g}] becomes [{target.low:g}, {target.high:g}]")
    return ", ".join(said)


def _sign(component: Component) -> str:
    return str(component.gripper).replace("_", " ")
