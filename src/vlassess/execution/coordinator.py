"""The loop that hands out episodes, stores what comes back and survives what dies.

Single-threaded: children's words arrive as events in one queue. The order within one turn matters: records
are stored first, then listeners and the ledger learn, then free workers get new episodes.
"""

from __future__ import annotations

import dataclasses
import queue
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from vlassess.execution.fleet import Assignment, Fleet, Seat
from vlassess.execution.handout import DurationModel, Group, HandOut, Queue
from vlassess.execution.ledger import Ledger, Verdict
from vlassess.execution.policies import PolicySide
from vlassess.execution.process import Event, Gone
from vlassess.execution.servers import label_of
from vlassess.execution.settings import FleetSettings
from vlassess.execution.stopping import NeverEnough, StoppingRule, StopSwitch
from vlassess.schema.events import Listener
from vlassess.schema.items import WorkItem
from vlassess_link.benchmarks.attempt import Job
from vlassess_link.benchmarks.disturbed import Disturbance
from vlassess_link.benchmarks.pacing import RealTime
from vlassess_link.benchmarks.recording import ArtifactRequest
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import VlassessError
from vlassess_link.jsonable import from_json

TURN_SECONDS = 0.1


class RecordSink(Protocol):
    """Where records are kept."""

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        """Keep records; when it returns they are safe."""


class ArtifactSink(Protocol):
    """Where what is recorded beside the episodes goes. Never makes the hand-out wait."""

    def request(self, item: WorkItem, attempt: int) -> ArtifactRequest | None:
        """Return what an attempt has to record, None for nothing."""

    def finished(self, item: WorkItem, record: EpisodeRecord) -> None:
        """Say that an attempt's record is on disk."""

    def notes(self) -> list[str]:
        """Return what people should know since it was last asked."""


class NoArtifacts:
    """Records nothing."""

    def request(self, item: WorkItem, attempt: int) -> ArtifactRequest | None:
        """Ask for nothing."""
        return None

    def finished(self, item: WorkItem, record: EpisodeRecord) -> None:
        """Ignore it."""

    def notes(self) -> list[str]:
        """Have nothing to tell."""
        return []


@dataclass(frozen=True)
class Work:
    """What is to be done and how.

    Attributes:
        items: The work items that are not final yet.
        settings: Attempts, deadlines, patience.
        before: Item -> attempts of earlier coordinators.
        expected_steps: Expected control steps per episode, by policy and task.
        artifacts: Where what is recorded beside the episodes goes.
        queue: Makes the queue of items, from these and what their groups are expected to take.
        rule: Says when enough is known: then nothing more is handed out, and what runs is finished.
        realtime: How the episodes run in real time; None: the simulator waits for the policy.
        disturbance: What is added to actions before they are executed; None: nothing.
    """

    items: Sequence[WorkItem]
    settings: FleetSettings
    before: Mapping[str, int] = field(default_factory=dict)
    expected_steps: Mapping[Group, float] = field(default_factory=dict)
    artifacts: ArtifactSink = field(default_factory=NoArtifacts)
    queue: Callable[[Iterable[WorkItem], Callable[[Group], float]], Queue] = HandOut
    rule: StoppingRule = field(default_factory=NeverEnough)
    realtime: RealTime | None = None
    disturbance: Disturbance | None = None


@dataclass(frozen=True)
class Ending:
    """How the coordinator ended.

    Attributes:
        interrupted: It was asked to stop.
        reason: Why it gave up, None where it did not.
        decided: What its stopping rule decided, None where it did not.
    """

    interrupted: bool
    reason: str | None = None
    decided: str | None = None


class GaveUpError(VlassessError):
    """The coordinator cannot go on; what was finished is on disk."""


class Finished(NamedTuple):
    """An attempt that ended, and the item that it belongs to."""

    item: WorkItem
    record: EpisodeRecord


