"""Hands episodes to workers and survives their death."""

from vlassess.execution.answers import Adapter, SpecAnswer
from vlassess.execution.asking import LocalAnswers
from vlassess.execution.coordinator import (
    ArtifactSink,
    Coordinator,
    Ending,
    GaveUpError,
    NoArtifacts,
    RecordSink,
    Work,
)
from vlassess.execution.fleet import Fleet
from vlassess.execution.handout import BlockedHandOut, DurationModel, Queue, group_of
from vlassess.execution.interpreters import Environment, prepare, ready
from vlassess.execution.launch import WorkerLaunch, in_environment, worker_launch
from vlassess.execution.ledger import attempts_by_item
from vlassess.execution.policies import PolicySide
from vlassess.execution.probe import Probe, probe
from vlassess.execution.servers import (
    PolicyServers,
    ServerLaunch,
    ServerStartError,
    label_of,
    replicated,
    server_launch,
    server_python,
)
from vlassess.execution.settings import FleetSettings, cores
from vlassess.execution.stopping import NeverEnough, StoppingRule, StopSwitch, stop_on_signals
from vlassess.execution.supervised import supervised_kit

__all__ = [
    "Adapter",
    "ArtifactSink",
    "BlockedHandOut",
    "Coordinator",
    "DurationModel",
    "Ending",
    "Environment",
    "Fleet",
    "FleetSettings",
    "GaveUpError",
    "LocalAnswers",
    "NeverEnough",
    "NoArtifacts",
    "PolicyServers",
    "PolicySide",
    "Probe",
    "Queue",
    "RecordSink",
    "ServerLaunch",
    "ServerStartError",
    "SpecAnswer",
    "StopSwitch",
    "StoppingRule",
    "Work",
    "WorkerLaunch",
    "attempts_by_item",
    "cores",
    "group_of",
    "in_environment",
    "label_of",
    "prepare",
    "ready",
    "probe",
    "replicated",
    "server_launch",
    "server_python",
    "stop_on_signals",
    "supervised_kit",
    "worker_launch",
]
