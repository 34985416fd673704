"""Runs the episodes that it is handed: JSON lines in on stdin, JSON lines out on stdout.

So the same worker runs as a plain process, in another interpreter, in a container or behind ssh, with no
port to open, and its death is a closed pipe. Messages, one JSON object a line, told apart by ``type``:

```
in   load       benchmark {target, params}, policies {label: source}, deadlines {phase: seconds}, lease,
                phase_file (on one host: where the running phase is kept for whoever finds the worker dead)
     run        item_id, attempt, label, episode, policy (source), horizon, artifacts (an `ArtifactRequest` or null),
                realtime (a `RealTime` or null), disturbance (a `Disturbance` or null)
     answer     policy (source), question, options {key: text}: asked without an episode
     heartbeat  renews the lease; without it the worker ends itself
     stop       ends the worker once it is idle
out  hello      protocol, pid, host, python, versions
     load       benchmark (spec), policies {label: spec}; or error {origin, phase, kind, message, traceback}
     answer     choice, a key of the options; or error {origin, phase, kind, message, traceback}
     record     record (an `EpisodeRecord`), leaving (true: the worker ends itself right after)
     heartbeat  phase, age (seconds in it), item_id
     log        text
```

A policy source is ``{"url": ..., "token_file": ..., "ca_file": ...}``, with ``dialect``, ``mapping`` and ``images`` as
in `policies.dialects`, or ``{"local": target, "params": {...}}``, and may have an ``ensemble``: what combines
overlapping chunks, see `policies.ensembling`. The real stdout is set aside before any simulator is imported, and
descriptor 1 points at stderr, since simulators print.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import platform
import queue
import signal
import sys
import threading
import time
from typing import Any, Dict, Mapping, Optional, TextIO, cast

import numpy as np

from vlassess_link._version import __version__
from vlassess_link.benchmarks.attempt import Attempt, Job, unstarted_record
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.benchmarks.charging import error_info, timeout_charge
from vlassess_link.benchmarks.disturbed import Disturbance
from vlassess_link.benchmarks.pacing import RealTime
from vlassess_link.benchmarks.recording import ArtifactRequest
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import Episode, EpisodeRecord, ErrorInfo
from vlassess_link.digest import canonical_json
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.loading import load_target
from vlassess_link.policies.base import Policy
from vlassess_link.policies.dialects import RemoteKinds, remote_policy
from vlassess_link.policies.ensembling import EnsemblePolicy
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer

PROTOCOL = 1
HEARTBEAT_SECONDS = 1.0
WATCH_SECONDS = 0.2
GRACE_SECONDS = 2.0
"""How much longer than its deadline a phase may last before the watchdog acts: a socket's own timeout is first."""
EXIT_HUNG = 70
EXIT_LEASE = 71
DEFAULT_DEADLINE = 60.0
PHASE_BYTES = 16


class Channel:
    """The worker's way out: one whole line a message, from any thread."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    def send(self, kind: str, **fields: Any) -> None:
        """Write one message and flush it."""
        line = json.dumps({"type": kind, **fields}, allow_nan=False)
        try:
            with self._lock:
                self._out.write(line + "\n")
                self._out.flush()
        except OSError:
            os._exit(EXIT_LEASE)  # nobody listens any more, and a thread that died of it could not say so


class Told(logging.Handler):
    """Tells the coordinator what the wire warns of, as that nobody answers at a policy's url yet."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(logging.WARNING)
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        """Send one line."""
        self._channel.send("log", text=record.getMessage())


