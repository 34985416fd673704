"""What vla-eval's HELLO says of a policy's conventions, from and to a `PolicySpec`.

Its clients warn of a mismatch in ``action_spec`` and ``observation_spec`` ({component: {name, dims, format}}),
and hand ``observation_params`` to their benchmark's constructor. Its vocabulary is smaller than ours: what it
has no word for goes as "raw", and what it says in words that we do not know stays undeclared.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from vlassess_link.errors import ContractError
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import PolicyIdentity, PolicySpec

WRIST_WORDS = ("wrist", "hand", "gripper")
"""In a camera's name: it moves with the arm."""

_RAW = "raw"
_IMAGE: Dict[str, Any] = {"name": "image", "dims": 0, "format": "rgb_hwc_uint8"}
_LANGUAGE: Dict[str, Any] = {"name": "language", "dims": 0, "format": "language"}
_POSITIONS = {"delta": "delta_xyz", "absolute": "absolute_xyz"}
_ROTATIONS = {
    "axis_angle_pi": "axis_angle",
    "axis_angle_2pi": "axis_angle",
    "euler_xyz": "euler_xyz",
    "quaternion_xyzw": "quaternion_xyzw",
    "rot6d_interleaved": "rot6d_interleaved",
}
_BINARY: Dict[str, Any] = {"binary": True, "threshold": 0.0, "low": -1.0, "high": 1.0}
_READ: Mapping[str, Mapping[str, Any]] = {
    "delta_xyz": {"kind": "position", "mode": "delta"},
    "absolute_xyz": {"kind": "position", "mode": "absolute"},
    "axis_angle": {"kind": "rotation", "rotation": "axis_angle_pi"},
    "euler_xyz": {"kind": "rotation", "rotation": "euler_xyz"},
    "quaternion_xyzw": {"kind": "rotation", "rotation": "quaternion_xyzw"},
    "rot6d_interleaved": {"kind": "rotation", "rotation": "rot6d_interleaved"},
    "binary_close_positive": {"kind": "gripper", "gripper": "positive_closes", **_BINARY},
    "binary_close_negative": {"kind": "gripper", "gripper": "positive_opens", **_BINARY},
}


def announced(spec: PolicySpec) -> Dict[str, Any]:
    """Return the fields that a server's HELLO has for vla-eval's clients."""
    wants: Dict[str, Any] = {}
    observation: Dict[str, Any] = {"language": _LANGUAGE}
    if spec.cameras != ():
        observation["image"] = _IMAGE
    if any(word in camera for camera in spec.cameras or () for word in WRIST_WORDS):
        wants["send_wrist_image"] = True
    if spec.state is not None and spec.state.components:
        wants["send_state"] = True
        observation["state"] = {"name": "state", "dims": spec.state.size, "format": _RAW}
    fields = {"observation_params": wants, "observation_spec": observation}
    if spec.action is not None and spec.action.components:
        fields["action_spec"] = {part.name: _dimension(part) for part in spec.action.components}
    return {key: value for key, value in fields.items() if value}


def foreign_spec(payload: Mapping[str, Any]) -> PolicySpec:
    """Return the spec of one of its servers: it answers one action per observation."""
    revision = payload.get("harness_version")
    identity = PolicyIdentity(
        str(payload["model_server"]), revision=f"vla-eval {revision}" if isinstance(revision, str) else "unknown"
    )
    return PolicySpec(identity, action=_layout(payload.get("action_spec")), observe="every_step")


def _dimension(part: Component) -> Dict[str, Any]:
    form = _RAW
    if part.kind == "position" and part.size == 3:
        form = _POSITIONS.get(str(part.mode), _RAW)
    elif part.kind == "rotation":
        form = _ROTATIONS.get(str(part.rotation), _RAW)
    elif part.kind == "gripper" and part.low == -1.0 and part.high == 1.0:
        form = "binary_close_positive" if part.gripper == "positive_closes" else "binary_close_negative"
    field: Dict[str, Any] = {"name": part.name, "dims": part.size, "format": form}
    if part.low is not None and part.high is not None:
        field["range"] = [part.low, part.high]
    return field


def _layout(spec: Any) -> Optional[Layout]:
    """Return the layout of an action, None where one of its components is not understood."""
    if not isinstance(spec, Mapping) or not spec:
        return None
    parts: List[Component] = []
    for name, field in spec.items():
        known = _READ.get(str(field.get("format"))) if isinstance(field, Mapping) else None
        size = field.get("dims") if isinstance(field, Mapping) else None
        if known is None or type(size) is not int or size < 1:
            return None
        parts.append(Component(str(name), size=size, **known))
    try:
        return Layout(tuple(parts))
    except ContractError:
        return None
