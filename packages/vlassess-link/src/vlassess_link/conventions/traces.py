"""A trace: what crossed the wire in the first steps of an episode, arrays and all, as one ``.npz`` without pickles.

Whoever has another implementation of a model can write such a file from it with `save`, and then ask `diff` where
the two part and why.

```
N_image_CAMERA, N_state, N_extra_NAME, N_instruction, N_step    what the policy was given, the Nth time, from 0
N_rendered_CAMERA    the same image before it was converted, where it was
N_actions            (T, D): what it answered, before anything is converted
N_answer_NAME        a further array, number or text of its answer: the model's own inputs, where it tells them
executed             (steps, D): what the simulator was told, in its own conventions
about                JSON: both specs, the policy's label, the episode
```
"""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np

from vlassess_link.errors import ContractError
from vlassess_link.jsonable import from_json
from vlassess_link.spaces import Layout
from vlassess_link.specs import BenchmarkSpec, PolicySpec

Value = Union[np.ndarray, str]
MEMBERS = ("image", "rendered", "extra", "answer")
SINGLE = ("state", "instruction", "step", "actions")
DIMENSIONS = {"state": 1, "actions": 2, "executed": 2}
NO_TRACE = (ValueError, EOFError, KeyError, TypeError, AttributeError, NotImplementedError, MemoryError)
"""What numpy and zipfile raise on a file that is cut short, damaged, or of one bare array."""


@dataclass(frozen=True)
class Moment:
    """One observation and its answer.

    Attributes:
        step: Control steps executed before.
        instruction: As given.
        images: Camera -> as given.
        rendered: Camera -> before its conversion; only where it was converted.
        state: As given; None where there was none.
        extras: Further observation arrays, and texts.
        actions: (T, D), as answered; None where no answer came.
        answer: Further arrays, and texts, of the answer.
    """

    step: int = 0
    instruction: str = ""
    images: Mapping[str, np.ndarray] = field(default_factory=dict)
    rendered: Mapping[str, np.ndarray] = field(default_factory=dict)
    state: Optional[np.ndarray] = None
    extras: Mapping[str, Value] = field(default_factory=dict)
    actions: Optional[np.ndarray] = None
    answer: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Trace:
    """The first steps of an episode.

    Attributes:
        moments: Every observation with its answer, in order.
        executed: (steps, D), in the benchmark's conventions.
        about: JSON: `benchmark_spec`, `policy_spec`, and whatever else the writer says; may be empty.
    """

    moments: Tuple[Moment, ...]
    executed: Optional[np.ndarray] = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state_layout(self) -> Optional[Layout]:
        """What the numbers of a given state are, where the specs tell."""
        policy, benchmark = self._specs()
        if policy is not None and policy.state is not None and policy.state.components:
            return policy.state
        return benchmark.state if benchmark is not None else None

    @property
    def action_layout(self) -> Optional[Layout]:
        """What the numbers of an answered action are, where the specs tell."""
        policy, benchmark = self._specs()
        if policy is not None and policy.action is not None and policy.action.components:
            return policy.action
        return benchmark.action if benchmark is not None else None

    @property
    def executed_layout(self) -> Optional[Layout]:
        """What the numbers of an executed action are, where the specs tell."""
        benchmark = self._specs()[1]
        return benchmark.action if benchmark is not None else None

    def check_specs(self) -> None:
        """Read the specs that it carries.

        Raises:
            ContractError: one is none.
        """
        self._specs()

    def _specs(self) -> Tuple[Optional[PolicySpec], Optional[BenchmarkSpec]]:
        policy, benchmark = self.about.get("policy_spec"), self.about.get("benchmark_spec")
        return (
            None if policy is None else from_json(PolicySpec, policy),
            None if benchmark is None else from_json(BenchmarkSpec, benchmark),
        )