class Worker:
    """Holds one benchmark and its policies, and runs one episode at a time."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._phase_file: Optional[mmap.mmap] = None
        self.monitor = Monitor(time.monotonic, self._tell_phase)
        self.deadlines: Dict[str, float] = {}
        self.attempt: Optional[Attempt] = None
        self.job: Optional[Job] = None
        self._benchmark: Optional[Benchmark] = None
        self._policies: Dict[str, Policy] = {}

    def load(self, message: Mapping[str, Any]) -> None:
        """Load the benchmark and the policies and answer with their specs; makes no environment."""
        self.deadlines = dict(message.get("deadlines", {}))
        if message.get("phase_file"):
            with open(message["phase_file"], "w+b") as file:
                file.write(b" " * PHASE_BYTES)
                file.flush()
                self._phase_file = mmap.mmap(file.fileno(), PHASE_BYTES)
        before = self.monitor.enter("load")
        try:
            source = message["benchmark"]
            loaded: Any = load_target(source["target"], (Benchmark,), dict(source.get("params", {})))
            self._benchmark = benchmark = cast(Benchmark, loaded)
            specs = {label: to_json(self._policy(item).spec) for label, item in message.get("policies", {}).items()}
        except Exception as error:
            self.channel.send("load", error=to_json(error_info(error, self.monitor.phase)))
            return
        finally:
            self.monitor.enter(before)
        self.channel.send("load", benchmark=to_json(benchmark.spec), policies=specs)

    def run(self, message: Mapping[str, Any]) -> None:
        """Run one attempt and answer with its record."""
        job = Job(
            message["item_id"],
            int(message["attempt"]),
            message["label"],
            from_json(Episode, message["episode"]),
            message.get("horizon"),
            from_json(ArtifactRequest, message["artifacts"]) if message.get("artifacts") else None,
            from_json(RealTime, message["realtime"]) if message.get("realtime") else None,
            from_json(Disturbance, message["disturbance"]) if message.get("disturbance") else None,
        )
        self.job = job
        self.send_record(self._record(job, message["policy"]))
        self.job = None

    def answer(self, message: Mapping[str, Any]) -> None:
        """Ask a policy one question without a robot and answer with its choice."""
        before = self.monitor.enter("load")
        try:
            policy = self._policy(message["policy"])
            self.monitor.enter("inference")
            choice = policy.answer(message["question"], dict(message["options"]))
        except Exception as error:
            self.channel.send("answer", error=to_json(error_info(error, self.monitor.phase)))
            return
        finally:
            self.monitor.enter(before)
        self.channel.send("answer", choice=choice)

    def _record(self, job: Job, source: Mapping[str, Any]) -> EpisodeRecord:
        if self._benchmark is None:
            raise RuntimeError("a run message came before a load message that succeeded")
        before = self.monitor.enter("connect")
        try:
            policy = self._policy(source)
            if isinstance(policy, (*RemoteKinds, EnsemblePolicy)):
                policy.connect()
        except Exception as error:
            return unstarted_record(job, error=error_info(error, "connect"))
        finally:
            self.monitor.enter(before)
        self.attempt = Attempt(job, self._benchmark, policy, self.monitor, interruptible=False)
        try:
            record = self.attempt.run()
            if self.attempt.recording_problem is not None:
                text = f"the recording of {job.item_id} is not whole: {self.attempt.recording_problem}"
                self.channel.send("log", text=text)
            return record
        finally:
            self.attempt = None

    def send_record(self, record: EpisodeRecord, leaving: bool = False) -> None:
        """Send a record."""
        self.channel.send("record", record=to_json(record), leaving=leaving)

    def _policy(self, source: Mapping[str, Any]) -> Policy:
        key = canonical_json(source)
        if key not in self._policies:
            self._policies[key] = self._make_policy(source)
        return self._policies[key]

    def _make_policy(self, source: Mapping[str, Any]) -> Policy:
        policy = self._make_plain(source)
        return EnsemblePolicy(policy, source["ensemble"]) if source.get("ensemble") else policy

    def _make_plain(self, source: Mapping[str, Any]) -> Policy:
        self.monitor.enter("connect" if "url" in source else "load")
        if "url" in source:
            connect = self.deadlines.get("connect", DEFAULT_DEADLINE)
            inference = self.deadlines.get("inference", DEFAULT_DEADLINE)
            return remote_policy(source, connect, inference)
        loaded: Any = load_target(source["local"], (Policy, PredictModelServer), dict(source.get("params", {})))
        policy: Policy = InProcessPolicy(loaded) if isinstance(loaded, PredictModelServer) else loaded
        if policy.spec.privileged:
            policy.bind(self._benchmark)
        return policy

    def _tell_phase(self, phase: str) -> None:
        if self._phase_file is not None:
            self._phase_file[:PHASE_BYTES] = phase.encode("ascii").ljust(PHASE_BYTES)[:PHASE_BYTES]

    def close(self) -> None:
        """Close the policies, then the benchmark."""
        for policy in self._policies.values():
            policy.close()
        if self._benchmark is not None:
            self._benchmark.close()


class Watchdog(threading.Thread):
    """Beats, and ends the process when a phase runs past its deadline or the lease is missed.

    A Python thread cannot run while C code holds the interpreter; then the beats stop too, and the
    coordinator acts instead.
    """

    def __init__(self, worker: Worker) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._worker = worker
        self.lease_seconds: Optional[float] = None
        self.renewed: float = time.monotonic()

    def run(self) -> None:
        """Watch until the process ends."""
        next_beat = 0.0
        while True:
            now = time.monotonic()
            if self.lease_seconds is not None and now - self.renewed > self.lease_seconds:
                os._exit(EXIT_LEASE)
            phase, since = self._worker.monitor.now
            if now >= next_beat:
                job = self._worker.job
                item_id = job.item_id if job is not None else None
                self._worker.channel.send("heartbeat", phase=phase, age=now - since, item_id=item_id)
                next_beat = now + HEARTBEAT_SECONDS
            for phase, since in self._worker.monitor.running:
                limit = self._worker.deadlines.get(phase)
                if limit is not None and now - since > limit + GRACE_SECONDS:
                    self._end(phase, limit)
            time.sleep(WATCH_SECONDS)

    def _end(self, phase: str, limit: float) -> None:
        attempt = self._worker.attempt
        text = f"{phase} took longer than its deadline of {limit:g} s: mend it or raise execution.deadlines.{phase}"
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
        job = self._worker.job
        if job is not None:
            charged = timeout_charge(phase)
            error = ErrorInfo(charged[0], phase, charged[1], text)
            record = unstarted_record(job, error=error) if attempt is None else attempt.record(error=error)
            self._worker.send_record(record, leaving=True)
        os._exit(EXIT_HUNG)


def read_messages(lines: TextIO, inbox: queue.Queue[Dict[str, Any]], watchdog: Watchdog) -> None:
    """Put each message into the inbox; on the end of stdin the process ends at once: nobody listens any more."""
    for line in lines:
        message = json.loads(line)
        watchdog.renewed = time.monotonic()
        if message["type"] == "load":
            watchdog.lease_seconds = message.get("lease")
        if message["type"] != "heartbeat":
            inbox.put(message)
        if message["type"] == "stop":  # the end of stdin that follows must not cut the closing short
            return
    os._exit(0)


def set_stdout_aside() -> TextIO:
    """Return the real stdout, and point descriptor 1 at stderr for everybody else."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def main() -> int:
    """Serve the coordinator on stdin and stdout until it says stop.

    A Ctrl-C that reaches the worker, as through ssh or a container's terminal, is the coordinator's affair: it lets
    the running episode end, or ends the worker.
    """
    signal.signal(signal.SIGINT, lambda number, frame: None)
    channel = Channel(set_stdout_aside())
    logging.getLogger("vlassess_link.wire").addHandler(Told(channel))
    versions = {"vlassess_link": __version__, "numpy": np.__version__}
    channel.send(
        "hello",
        protocol=PROTOCOL,
        pid=os.getpid(),
        host=platform.node(),
        python=sys.version.split()[0],
        versions=versions,
    )
    worker = Worker(channel)
    watchdog = Watchdog(worker)
    watchdog.start()
    inbox: queue.Queue[Dict[str, Any]] = queue.Queue()
    threading.Thread(target=read_messages, args=(sys.stdin, inbox, watchdog), daemon=True).start()
    handlers = {"load": worker.load, "run": worker.run, "answer": worker.answer}
    while True:
        message = inbox.get()
        if message["type"] == "stop":
            break
        handlers[message["type"]](message)
    worker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
