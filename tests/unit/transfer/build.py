"""Studies and specs of small designs."""

from __future__ import annotations

from typing import Any

from tests.factors import Factors
from vlassess.schema.study import StudyConfig
from vlassess_link.specs import BenchmarkSpec, TaskSpec

SPEC = Factors(tasks=2).spec


def study_of(**changes: Any) -> StudyConfig:
    """Return a study of two policies in two cells, on eight starts."""
    values: dict[str, Any] = {
        "name": "small",
        "benchmark": {"target": "tests.factors:Factors", "params": {"tasks": 2}},
        "policies": {"one": {"local": "tests.factors:Sighted"}, "two": {"name": "random"}},
        "cells": [{"axis": "light", "level": "dim"}, {"axis": "object", "level": "mug"}],
        "starts": 8,
        **changes,
    }
    return StudyConfig.model_validate({key: value for key, value in values.items() if value is not None})


def few_shot(**changes: Any) -> dict[str, Any]:
    """Return a curve of two K and two methods to the object cell."""
    return {
        "policy": "one",
        "cell": "object=mug",
        "k": [2, 5],
        "methods": ["full", "head"],
        "checkpoint": {"name": "random", "params": {"weights": "{folder}/{method}-{k}.onnx", "chunk": "{k}"}},
        "folder": "/somewhere",
        **changes,
    }


def suites_spec(**tasks: int) -> BenchmarkSpec:
    """Return a benchmark that declares no factors: suite -> its number of tasks."""
    return BenchmarkSpec(
        id="suites",
        version="1",
        tasks=tuple(TaskSpec(suite, f"task-{n}", 10, "go") for suite, count in tasks.items() for n in range(count)),
        action=SPEC.action,
        state=SPEC.state,
        success="ever",
        hold_action=(0.0,),
        licence="Apache-2.0",
    )
