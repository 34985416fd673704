"""The workers of a run: started, watched, replaced."""

from __future__ import annotations

import queue
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlassess.execution.launch import WorkerLaunch
from vlassess.execution.process import Event, LineProcess
from vlassess.execution.settings import FleetSettings
from vlassess.schema.items import WorkItem
from vlassess_link.benchmarks.attempt import Job, unstarted_record
from vlassess_link.benchmarks.charging import timeout_charge
from vlassess_link.data import EpisodeRecord, ErrorInfo
from vlassess_link.jsonable import to_json
from vlassess_link.worker import EXIT_LEASE

STEADY_PHASES = ("reset", "step", "render", "inference", "artifact")
KILLED = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGINT, EXIT_LEASE)
"""How a worker ends that its simulator did not end: by somebody's signal, or because it missed its lease."""


@dataclass(frozen=True)
class Assignment:
    """What a worker is busy with, and where its policy answers."""

    item: WorkItem
    job: Job
    source: Mapping[str, Any]


class Seat:
    """One place in the fleet and the worker that sits in it.

    Attributes:
        number: From 0.
        assignment: What it is busy with, None while it is free.
        loaded: It has loaded the benchmark.
        leaving: It said that it ends itself, so it gets no further episode.
        load_error: Why it could not load the benchmark.
        local: The policy of its episode runs in its own process.
    """

    def __init__(self, number: int, process: LineProcess, phase_file: Path) -> None:
        self.number = number
        self.process = process
        self._phase_file = phase_file
        self.assignment: Assignment | None = None
        self.loaded = False
        self.leaving = False
        self.load_error: str | None = None
        self.local = False
        self.phase = "load"
        self.heard = time.monotonic()
        self.silenced = False

    @property
    def free(self) -> bool:
        """Whether it can take an episode."""
        return self.loaded and self.assignment is None and not self.leaving

    def hear(self, message: Mapping[str, Any]) -> None:
        """Note a sign of life."""
        self.heard = time.monotonic()
        self.phase = str(message.get("phase", self.phase))

    def fate(self, returncode: int, deadline: float) -> ErrorInfo:
        """Say what the end of its process means for the episode that it was busy with."""
        words = self.process.last_words()
        self.phase = self.phase_left() or self.phase
        if self.silenced:
            # Waiting for a remote policy never silences a worker, so only a local one can be charged.
            remote = self.phase == "inference" and not self.local
            charged = ("benchmark", "PhaseTimeout") if remote else timeout_charge(self.phase)
            text = f"{self.phase} did not end within {deadline:g} s and the worker did not react; it was killed"
            return ErrorInfo(charged[0], self.phase, charged[1], text, words)
        own = self.phase not in ("connect", "inference") and returncode not in KILLED
        kind = "LocalPolicyDied" if self.phase == "inference" and self.local else "WorkerDied"
        how = f"by signal {-returncode}" if returncode < 0 else f"with exit code {returncode}"
        text = f"the worker process ended {how} in mid-episode, in {self.phase}"
        return ErrorInfo("benchmark" if own else "infrastructure", self.phase, kind, text, words)

    def phase_left(self) -> str | None:
        """Return the phase that the worker is or was in, where it could leave word of it."""
        with suppress(OSError):
            return self._phase_file.read_bytes().decode("ascii", "replace").strip() or None
        return None


class Fleet:
    """Up to ``settings.workers`` workers of one launch."""

    def __init__(self, launch: WorkerLaunch, settings: FleetSettings, logs: Path) -> None:
        self.events: queue.Queue[Event] = queue.Queue()
        self._launch = launch
        self._settings = settings
        self._logs = logs
        self._seats: dict[LineProcess, Seat] = {}
        self._next_beat = 0.0

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The workers that are alive, by number."""
        return tuple(sorted(self._seats.values(), key=lambda seat: seat.number))

    @property
    def busy(self) -> tuple[Seat, ...]:
        """Those that have an episode."""
        return tuple(seat for seat in self.seats if seat.assignment is not None)

    def seat_of(self, process: LineProcess) -> Seat | None:
        """Return the seat of a process, None where it has left."""
        return self._seats.get(process)

    def grow_to(self, wanted: int) -> None:
        """Start workers until ``wanted`` are alive, at most as many as the settings allow."""
        taken = {seat.number for seat in self._seats.values()}
        free = (number for number in range(self._settings.workers) if number not in taken)
        for number in free:
            if len(self._seats) >= wanted:
                return
            process = LineProcess(
                self._launch.command, self._launch.env, self.events, self._logs / f"worker-{number}.log"
            )
            phase_file = self._logs.absolute() / f"worker-{number}.phase"
            phase_file.unlink(missing_ok=True)
            self._seats[process] = Seat(number, process, phase_file)
            process.send(
                "load",
                benchmark=self._launch.benchmark,
                deadlines=dict(self._settings.deadlines),
                lease=self._settings.lease,
                phase_file=str(phase_file),
            )

    def assign(self, seat: Seat, assignment: Assignment) -> None:
        """Hand an episode to a free worker."""
        job = assignment.job
        seat.assignment = assignment
        seat.local = "local" in assignment.source
        seat.heard = time.monotonic()
        seat.process.send(
            "run",
            item_id=job.item_id,
            attempt=job.attempt,
            label=job.label,
            episode=to_json(job.episode),
            policy=assignment.source,
            horizon=job.horizon,
            artifacts=to_json(job.artifacts),
            realtime=to_json(job.realtime),
            disturbance=to_json(job.disturbance),
        )

    def remove(self, process: LineProcess, returncode: int) -> EpisodeRecord | None:
        """Take a dead worker out; returns the record of the episode that it took with it."""
        seat = self._seats.pop(process)
        process.close(patience=1.0)
        if seat.assignment is None:
            return None
        return unstarted_record(
            seat.assignment.job, error=seat.fate(returncode, self._patience(seat)), worker=f"worker-{seat.number}"
        )

    def tend(self) -> None:
        """Renew the leases; kill workers that are silent for longer than any deadline allows."""
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + self._settings.beat
            for seat in self._seats.values():
                seat.process.send("heartbeat")
        for seat in self._seats.values():
            silence = now - seat.heard - self._settings.silence_grace
            if silence > 0 and silence > self._patience(seat) and not seat.silenced:
                seat.silenced = True
                seat.process.kill()

    def disband(self, patience: float) -> None:
        """End every worker: ask, then kill after ``patience`` seconds."""
        for seat in self._seats.values():
            if patience > 0 and seat.assignment is None:
                seat.process.send("stop")
            else:
                seat.process.kill()
        for process in list(self._seats):
            process.close(patience)
        self._seats.clear()

    def _patience(self, seat: Seat) -> float:
        """Return how long a worker may be silent: the deadline of the phase it is in, else the longest of any."""
        limit = self._settings.deadlines.get(seat.phase_left() or "")
        if limit is not None:
            return limit
        phases = STEADY_PHASES if seat.loaded else ("load", "connect")
        if seat.phase == "connect":
            phases = (*phases, "connect")
        return max((self._settings.deadlines.get(phase, 0.0) for phase in phases), default=0.0)
