"""The numbers of one gripper convention in another: sign, range, and two values or any."""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Tuple

import numpy as np

from vlassess_link.conventions.findings import Findings
from vlassess_link.spaces import Component

Function = Callable[[np.ndarray], np.ndarray]
Range = Tuple[float, float]


class Split(NamedTuple):
    """Where numbers become the one of two values or the other, and which one the threshold itself becomes."""

    threshold: float
    itself_is_high: bool


class Tie(NamedTuple):
    """Two thresholds that mean the same: what is exactly at the one comes to be exactly at the other."""

    source: float
    target: float


def gripper_conversion(source: Component, target: Component, what: str, findings: Findings) -> Optional[Function]:
    """Return what makes ``target``'s numbers of ``source``'s; None where nothing is to be done.

    Ranges are mapped linearly, the bound that closes to the bound that closes. A source of two values gives two
    values; a target of two values splits any itself, at its own threshold.

    A number exactly at the threshold means neither value. Where the target splits likewise, it comes to be exactly at
    the target's threshold, and the target decides. Where it is split here, it opens, whichever sign opens (where no
    side tells the sign, it becomes the lower value).

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
    where = _split_of(source) if split else None
    findings.conversions.append(f"{what}: {_words(source, target, reverse, where)}")
    tie = None if split else _tie_of(source, target)
    return lambda values: _mapped(values, (old, new), reverse, where, tie)


def _split_of(source: Component) -> Split:
    assert source.threshold is not None
    return Split(source.threshold, source.gripper == "positive_opens")


def _tie_of(source: Component, target: Component) -> Optional[Tie]:
    if not (source.binary and target.binary) or source.threshold is None or target.threshold is None:
        return None
    return Tie(source.threshold, target.threshold)


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
    mapped = float(_mapped(np.array([source.threshold]), (old, new), reverse)[0])
    return abs(mapped - target.threshold) > 1e-12


def _mapped(
    values: np.ndarray,
    ranges: Tuple[Range, Range],
    reverse: bool,
    split: Optional[Split] = None,
    tie: Optional[Tie] = None,
) -> np.ndarray:
    old, new = ranges
    share = (values - old[0]) / (old[1] - old[0])
    if split is not None:
        high = values >= split.threshold if split.itself_is_high else values > split.threshold
        share = np.where(high, 1.0, 0.0)
    if reverse:
        share = 1.0 - share
    # From both ends, so that each end is met exactly.
    mapped: np.ndarray = new[0] * (1.0 - share) + new[1] * share
    return mapped if tie is None else np.where(values == tie.source, tie.target, mapped)


def _words(source: Component, target: Component, reverse: bool, split: Optional[Split]) -> str:
    said = []
    if split is not None:
        itself = f" ({split.threshold:g} itself opens)" if source.gripper is not None else ""
        said.append(f"split at {split.threshold:g} into two values{itself}")
    if reverse:
        said.append(f"{_sign(source)} becomes {_sign(target)}")
    if _range(source) != _range(target):
        said.append(f"[{source.low:g}, {source.high:g}] becomes [{target.low:g}, {target.high:g}]")
    return ", ".join(said)


def _sign(component: Component) -> str:
    return str(component.gripper).replace("_", " ")
