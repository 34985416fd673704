"""The contracts of vlassess, and what must run inside fragile environments."""

from vlassess_link._version import __version__
from vlassess_link.benchmarks.base import Benchmark, View
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
from vlassess_link.errors import BenchmarkFault, ContractError, PluginError, PolicyFault, VlassessError
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.specs import (
    Axis,
    BenchmarkSpec,
    CameraSpec,
    ImageConvention,
    Level,
    PolicyIdentity,
    PolicySpec,
    TaskSpec,
    Termination,
)

__all__ = [
    "ActionChunk",
    "Axis",
    "Benchmark",
    "BenchmarkFault",
    "BenchmarkSpec",
    "CameraSpec",
    "Component",
    "ContractError",
    "Episode",
    "EpisodeRecord",
    "EpisodeStart",
    "ErrorInfo",
    "ImageConvention",
    "Layout",
    "Level",
    "Observation",
    "Outcome",
    "PluginError",
    "Policy",
    "PolicyFault",
    "PolicyIdentity",
    "PolicySpec",
    "PredictModelServer",
    "RawObservation",
    "SessionContext",
    "StepOutcome",
    "StepResult",
    "TaskSpec",
    "Termination",
    "View",
    "VlassessError",
    "__version__",
    "end_effector_delta",
]
