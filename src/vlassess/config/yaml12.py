"""YAML as people expect it: the 1.2 core schema on PyYAML's parser.

PyYAML by itself speaks YAML 1.1, where ``1e-4`` is a text, ``no`` is false, ``010`` is eight and ``12:30`` is
750; it also keeps the last of two equal keys without a word. Here plain scalars follow the 1.2 core
schema, keys are unique texts, tags that build objects are refused, and ``${env:VAR}`` is replaced. A
plain (unquoted) reference is typed after its replacement, a quoted one stays a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

PLAIN = "plain"
TEXT = "tag:yaml.org,2002:str"
SECTION = "tag:yaml.org,2002:map"
LIST = "tag:yaml.org,2002:seq"
NULLS = ("", "~", "null", "Null", "NULL")
BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTEGER = re.compile(r"[-+]?[0-9]{1,400}|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
REFERENCE = re.compile(r"\$(\$\{|\{([^}]*)\})")
UNUSABLE = re.compile(r"[\x00\ud800-\udfff]")
"""What only an escape can write, and no path, environment or UTF-8 file can hold."""
MOST_VALUES = 100_000
"""How many values a document may have once its aliases are written out: nested ones grow without end."""


class Unreadable:
    """Stands where a value could not be read; its mistake is already told, so nothing more is said of it."""

    def __repr__(self) -> str:
        return "<unreadable>"


@dataclass
class Reading:
    """One reading of a text: where its references are looked up, and what was wrong.

    Attributes:
        environment: What ``${env:VAR}`` is looked up in.
        problems: One sentence a mistake.
        lines: Whether the sentences name lines; a command-line value has none.
        broken: A whole file could not be read, so that what is missing from the rest says nothing.
    """

    environment: Mapping[str, str]
    problems: list[str] = field(default_factory=list)
    lines: bool = True
    broken: bool = False


class _TooMuchError(Exception):
    """A document that no config can be."""


class _Loader(yaml.SafeLoader):
    """Marks plain scalars, so that they can be typed here."""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: Any) -> str:
        """Return the tag of a node that has none: `PLAIN` for a plain scalar, the usual one for everything else."""
        if kind is yaml.ScalarNode:
            return PLAIN if implicit[0] else TEXT
        return SECTION if kind is yaml.MappingNode else LIST


def read_yaml(text: str, reading: Reading, path: str = "") -> Any:
    """Return the value of one YAML document; what cannot be read is told in ``reading`` and stands as `Unreadable`.

    Args:
        text: The document.
        reading: Collects the mistakes.
        path: Dotted path of the document's value, for the sentences.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
        return None if node is None else _Builder(reading).build(node, path)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark and reading.lines else ""
        reading.problems.append(f"{place}this is not YAML ({error.problem or error.context}); mend the text there")
    except RecursionError:
        reading.problems.append("lists and sections are nested too deeply to be read; write fewer levels")
    except _TooMuchError as error:
        reading.problems.append(str(error))
    except yaml.YAMLError as error:
        reading.problems.append(f"this is not YAML ({' '.join(str(error).split())}); mend the text")
    return Unreadable()


def join(path: str, key: object) -> str:
    """Return the dotted path of ``key`` below ``path``."""
    return f"{path}.{key}" if path else str(key)


class _Builder:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._open: list[yaml.Node] = []
        self._built = 0

    def build(self, node: yaml.Node, path: str) -> Any:
        if any(node is parent for parent in self._open):
            return self._bad(node, f"{path} contains itself by its alias; write the value out")
        self._built += 1
        if self._built > MOST_VALUES:
            raise _TooMuchError(f"there are more than {MOST_VALUES} values, aliases written out; write fewer")
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode) and node.tag == SECTION:
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode) and node.tag == LIST:
                return [self.build(item, join(path, i)) for i, item in enumerate(node.value)]
            if isinstance(node, yaml.ScalarNode) and node.tag in (PLAIN, TEXT):
                return self._scalar(node, path)
            return self._bad(node, f"{path} has the tag {node.tag!r}; only plain YAML is read: remove the tag")
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            if key in values:
                self._bad(key_node, f"{join(path, key)} is given twice; keep one of them")
                continue
            values[key] = self.build(value_node, join(path, key))
        return values

    def _key(self, node: yaml.Node, path: str) -> str | None:
        if not isinstance(node, yaml.ScalarNode) or not isinstance(typed(node.value, node.tag == PLAIN), str):
            shown = node.value if isinstance(node, yaml.ScalarNode) else "a list or section"
            self._bad(node, f"{join(path, shown)} has a key that is not a text; quote the key")
            return None
        if UNUSABLE.search(node.value):
            self._bad(node, f"{join(path, ascii(node.value))} is a key with a character that is no text; remove it")
            return None
        return str(node.value)

    def _scalar(self, node: yaml.ScalarNode, path: str) -> Any:
        problems: list[str] = []
        text = expand(node.value, self._reading.environment, problems)
        for problem in problems:
            self._bad(node, f"{path or 'the value'} {problem}")
        if problems:
            return Unreadable()
        if UNUSABLE.search(text):
            return self._bad(node, f"{path or 'the value'} is {ascii(text)[:80]}: it has a character that is no text")
        value = typed(text, plain=node.tag == PLAIN)
        if isinstance(value, float) and not math.isfinite(value):
            return self._bad(node, f"{path or 'the value'} is {text[:80]}; only finite numbers can be recorded")
        return value

    def _bad(self, node: yaml.Node, problem: str) -> Unreadable:
        place = f" (line {node.start_mark.line + 1})" if self._reading.lines else ""
        self._reading.problems.append(problem + place)
        return Unreadable()


def typed(text: str, plain: bool) -> Any:
    """Return what a scalar means under the YAML 1.2 core schema; a quoted one is its text."""
    if not plain:
        return text
    if text in NULLS:
        return None
    if text in BOOLS:
        return BOOLS[text]
    if INTEGER.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if FLOAT.fullmatch(text) or NOT_FINITE.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def expand(text: str, environment: Mapping[str, str], problems: list[str]) -> str:
    """Return ``text`` with each ``${env:VAR}`` or ``${env:VAR:default}`` replaced and ``$${`` made ``${``."""

    def replaced(match: re.Match[str]) -> str:
        if match[2] is None:
            return "${"
        kind, _, rest = match[2].partition(":")
        name, has_default, default = rest.partition(":")
        if kind != "env" or not name:
            mend = "write ${env:VAR}, or $${ for the characters themselves"
            problems.append(f"has the reference {match[0]!r}; {mend}")
        elif name in environment:
            return environment[name]
        elif has_default:
            return default
        else:
            mend = f"set it, or write ${{env:{name}:default}}"
            problems.append(f"needs the environment variable {name}, which is not set; {mend}")
        return ""

    return REFERENCE.sub(replaced, text)
