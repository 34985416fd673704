"""`check`: do a policy and a benchmark mean the same numbers? And `plan`: what has to be done so that they do.

Both ends compute it, the run before the first episode and the worker before each, from the two specs alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Dict, List, Mapping, Optional

import numpy as np

from vlassess_link.conventions.components import undeclared
from vlassess_link.conventions.findings import Findings, Fit
from vlassess_link.conventions.images import RESIZES, Function, Size, converted, rendered_size
from vlassess_link.conventions.layouts import action_conversion, state_conversion
from vlassess_link.spaces import Layout
from vlassess_link.specs import BenchmarkSpec, CameraSpec, PolicySpec

Convert = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Plan:
    """What is done to what a benchmark delivers and a policy answers.

    Attributes:
        fit: The verdict; where it is "incompatible" the rest is not to be used.
        images: Camera -> what is done to its image; cameras without an entry stay as they are.
        state: What is done to the state, (..., S); None: it stays as it is.
        drops_state: The policy declares that it reads none.
        action: What is done to actions, (..., D); None: they stay as they are.
        action_size: Numbers in one of the policy's actions, before; None where it does not say.
        to_float: Images become float32, on the same scale: the policy takes no bytes.
    """

    fit: Fit
    images: Mapping[str, Function] = field(default_factory=dict)
    state: Optional[Convert] = None
    drops_state: bool = False
    action: Optional[Convert] = None
    action_size: Optional[int] = None
    to_float: bool = False


def check(policy: PolicySpec, benchmark: BenchmarkSpec) -> Fit:
    """Return whether the two fit, with every conversion, or every reason against it, and what nobody can check."""
    return plan(policy, benchmark).fit


def plan(policy: PolicySpec, benchmark: BenchmarkSpec) -> Plan:
    """Return the verdict of `check` together with what carries the conversions out."""
    findings = Findings()
    images = _images(policy, benchmark, findings)
    to_float = bool(images) and "uint8" not in policy.image_dtypes
    if to_float:
        findings.conversions.append("images: bytes become float32 on the same scale, [0, 255]")
    state = _state(policy, benchmark, findings)
    action = _action(policy, benchmark, findings)
    _compare_rates(policy, benchmark, findings)
    for name in policy.extras:
        if name not in benchmark.extras:
            findings.unchecked.append(f"the policy accepts the extra {name!r}, which the benchmark does not deliver")
    return Plan(
        findings.fit,
        {name: convert for name, convert in images.items() if convert is not None},
        state,
        policy.state is not None and not policy.state.components,
        action,
        policy.action.size if policy.action is not None and policy.action.components else None,
        to_float,
    )


def _images(policy: PolicySpec, benchmark: BenchmarkSpec, findings: Findings) -> Dict[str, Optional[Function]]:
    offered = {camera.name: camera for camera in benchmark.cameras}
    found: Dict[str, Optional[Function]] = {}
    for name in tuple(offered) if policy.cameras is None else policy.cameras:
        if name not in offered:
            has = ", ".join(offered) or "none"
            findings.reasons.append(
                f"the policy looks at camera {name!r}, and the benchmark has {has}: change `cameras` in the policy's "
                "spec"
            )
            continue
        found[name] = _image(policy, offered[name], findings)
    return found


def _image(policy: PolicySpec, camera: CameraSpec, findings: Findings) -> Optional[Function]:
    rendered = rendered_size(camera, policy)
    source, target, what = camera.image, policy.image, f"camera {camera.name!r}"
    if rendered is None:
        offered = ", ".join(f"{size[0]}x{size[1]}" for size in camera.sizes)
        wanted = "x".join(str(side) for side in policy.image_size or ())
        findings.reasons.append(
            f"the policy wants {what} at {wanted}, and the benchmark offers {offered}: change `image_size`, or name "
            f"how to resize in `image.resize` ({', '.join(RESIZES)})"
        )
        return None
    size: Size = rendered if policy.image_size is None else (int(policy.image_size[0]), int(policy.image_size[1]))
    before = len(findings.reasons)
    _compare_making(source.crop, target.crop, target.resize, what, findings)
    if source.resize is not None and target.resize is not None and source.resize != target.resize:
        findings.reasons.append(f"{what} was resized by {source.resize}; the policy expects {target.resize}")
    if len(findings.reasons) > before:
        return None
    words = _image_words(policy, camera, rendered, size)
    if not words:
        return None
    findings.conversions += [f"{what}: {sentence}" for sentence in words]
    return lambda image: converted(image, source, target, size)


def _compare_making(have: float, want: float, resize: Optional[str], what: str, findings: Findings) -> None:
    if want > have:
        findings.reasons.append(f"{what} is cropped to {have:g} of each side; the policy expects {want:g}")
    elif want < have and resize not in RESIZES:
        findings.reasons.append(
            f"the policy expects {what} cropped to {want:g} of each side: name how it is resized back in "
            f"`image.resize` ({', '.join(RESIZES)})"
        )


def _image_words(policy: PolicySpec, camera: CameraSpec, rendered: Size, size: Size) -> List[str]:
    source, target = camera.image, policy.image
    words = []
    if source.orientation != target.orientation:
        words.append(f"{source.orientation} becomes {target.orientation}")
    if source.crop != target.crop:
        words.append(
            f"the middle {target.crop / source.crop:g} of each side is cut out, resized back by {target.resize}"
        )
    if rendered != size:
        bent = "" if rendered[0] * size[1] == rendered[1] * size[0] else "; proportions change"
        words.append(f"{_by(rendered)} is resized to {_by(size)} by {target.resize}{bent}")
    if source.colour != target.colour:
        words.append(f"{source.colour} becomes {target.colour}")
    return words


def _by(size: Size) -> str:
    return f"{size[0]}x{size[1]}"


def _state(policy: PolicySpec, benchmark: BenchmarkSpec, findings: Findings) -> Optional[Convert]:
    if policy.state is None:
        if benchmark.state is not None and not policy.privileged:
            findings.unchecked.append(
                f"the policy declares no state: it is given {_named(benchmark.state)} as the benchmark has it; which "
                "of it, from which source and in which form the policy expects cannot be checked"
            )
        return None
    if not policy.state.components:
        return None
    if benchmark.state is None:
        findings.reasons.append(f"the policy reads a state ({_named(policy.state)}), and the benchmark has none")
        return None
    return state_conversion(benchmark.state, policy.state, findings)


def _action(policy: PolicySpec, benchmark: BenchmarkSpec, findings: Findings) -> Optional[Convert]:
    if policy.action is None:
        findings.unchecked.append(
            f"the policy declares no action: its numbers are taken as the benchmark's {_named(benchmark.action)}; "
            "delta or absolute, frame, rotation form, gripper sign, units, range and control rate cannot be checked"
        )
        return None
    if not policy.action.components:
        return None
    return action_conversion(policy.action, benchmark.action, findings)


def _compare_rates(policy: PolicySpec, benchmark: BenchmarkSpec, findings: Findings) -> None:
    rate = policy.control_rate_hz
    if rate is not None and rate != benchmark.control_rate_hz:
        findings.reasons.append(
            f"the policy's actions are meant for {rate:g} Hz, and the benchmark steps at {benchmark.control_rate_hz:g} "
            "Hz: never converted"
        )


def _named(layout: Layout) -> str:
    return ", ".join(component.name for component in layout.components) or "no component"


def open_questions(layout: Layout, what: str, is_action: bool) -> List[str]:
    """Return what a side's own layout leaves open, one sentence a component."""
    sentences = []
    for component in layout.components:
        open_ = undeclared(component, is_action)
        if open_:
            sentences.append(f"{what} {component.name!r} does not declare {', '.join(open_)}")
    return sentences


def undeclared_by_policy(policy: PolicySpec) -> List[str]:
    """Return what a policy's spec leaves open, one sentence each."""
    sentences = []
    if policy.state is None and not policy.privileged:
        sentences.append("it declares no state: an empty layout says that it reads none")
    if policy.action is None:
        sentences.append("it declares no action: nobody can check what its numbers mean")
    if policy.control_rate_hz is None and policy.action is not None and policy.action.components:
        sentences.append("it declares no control rate")
    sentences += open_questions(policy.state or Layout(()), "state", False)
    return sentences + open_questions(policy.action or Layout(()), "action", True)


def undeclared_by_benchmark(benchmark: BenchmarkSpec) -> List[str]:
    """Return what a benchmark's spec leaves open, one sentence each."""
    sentences = open_questions(benchmark.action, "action", True)
    if benchmark.state is not None:
        sentences += open_questions(benchmark.state, "state", False)
    return sentences
