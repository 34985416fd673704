"""A benchmark with two suites and no factor. Imports `vlassess_link` only: workers load it by its path."""

from __future__ import annotations

import dataclasses
from typing import Any

from vlassess_link.testing import FakeBenchmark


class Suites(FakeBenchmark):
    """The walk of the fakes, with its nearer goals in one suite and its farther ones in another."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**{"tasks": 4, **params})
        suites = ("near", "near", "far", "far")
        tasks = tuple(
            dataclasses.replace(task, suite=suite) for task, suite in zip(self.spec.tasks, suites, strict=True)
        )
        self.spec = dataclasses.replace(self.spec, tasks=tasks, axes=())
