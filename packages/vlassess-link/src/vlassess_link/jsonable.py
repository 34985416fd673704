"""Frozen dataclasses to strict JSON values and back, by their annotations.

The link package may depend on numpy, msgpack and websockets only, so it has this instead of pydantic.
Unknown keys are errors (a newer peer must raise its schema version, not be half understood).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Dict, Mapping, Type, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from vlassess_link.errors import ContractError

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Return ``value`` as JSON types; dataclasses become objects, arrays and tuples become lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value


def from_json(cls: Type[T], data: Any) -> T:
    """Build a dataclass from what `to_json` made of it.

    Raises:
        ContractError: a key is unknown or missing, a value has the wrong type, or an invariant of
            ``cls`` does not hold; the message names the field.
    """
    result: T = _build(cls, data, cls.__name__)
    return result


@functools.lru_cache(maxsize=None)
def _hints(cls: type) -> Dict[str, Any]:
    return get_type_hints(cls)


def _build(kind: Any, data: Any, path: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, data, path)
    origin = get_origin(kind)
    if origin is Union:
        options = [option for option in get_args(kind) if option is not type(None)]
        return None if data is None else _build(options[0], data, path)
    if origin is tuple:
        _expect(isinstance(data, (list, tuple)), path, "a list", data)
        return tuple(_build(get_args(kind)[0], item, f"{path}[{i}]") for i, item in enumerate(data))
    if origin is not None and issubclass(origin, Mapping):
        _expect(isinstance(data, Mapping), path, "an object", data)
        return {key: _build(get_args(kind)[1], item, f"{path}.{key}") for key, item in data.items()}
    return _scalar(kind, data, path)


def _build_dataclass(kind: Any, data: Any, path: str) -> Any:
    _expect(isinstance(data, Mapping), path, "an object", data)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise ContractError(f"{path} has the unknown field {unknown[0]!r}; its fields are {', '.join(fields)}")
    hints = _hints(kind)
    given = {name: _build(hints[name], item, f"{path}.{name}") for name, item in data.items()}
    try:
        return kind(**given)
    except TypeError as error:
        raise ContractError(f"{path}: {error}") from None


def _scalar(kind: Any, data: Any, path: str) -> Any:
    if kind is float:
        _expect(isinstance(data, (int, float)) and not isinstance(data, bool), path, "a number", data)
        return float(data)
    if kind is int:
        _expect(isinstance(data, int) and not isinstance(data, bool), path, "an integer", data)
    elif kind in (str, bool):
        _expect(isinstance(data, kind), path, "a text" if kind is str else "true or false", data)
    return data


def _expect(holds: bool, path: str, wanted: str, data: Any) -> None:
    if not holds:
        raise ContractError(f"{path} must be {wanted}, not {str(data)[:80]!r} ({type(data).__name__})")
