"""Hands episodes to workers and survives their death."""

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
from vlassess.execution.handout import DurationModel, group_of
from vlassess.execution.interpreters import Environment, prepare
from vlassess.execution.launch import WorkerLaunch, in_environment, worker_launch
from vlassess.execution.ledger import attempts_by_item
from vlassess.execution.policies import PolicySide
from vlassess.execution.probe import Probe, probe
from vlassess.execution.servers import (
    PolicyServers,
    ServerLaunch,
    ServerStartError,
    replicated,
    server_launch,
    server_python,
)
from vlassess.execution.settings import FleetSettings, cores
from vlassess.execution.stopping import StopSwitch, stop_on_signals

__all__ = [
    "ArtifactSink",
    "Coordinator",
    "DurationModel",
    "Ending",
    "Environment",
    "Fleet",
    "FleetSettings",
    "GaveUpError",
    "NoArtifacts",
    "PolicyServers",
    "PolicySide",
    "Probe",
    "RecordSink",
    "ServerLaunch",
    "ServerStartError",
    "StopSwitch",
    "Work",
    "WorkerLaunch",
    "attempts_by_item",
    "cores",
    "group_of",
    "in_environment",
    "prepare",
    "probe",
    "replicated",
    "server_launch",
    "server_python",
    "stop_on_signals",
    "worker_launch",
]
