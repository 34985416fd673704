"""What a catalog holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vlassess.schema.interpreter import Interpreter
from vlassess_link.specs import BenchmarkSpec

BUNDLED = "bundled"


@dataclass(frozen=True)
class BenchmarkEntry:
    """A benchmark that a worker can load.

    Attributes:
        name: What configs call it ("tabletop-v1"); the target for one that has no name.
        target: "/absolute/file.py:Class" or "module:Class".
        folder: Where its files are; None where that is not known without importing it.
        env: Environment variables that its workers need.
        requirements: Requirement specifiers of what it needs of the harness's interpreter, where it has no own one.
        interpreter: Its own interpreter, None for the harness's.
        params: Keyword arguments of its constructor.
        spec: What it declares, where that is stored beside it and parameters do not change it; None: ask a worker.
        policies: Name -> local target of the privileged policies that come with it.
        source: "bundled", the distribution that brings it, or "" for one given by its target.
    """

    name: str
    target: str
    folder: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    interpreter: Interpreter | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    spec: BenchmarkSpec | None = None
    policies: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True)
class PolicyEntry:
    """A policy that a run can serve.

    Attributes:
        name: What configs call it ("random").
        target: "/absolute/file.py:Class" or "module:Class".
        source: "bundled", or the distribution that brings it.
    """

    name: str
    target: str
    source: str = BUNDLED
