"""A child process that speaks JSON lines on its stdout; its death is a closed pipe."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Said:
    """A child said something."""

    child: LineProcess
    message: Mapping[str, Any]


@dataclass(frozen=True)
class Gone:
    """A child ended; ``returncode`` is negative for a signal."""

    child: LineProcess
    returncode: int


Event = Said | Gone

LAST_WORDS_SECONDS = 5.0
"""How long a dead child's pipe may take to run dry."""


class LineProcess:
    """One child; what it says and its end arrive as events in ``events``.

    It runs in a session of its own, so that Ctrl-C reaches the coordinator alone; it ends when its stdin is
    closed, so it cannot outlive the coordinator.

    Args:
        command: Its command line.
        env: Its environment.
        events: Where its events go.
        log: File that its stderr is appended to.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], events: queue.Queue[Event], log: Path) -> None:
        self.log = log
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=dict(env),
                start_new_session=True,
            )
        self._events = events
        self._swept = threading.Event()
        self._reader = threading.Thread(target=self._read, name=f"reader-{self.pid}", daemon=True)
        self._reader.start()
        threading.Thread(target=self._await_end, name=f"waiter-{self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, kind: str, **fields: Any) -> None:
        """Send one message; to a child that died it is lost, and `Gone` tells."""
        line = json.dumps({"type": kind, **fields}, allow_nan=False).encode("ascii") + b"\n"
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def kill(self) -> None:
        """End it now, with everything that it started in its session."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, 9)

    def terminate(self) -> None:
        """Ask it to end."""
        if not self._swept.is_set():  # until then its id is its own
            os.kill(self.pid, signal.SIGTERM)

    def close(self, patience: float) -> None:
        """Close its stdin, wait until it and what it started have ended, kill it after ``patience`` seconds."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if not self._swept.wait(patience):
            self.kill()
            self._swept.wait()
        self._process.wait()

    def last_words(self, lines: int = 3) -> str:
        """Return the last lines of its stderr; of one that ended with ``error: sentence``, the sentence."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:  # simulators fill gigabytes
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4000))
            text = file.read().decode("utf-8", "replace")
        said = text.strip().splitlines()
        if said and said[-1].startswith("error: "):
            return said[-1][len("error: ") :]
        return "\n".join(said[-lines:])

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with suppress(ValueError):  # the line of a child that was killed in mid-sentence
                    message = json.loads(line)
                    if isinstance(message, dict):
                        self._events.put(Said(self, message))

    def _await_end(self) -> None:
        """Report the end once everything that was said is told; what the child started in its session ends with it.

        The child is not reaped before its group is swept, so that its id cannot be another's by then.
        """
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self.kill()
        self._swept.set()
        self._reader.join(LAST_WORDS_SECONDS)
        self._events.put(Gone(self, self._process.wait()))
