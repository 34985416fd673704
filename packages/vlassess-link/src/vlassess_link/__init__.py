"""The contracts of vlassess, and what must run inside fragile environments."""

from vlassess_link._version import __version__
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import (
    ActionChunk,
    Episode,
    EpisodeRecord,
    EpisodeStart,
    ErrorInfo,
    Observation,
    Outcome,
    RawObservation,
    StepOutcome,
    StepResult,
)
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.specs import BenchmarkSpec, PolicyIdentity, PolicySpec, TaskSpec

__all__ = [
    "ActionChunk",
    "Benchmark",
    "BenchmarkSpec",
    "Episode",
    "EpisodeRecord",
    "EpisodeStart",
    "ErrorInfo",
    "Observation",
    "Outcome",
    "Policy",
    "PolicyIdentity",
    "PolicySpec",
    "PredictModelServer",
    "RawObservation",
    "SessionContext",
    "StepOutcome",
    "StepResult",
    "TaskSpec",
    "__version__",
]
