"""Whole arrays of one layout in another: components are found by name, put in order, and each converted."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Tuple

import numpy as np

from vlassess_link.conventions.components import component_conversion
from vlassess_link.conventions.findings import Findings
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import BenchmarkSpec, PolicySpec

Function = Callable[[np.ndarray], np.ndarray]
Part = Tuple[slice, Optional[Function]]
"""Where a target's component is in the source's array, and what is done to it."""


def action_conversion(source: Layout, target: Layout, findings: Findings) -> Optional[Function]:
    """Return what makes a benchmark's actions (..., D) of a policy's; None where nothing is to be done.

    Every component of either side must have its counterpart: one of the same name, else the only one of its kind.
    """
    pairs = _action_pairs(source, target, findings)
    if pairs is None:
        return None
    parts = []
    places = _slices(source)
    for component, counterpart in pairs:
        convert = component_conversion(counterpart, component, f"action {component.name!r}", findings)
        _warn_of_range(counterpart, component, convert, findings)
        parts.append((places[counterpart.name], convert))
    return _function(source, parts, "actions", findings)


def state_conversion(source: Layout, target: Layout, findings: Findings) -> Optional[Function]:
    """Return what makes the state (..., S) that a policy reads of a benchmark's; None where nothing is to be done.

    Components that the policy does not name are left out.
    """
    places = _slices(source)
    parts = []
    for component in target.components:
        found = _source_of(component, source, findings)
        if found is not None:
            what = f"state {component.name!r}"
            convert = component_conversion(found, component, what, findings, sign_matters=True)
            parts.append((places[found.name], convert))
    return _function(source, parts, "state", findings)


def state_parts(policy: PolicySpec, benchmark: BenchmarkSpec) -> Tuple[Tuple[str, int], ...]:
    """Return the components of the state that a policy is given: the benchmark's name of each, and its numbers."""
    if benchmark.state is None:
        return ()
    if policy.state is None:
        return tuple((component.name, component.size) for component in benchmark.state.components)
    found = []
    for component in policy.state.components:
        source = _source_of(component, benchmark.state, Findings())
        found.append((component.name if source is None else source.name, component.size))
    return tuple(found)


def _source_of(wanted: Component, source: Layout, findings: Findings) -> Optional[Component]:
    """Return the component of a benchmark's state that a policy's stands for, by name and source."""
    found = {component.name: component for component in source.components}.get(wanted.name)
    if found is None and wanted.source is not None:
        alike = [one for one in source.components if one.source == wanted.source and one.kind == wanted.kind]
        found = alike[0] if len(alike) == 1 else None
    if found is None:
        has = ", ".join(f"{one.name} ({one.kind})" for one in source.components) or "none"
        findings.reasons.append(
            f"the policy reads the state {wanted.name!r} ({wanted.kind}), which the benchmark has not; it has {has}"
        )
        return None
    if wanted.source is None or found.source is None:
        findings.unchecked.append(f"state {wanted.name!r}: a side does not declare the source")
    elif wanted.source != found.source:
        findings.reasons.append(
            f"the policy reads the state {wanted.name!r} from {wanted.source!r}, and the benchmark takes it from "
            f"{found.source!r}: another source is another quantity"
        )
    return found


def _action_pairs(source: Layout, target: Layout, findings: Findings) -> Optional[List[Tuple[Component, Component]]]:
    """Return (benchmark's component, policy's component) in the benchmark's order; None where one has none."""
    by_name = {component.name: component for component in source.components}
    pairs, left = [], dict(by_name)
    for component in target.components:
        found = left.pop(component.name, None) or left.pop(_only_of_kind(component, source, target), None)
        if found is None:
            findings.reasons.append(
                f"the benchmark takes the action component {component.name!r} ({component.kind}), which the policy "
                f"does not give; it gives {', '.join(by_name)}"
            )
        else:
            pairs.append((component, found))
    for name, component in left.items():
        findings.reasons.append(
            f"the policy gives the action component {name!r} ({component.kind}), which the benchmark does not take"
        )
    return pairs if len(pairs) == len(target.components) and not left else None


def _only_of_kind(wanted: Component, source: Layout, target: Layout) -> str:
    ours = [one.name for one in source.components if one.kind == wanted.kind]
    theirs = [one.name for one in target.components if one.kind == wanted.kind]
    return ours[0] if len(ours) == len(theirs) == 1 else ""


def _slices(layout: Layout) -> Dict[str, slice]:
    places, begin = {}, 0
    for component in layout.components:
        places[component.name] = slice(begin, begin + component.size)
        begin += component.size
    return places


def _warn_of_range(source: Component, target: Component, convert: Optional[Function], findings: Findings) -> None:
    """Say where a policy's declared bounds reach beyond the benchmark's."""
    if source.kind == "rotation" and source.rotation != target.rotation:
        return
    bounds = (source.low, source.high, target.low, target.high)
    if source.low is None or source.high is None or target.low is None or target.high is None:
        if (target.low, target.high) != (None, None) and source.kind != "gripper":
            findings.unchecked.append(f"action {target.name!r}: the policy does not declare its range (low and high)")
        return
    ends = np.array(((source.low,) * source.size, (source.high,) * source.size))
    reached = ends if convert is None else convert(ends)
    slack = 1e-6 * (target.high - target.low)
    if reached.min() < target.low - slack or reached.max() > target.high + slack:
        made = "" if convert is None else f" becomes [{reached.min():g}, {reached.max():g}], which"
        findings.unchecked.append(
            f"action {target.name!r}: the policy's range {list(bounds[:2])}{made} reaches beyond the benchmark's "
            f"{list(bounds[2:])}"
        )


def _function(source: Layout, parts: List[Part], what: str, findings: Findings) -> Optional[Function]:
    indices = [i for place, _ in parts for i in range(place.start, place.stop)]
    in_place = indices == list(range(source.size))
    if in_place and all(convert is None for _, convert in parts):
        return None
    if not in_place and not findings.reasons:
        findings.conversions.append(f"{what}: numbers {_listed(indices)} of {source.size} are taken, in this order")

    def function(values: np.ndarray) -> np.ndarray:
        exact = values.astype(np.float64)
        pieces = [exact[..., place] if convert is None else convert(exact[..., place]) for place, convert in parts]
        whole = np.concatenate(pieces, axis=-1) if pieces else exact[..., :0]
        return whole.astype(values.dtype)

    return function


def _listed(indices: List[int]) -> str:
    """Return whole numbers as runs: ``0-2, 6``."""
    runs: List[List[int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in runs) or "none"
