"""Hands episodes to workers and survives their death."""

from vlassess.execution.coordinator import Coordinator, Ending, GaveUpError, PolicySide, RecordSink, Work
from vlassess.execution.fleet import Fleet
from vlassess.execution.handout import group_of
from vlassess.execution.launch import WorkerLaunch, worker_launch
from vlassess.execution.ledger import attempts_by_item
from vlassess.execution.probe import Probe, probe
from vlassess.execution.servers import PolicyServers, ServerLaunch, ServerStartError, server_launch
from vlassess.execution.settings import FleetSettings, cores
from vlassess.execution.stopping import StopSwitch, stop_on_signals

__all__ = [
    "Coordinator",
    "Ending",
    "Fleet",
    "FleetSettings",
    "GaveUpError",
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
    "probe",
    "server_launch",
    "stop_on_signals",
    "worker_launch",
]