def arrays_of(trace: Trace) -> Dict[str, np.ndarray]:
    """Return a trace as the named arrays of its file."""
    found: Dict[str, np.ndarray] = {"about": np.array(json.dumps(dict(trace.about), allow_nan=False))}
    if trace.executed is not None:
        found["executed"] = trace.executed
    for number, moment in enumerate(trace.moments):
        groups = dict(zip(MEMBERS, (moment.images, moment.rendered, moment.extras, moment.answer)))
        for kind, members in groups.items():
            for name, value in members.items():
                found[f"{number}_{kind}_{name}"] = np.asarray(value)
        for name in SINGLE:
            value = getattr(moment, name)
            if value is not None:
                found[f"{number}_{name}"] = np.asarray(value)
    return found


def save(path: str, trace: Trace) -> None:
    """Write a trace, compressed."""
    write: Any = np.savez_compressed
    with open(path, "wb") as file:
        write(file, **arrays_of(trace))


def load(path: str) -> Trace:
    """Read a trace; no pickle is ever loaded.

    Raises:
        ContractError: the file is none, or has a name that no trace has.
        OSError: it cannot be read.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
        about = json.loads(str(arrays.pop("about", "{}")))
    except (*NO_TRACE, zipfile.BadZipFile, zlib.error) as error:
        why = "it is no .npz file, or has Python objects in it" if "pickle" in str(error) else str(error)
        raise ContractError(f"{path} is no trace ({why}); `vlassess trace CONFIG` writes one") from None
    if not isinstance(about, dict):
        raise ContractError(f"{path} is no trace (its `about` is no JSON object); `vlassess trace CONFIG` writes one")
    executed = arrays.pop("executed", None)
    if executed is not None:
        _check_shape(f"{path}: 'executed'", "executed", executed)
    trace = Trace(_moments(path, arrays), executed, about)
    try:
        trace.check_specs()
    except (ContractError, *NO_TRACE) as error:
        raise ContractError(f"{path}: its `about` has a spec that cannot be read ({error}); leave it out") from None
    return trace


def _check_shape(what: str, kind: str, array: np.ndarray) -> None:
    """Refuse an array that is not of its kind's shape, before anybody computes with it.

    Raises:
        ContractError: names the array, its shape and the one that it must have.
    """
    numbers, dimensions = array.dtype.kind in "iuf", DIMENSIONS.get(kind)
    if kind in ("image", "rendered"):
        holds = numbers and array.ndim == 3 and array.size > 0 and array.shape[2] == 3
        wanted = "an image, (height, width, 3)"
    elif kind == "step":
        holds, wanted = array.ndim == 0 and array.dtype.kind in "iu" and array >= 0, "one whole number, at least 0"
    elif kind == "instruction":
        holds, wanted = array.ndim == 0 and array.dtype.kind == "U", "one text"
    elif dimensions is not None:
        wanted = "numbers in one row" if dimensions == 1 else "numbers in rows of one length, at least one row"
        holds = numbers and array.ndim == dimensions and (dimensions == 1 or array.size > 0)
    else:
        holds = array.dtype.kind in "biuf" or (array.ndim == 0 and array.dtype.kind == "U")
        wanted = "numbers, or one text"
    if not holds:
        raise ContractError(f"{what} has the shape {array.shape} and the type {array.dtype}; it must be {wanted}")


def _moments(path: str, arrays: Mapping[str, np.ndarray]) -> Tuple[Moment, ...]:
    fields: List[Dict[str, Any]] = []
    for key, array in arrays.items():
        number, _, name = key.partition("_")
        kind, _, member = name.partition("_")
        if not number.isdecimal() or not (name in SINGLE or (kind in MEMBERS and member)):
            raise ContractError(f"{path} has an array {key!r}, which no trace has")
        if int(number) >= len(arrays):
            raise ContractError(f"{path} has an array {key!r}, and none of the observations before it: count from 0")
        _check_shape(f"{path}: {key!r}", name if name in SINGLE else kind, array)
        while len(fields) <= int(number):
            fields.append({"images": {}, "rendered": {}, "extras": {}, "answer": {}})
        value: Any = str(array) if array.dtype.kind == "U" else array
        if name in SINGLE:
            fields[int(number)][name] = int(array) if name == "step" else value
        else:
            group = {"image": "images", "extra": "extras"}.get(kind, kind)
            fields[int(number)][group][member] = value
    return tuple(Moment(**one) for one in fields)
