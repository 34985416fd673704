"""pydantic's findings as sentences: dotted path, value, mend, and the nearest valid name."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from vlassess.config.yaml12 import Unreadable
from vlassess.schema.problems import nearest, shown

MUST_BE = {
    "bool_type": "true or false",
    "dict_type": "a section of named values",
    "float_type": "a number",
    "int_type": "a whole number",
    "model_attributes_type": "a section of named values",
    "model_type": "a section of named values",
    "path_type": "a path",
    "string_type": "a text (quote it)",
    "string_too_long": "shorter",
    "too_short": "at least one entry; leave it out for the default",
    "tuple_type": "a list, as in [a, b]",
}
"""pydantic's error type -> what is wanted."""

LIMITS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
"""pydantic's error type -> the words, and where the limit is found."""


def sentences(model: type[BaseModel], error: ValidationError) -> list[str]:
    """Return one sentence for each finding, in the order of the fields.

    Findings about what could not be read are left out, since that has been told already.
    """
    found = error.errors(include_url=False)
    return [_sentence(model, finding) for finding in found if not isinstance(finding["input"], Unreadable)]


def _sentence(model: type[BaseModel], finding: Any) -> str:
    kind, place, value = finding["type"], finding["loc"], finding["input"]
    path = _path(model, place)
    if kind == "extra_forbidden":
        return f"{path} is not a known key; {nearest(str(place[-1]), fields_at(model, place[:-1]))}"
    if kind == "missing":
        return f"{path} is missing; give it{_purpose(model, place)}"
    if kind in MUST_BE:
        return f"{path} is {shown(value)}; it must be {MUST_BE[kind]}"
    if kind in LIMITS:
        words, name = LIMITS[kind]
        return f"{path} is {shown(value)}; it must be {words} {finding['ctx'][name]:g}"
    if kind == "value_error":
        return f"{path or 'the config'}: {finding['ctx']['error']}"
    return f"{path} is {shown(value)}; {finding['msg'][:1].lower()}{finding['msg'][1:]}"


def fields_at(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """Return the keys that the section at ``place`` may have; none where it is free or no section."""
    kind: Any = model
    for part in place:
        kind = _child(kind, part)
    kind = _without_none(kind)
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return []
    short_forms = ["policy", "extends"] if kind is model else []
    return [*kind.model_fields, *short_forms]


def _path(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """Return a place as the file has it: without the tag that pydantic puts where a section may be of several kinds."""
    kind: Any = model
    parts = []
    for part in place:
        if part != "[key]" and not any(part in _tags(option) for option in _options(kind)):
            parts.append(str(part))
        kind = _child(kind, part)
    return ".".join(parts)


def _purpose(model: type[BaseModel], place: Sequence[int | str]) -> str:
    kind: Any = model
    for part in place[:-1]:
        kind = _child(kind, part)
    described = _without_none(kind).model_fields[str(place[-1])].description
    return f" ({described.rstrip('.')})" if described else ""


def _child(kind: Any, part: int | str) -> Any:
    tagged = [option for option in _options(kind) if part in _tags(option)]
    if tagged:  # pydantic puts the tag of one of several kinds of section into the place
        return tagged[0]
    kind = _without_none(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return field.annotation if field else None
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is dict:
        return arguments[1]
    return arguments[0] if arguments else None


def _options(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (types.UnionType, typing.Union) else ()


def _tags(option: Any) -> tuple[Any, ...]:
    if not (isinstance(option, type) and issubclass(option, BaseModel)):
        return ()
    fields = option.model_fields.values()
    return tuple(tag for field in fields for tag in typing.get_args(field.annotation) if isinstance(tag, str))


def _without_none(kind: Any) -> Any:
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return next(option for option in typing.get_args(kind) if option is not type(None))
    return kind
