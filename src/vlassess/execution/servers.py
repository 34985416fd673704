"""Policy servers that the run starts, awaits, restarts and stops."""

from __future__ import annotations

import json
import os
import queue
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vlassess.execution.launch import OF_THIS_INTERPRETER
from vlassess.execution.link_copy import link_folder
from vlassess.execution.process import Event, Gone, LineProcess, Said
from vlassess.execution.scripts import own_python
from vlassess_link.errors import VlassessError

SERVER = "vlassess_link.policies.server"


class ServerStartError(VlassessError):
    """A policy server did not come up."""


@dataclass(frozen=True)
class ServerLaunch:
    """What starts one policy server: its command line (but for ``--port``) and whole environment."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def server_launch(
    target: str,
    params: Mapping[str, Any],
    max_batch: int | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> ServerLaunch:
    """Return the launch of a policy server on loopback: in this interpreter, or in the one that its script asks for.

    Args:
        target: The policy.
        params: Keyword arguments of its constructor.
        max_batch: Most observations of one batch; None: as the policy says.
        note: Told what goes on while a script's environment is built.

    Raises:
        PluginError: the script's environment cannot be built; says why.
    """
    options = ["--host", "127.0.0.1", "--params-json", json.dumps(dict(params)), "--exit-with-parent"]
    if max_batch is not None:
        options += ["--max-batch", str(max_batch)]
    python, env = server_python(target, note)
    return ServerLaunch((python, "-m", SERVER, target, *options), env)


def server_python(target: str, note: Callable[[str], None]) -> tuple[str, dict[str, str]]:
    """Return the Python that serves a policy, and its whole environment.

    Raises:
        PluginError: the script's environment cannot be built; says why.
    """
    env = {"PYTHONUNBUFFERED": "1", **os.environ}
    own = own_python(target, note)
    if own is None:
        return sys.executable, env
    env = {name: value for name, value in env.items() if name not in OF_THIS_INTERPRETER}
    return str(own), {**env, "PYTHONPATH": str(link_folder())}


def replicated(launch: ServerLaunch, label: str, replicas: int) -> dict[str, ServerLaunch]:
    """Return the launches of a policy's replicas by name: its label alone for one, else ``label#1`` and so on.

    Each is told its number, from 0, in ``VLASSESS_REPLICA``; where ``CUDA_VISIBLE_DEVICES`` names several devices,
    each gets one of them in turn.
    """
    if replicas == 1:
        return {label: launch}
    devices = [device for device in launch.env.get("CUDA_VISIBLE_DEVICES", "").split(",") if device]
    launches = {}
    for number in range(replicas):
        own = {"VLASSESS_REPLICA": str(number)}
        if len(devices) > 1:
            own["CUDA_VISIBLE_DEVICES"] = devices[number % len(devices)]
        launches[f"{label}#{number + 1}"] = replace(launch, env={**launch.env, **own})
    return launches


def label_of(name: str) -> str:
    """Return the label of the policy that a replica belongs to; no label holds the sign that numbers them."""
    return name.partition("#")[0]


@dataclass
class _Server:
    launch: ServerLaunch
    process: LineProcess | None = None
    url: str | None = None
    last_url: str | None = None
    port: int = 0
    deadline: float = 0.0


class PolicyServers:
    """One server per policy label or replica, each on a free port that it keeps when it is started again.

    So a worker that is told of a server which has just died finds its successor at the same address.

    Args:
        launches: Label -> launch.
        logs: Folder for their stderr.
        patience: Seconds that a start may take.
    """

    def __init__(self, launches: Mapping[str, ServerLaunch], logs: Path, patience: float) -> None:
        self._servers = {label: _Server(launch) for label, launch in launches.items()}
        self._logs = logs
        self._patience = patience
        self._events: queue.Queue[Event] = queue.Queue()

    def start(self) -> None:
        """Start every server and wait until each is ready.

        Raises:
            ServerStartError: one ended or took too long; quotes its last words.
        """
        for label in self._servers:
            self._start(label)
        while any(server.url is None for server in self._servers.values()):
            for label in self.poll():
                raise ServerStartError(self.obituary(label, "ended while it was starting"))
            time.sleep(0.02)

    def poll(self) -> list[str]:
        """Take in what the servers said; return the labels of those that ended since.

        Raises:
            ServerStartError: one that was (re)started took too long.
        """
        ended = []
        while not self._events.empty():
            event = self._events.get()
            label = self._label_of(event.child)
            if label is None:
                continue
            server = self._servers[label]
            if isinstance(event, Said) and event.message.get("ready"):
                server.url = server.last_url = str(event.message["url"])
                server.port = urlsplit(server.url).port or 0
            elif isinstance(event, Gone):
                server.port = server.port if server.url is not None else 0
                server.url = None
                ended.append(label)
        now = time.monotonic()
        for label, server in self._servers.items():
            if server.url is None and label not in ended and now > server.deadline:
                raise ServerStartError(self.obituary(label, f"was not ready after {self._patience:g} s"))
        return ended

    def url(self, label: str) -> str | None:
        """Return where the policy answers, None while it is not ready."""
        return self._servers[label].url

    def last_url(self, label: str) -> str | None:
        """Return where the policy answers, or did before it ended."""
        return self._servers[label].last_url

    @property
    def labels(self) -> tuple[str, ...]:
        """The servers here: a policy's label, or the names of its replicas."""
        return tuple(self._servers)

    def restart(self, label: str) -> None:
        """Start a server that ended; `url` tells when it is ready."""
        self._start(label)

    def kill(self, label: str) -> None:
        """End a server that hangs; `poll` reports it."""
        process = self._servers[label].process
        if process is not None:
            process.kill()

    def log(self, label: str) -> Path:
        """Return the file that the server's stderr goes to."""
        return self._logs / f"policy-{safe_name(label)}.log"

    def move_logs(self, logs: Path) -> None:
        """Say that the folder with the servers' stderr has been moved."""
        self._logs = logs
        for label, server in self._servers.items():
            if server.process is not None:
                server.process.log = self.log(label)

    def obituary(self, label: str, what: str) -> str:
        """Return what became of a server, with its last words."""
        process = self._servers[label].process
        words = process.last_words() if process is not None else ""
        return f"the server of policy {label!r} {what}: {words or 'it said nothing'}"

    def stop(self) -> None:
        """Stop every server."""
        running = [server.process for server in self._servers.values() if server.process is not None]
        for process in running:
            process.terminate()
        for process in running:
            process.close(patience=5.0)

    def _start(self, label: str) -> None:
        server = self._servers[label]
        server.url = None
        server.deadline = time.monotonic() + self._patience
        if server.process is not None:
            server.process.close(patience=1.0)
        command = (*server.launch.command, "--port", str(server.port))
        server.process = LineProcess(command, server.launch.env, self._events, self.log(label))

    def _label_of(self, process: LineProcess) -> str | None:
        return next((label for label, server in self._servers.items() if server.process is process), None)


def safe_name(label: str) -> str:
    """Return ``label`` as a file name."""
    return "".join(char if char.isalnum() or char in "-_.#" else "_" for char in label)
