"""Policy servers that the run starts, awaits, restarts and stops."""

from __future__ import annotations

import json
import os
import queue
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vlassess.execution.process import Event, Gone, LineProcess, Said
from vlassess_link.errors import VlassessError


class ServerStartError(VlassessError):
    """A policy server did not come up."""


@dataclass(frozen=True)
class ServerLaunch:
    """What starts one policy server: its command line (but for ``--port``) and whole environment."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def server_launch(target: str, params: Mapping[str, Any]) -> ServerLaunch:
    """Return the launch of a policy server in this interpreter, on loopback."""
    options = ["--host", "127.0.0.1", "--params-json", json.dumps(dict(params)), "--exit-with-parent"]
    env = {"PYTHONUNBUFFERED": "1", **os.environ}
    return ServerLaunch((sys.executable, "-m", "vlassess_link.policies.server", target, *options), env)


@dataclass
class _Server:
    launch: ServerLaunch
    process: LineProcess | None = None
    url: str | None = None
    port: int = 0
    deadline: float = 0.0


class PolicyServers:
    """One server per policy label, each on a free port that it keeps when it is started again.

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
                raise ServerStartError(self._obituary(label, "ended while it was starting"))
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
                server.url = str(event.message["url"])
                server.port = urlsplit(server.url).port or 0
            elif isinstance(event, Gone):
                server.port = server.port if server.url is not None else 0
                server.url = None
                ended.append(label)
        now = time.monotonic()
        for label, server in self._servers.items():
            if server.url is None and label not in ended and now > server.deadline:
                raise ServerStartError(self._obituary(label, f"was not ready after {self._patience:g} s"))
        return ended

    def url(self, label: str) -> str | None:
        """Return where the policy answers, None while it is not ready."""
        return self._servers[label].url

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies that have a server here."""
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

    def _obituary(self, label: str, what: str) -> str:
        process = self._servers[label].process
        words = process.last_words() if process is not None else ""
        return f"the server of policy {label!r} {what}: {words or 'it said nothing'}"


def safe_name(label: str) -> str:
    """Return ``label`` as a file name."""
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in label)
