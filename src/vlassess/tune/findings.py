"""What tuning is told, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vlassess.schema.config import RunConfig
from vlassess.tune.point import OperatingPoint


@dataclass(frozen=True)
class TuneSettings:
    """How thoroughly is measured.

    Attributes:
        seconds: Length of each measurement, after everybody has begun.
        max_workers: Most workers that are tried.
        batches: Batch sizes that are tried; a policy without batches is measured at 1 only.
    """

    seconds: float = 5.0
    max_workers: int = 8
    batches: tuple[int, ...] = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Findings:
    """Both curves, and where to run.

    Attributes:
        label: The policy that was tuned for.
        benchmark: Name of the benchmark.
        demand: Workers -> observations a second that they ask about, with a policy that answers at once.
        supply: Batch size -> observations a second that the policy answers, with always enough waiting.
        point: Where to run.
        config: The config with the point in it.
    """

    label: str
    benchmark: str
    demand: Mapping[int, float]
    supply: Mapping[int, float]
    point: OperatingPoint
    config: RunConfig