class Coordinator:
    """Runs work items on a fleet.

    Args:
        work: What is to be done.
        fleet: The workers.
        policies: The policies' side.
        sink: Where records are kept.
        listener: Who is told.
        stop: How it is asked to stop.
    """

    def __init__(
        self, work: Work, fleet: Fleet, policies: PolicySide, sink: RecordSink, listener: Listener, stop: StopSwitch
    ) -> None:
        self._settings = work.settings
        self._artifacts = work.artifacts
        self._realtime = work.realtime
        self._disturbance = work.disturbance
        self._fleet = fleet
        self._policies = policies
        self._sink = sink
        self._listener = listener
        self._stop = stop
        self._ledger = Ledger(work.settings.attempts, work.before)
        self._durations = DurationModel(work.expected_steps)
        self._handout = work.queue(work.items, self._durations.expected)
        self._rule = work.rule
        self._alone: deque[WorkItem] = deque()
        self._fruitless: Counter[str] = Counter()

    def run(self) -> Ending:
        """Return when every item is final or given up, enough is known, or it is asked to stop or has to give up."""
        reason = None
        try:
            while self._turn():
                pass
        except VlassessError as error:
            reason = str(error)
        finally:
            self._fleet.disband(patience=0.0 if reason is not None or self._stop.requests > 1 else 5.0)
        decided = self._rule.decision if reason is None else None
        return Ending(self._stop.requests > 0 and decided is None, reason, decided)

    def _turn(self) -> bool:
        """Do one round; returns whether another is needed."""
        if self._stop.requests > 1:
            return False
        self._tend_servers()
        going_on = self._stop.requests == 0 and self._rule.decision is None
        if going_on:
            self._fleet.grow_to(len(self._handout) + len(self._alone) + len(self._fleet.busy))
            self._assign()
        unfinished = going_on and (self._handout or self._alone)
        if not self._fleet.busy and not unfinished:
            return False
        self._take_in(self._next_events())
        self._fleet.tend()
        for note in self._artifacts.notes():
            self._listener.note(note)
        return True

    def _next_events(self) -> list[Event]:
        events: list[Event] = []
        try:
            events.append(self._fleet.events.get(timeout=TURN_SECONDS))
            while True:
                events.append(self._fleet.events.get_nowait())
        except queue.Empty:
            return events

    def _take_in(self, events: Sequence[Event]) -> None:
        finished = [done for event in events if (done := self._understand(event)) is not None]
        if not finished:
            return
        judged = [self._ledger.judge(done.record) for done in finished]
        self._sink.append([record for record, _ in judged])
        for done, (record, verdict) in zip(finished, judged, strict=True):
            self._listener.record(record)
            self._rule.learn(record)
            self._artifacts.finished(done.item, record)
            self._settle(done.item, record, verdict)

    def _understand(self, event: Event) -> Finished | None:
        seat = self._fleet.seat_of(event.child)
        if seat is None:
            return None
        if isinstance(event, Gone):
            return self._bury(seat, event.returncode)
        seat.hear(event.message)
        kind = event.message.get("type")
        if kind == "load":
            self._welcome(seat, event.message)
        elif kind == "log":
            self._listener.note(str(event.message.get("text", "")))
        elif kind == "record":
            return self._collect(seat, event.message)
        return None

    def _welcome(self, seat: Seat, message: Mapping[str, Any]) -> None:
        if "error" in message:
            seat.load_error = str(message["error"]["message"])
            seat.process.kill()
            return
        seat.loaded = True
        self._listener.workers(len(self._fleet.seats))

    def _collect(self, seat: Seat, message: Mapping[str, Any]) -> Finished | None:
        record = from_json(EpisodeRecord, message["record"])
        seat.leaving = bool(message.get("leaving"))
        assignment = seat.assignment
        if assignment is None:
            return None
        job = assignment.job
        if (job.item_id, job.attempt) != (record.item_id, record.attempt):  # a leaving worker's second word
            return None
        seat.assignment = None
        self._policies.finished(assignment.item.policy, assignment.source, record.error)
        return Finished(assignment.item, dataclasses.replace(record, worker=f"worker-{seat.number}"))

    def _bury(self, seat: Seat, returncode: int) -> Finished | None:
        assignment = seat.assignment
        record = self._fleet.remove(seat.process, returncode)
        self._listener.note(f"worker {seat.number} ended ({returncode}) and is replaced; see {seat.process.log}")
        if record is not None and assignment is not None:
            self._policies.finished(assignment.item.policy, assignment.source, record.error)
            return Finished(assignment.item, record)
        if seat.leaving:  # its episode has its record
            return None
        what = f"ended ({returncode}) before it took an episode: {seat.process.last_words() or 'it said nothing'}"
        if seat.load_error is not None:
            what = f"could not load the benchmark: {seat.load_error}"
        self._count_fruitless("workers", f"again and again a worker {what}; see {seat.process.log} and resume")
        return None

    def _settle(self, item: WorkItem, record: EpisodeRecord, verdict: Verdict) -> None:
        if verdict is Verdict.FINAL:
            self._durations.learn(record)
            for what in ("workers", f"server {item.policy}", f"unavailable {item.policy}"):
                self._fruitless.pop(what, None)
        elif verdict is Verdict.AGAIN:
            self._handout.put_back(item)
        elif verdict is Verdict.AGAIN_ALONE:
            self._alone.append(item)
        kind = record.error.kind if record.error is not None else None
        if kind == "PolicyUnavailable" and record.error is not None:
            self._count_fruitless(
                f"unavailable {item.policy}",
                f"policy {item.policy!r} does not answer any more: {record.error.message}; start it and resume",
            )

    def _assign(self) -> None:
        ready = self._policies.ready()
        for seat in self._fleet.seats:
            item = self._pick(ready) if seat.free else None
            if item is not None:
                attempt = self._ledger.next_attempt(item.item_id)
                horizon = self._policies.horizons.get(item.policy)
                artifacts = self._artifacts.request(item, attempt)
                how = (horizon, artifacts, self._realtime, self._disturbance)
                job = Job(item.item_id, attempt, item.policy, item.episode, *how)
                self._fleet.assign(seat, Assignment(item, job, self._policies.source_for(item.policy)))

    def _pick(self, ready: Collection[str]) -> WorkItem | None:
        if self._handout:
            return self._handout.next(ready)
        if self._alone and not self._fleet.busy and self._alone[0].policy in ready:
            return self._alone.popleft()
        return None

    def _tend_servers(self) -> None:
        for name in self._policies.poll():
            label = label_of(name)
            self._listener.note(f"the server of policy {name!r} ended and is started again")
            log = self._policies.servers.log(name)
            self._count_fruitless(
                f"server {label}", f"the server of policy {name!r} ended again and again; see {log} and resume"
            )

    def _count_fruitless(self, what: str, reason: str) -> None:
        """Give up when the same thing goes wrong too often without one finished episode in between."""
        self._fruitless[what] += 1
        if self._fruitless[what] > self._settings.fruitless + self._settings.workers:
            raise GaveUpError(reason)
