"""The one thread that a model's code runs in, behind a queue.

Model libraries are at home in one thread, and a slow `predict` must never hold up a handshake, `/health`
or another session's bytes. So everything that is the model's runs here, and those who ask wait. Observations of
several sessions are answered in one batch where the model has `predict_batch`; when is decided in `batching`.
The oldest request is in the next batch, whoever sent it, so no session starves.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, List, NamedTuple, Optional, Tuple

from vlassess_link.data import ActionChunk, Observation
from vlassess_link.errors import ConnectionLost, ContractError, PolicyFault
from vlassess_link.policies.batching import Batcher
from vlassess_link.policies.metrics import Metrics
from vlassess_link.policies.model import (
    ModelSession,
    PredictModelServer,
    announced_spec,
    guarded,
    predict_together,
)
from vlassess_link.specs import PolicySpec


class Running(NamedTuple):
    """What the model is busy with: the sessions that wait for it, and for how many seconds."""

    sessions: Tuple[str, ...]
    seconds: float


@dataclass
class _Job:
    """Something to run in the model's thread: a function, or an observation of a session."""

    wanted: Callable[[], bool]
    session_id: str
    asked: float
    function: Optional[Callable[..., Any]] = None
    args: Tuple[Any, ...] = ()
    session: Optional[ModelSession] = None
    future: Future[Any] = field(default_factory=Future)


class ModelHost:
    """Holds one model and its thread.

    Attributes:
        loaded: Done when the model is loaded; its exception says why it could not be.
        metrics: What was counted.
        draining: No new episode is to begin.

    Args:
        max_batch: Most observations of one batch; None: as the model says.
        clock: Seconds, from anywhere.
    """

    def __init__(self, max_batch: Optional[int] = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.loaded: Future[None] = Future()
        self.metrics = Metrics()
        self.draining = False
        self._clock = clock
        self._max_batch = max_batch
        self._model: Optional[PredictModelServer] = None
        self._spec: Optional[PolicySpec] = None
        self._seeds = itertools.count()
        self._changed = threading.Condition()
        self._jobs: Deque[_Job] = deque()
        self._running: List[_Job] = []
        self._running_since = 0.0
        self._batcher = Batcher(1, clock)
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="inference", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether the model is loaded and answers."""
        return self._spec is not None and not self._closing

    @property
    def model(self) -> PredictModelServer:
        """The loaded model.

        Raises:
            ContractError: none is loaded yet.
        """
        if self._model is None or self._spec is None:
            raise ContractError("the policy is not loaded yet: wait until /health answers 200")
        return self._model

    @property
    def spec(self) -> PolicySpec:
        """The loaded model's spec with all capabilities.

        Raises:
            ContractError: none is loaded yet.
        """
        if self._spec is None:
            raise ContractError("the policy is not loaded yet: wait until /health answers 200")
        return self._spec

    @property
    def max_batch(self) -> int:
        """Most observations of one batch; 1 for a model without `predict_batch`."""
        return self._batcher.max_batch

    @max_batch.setter
    def max_batch(self, size: int) -> None:
        if size < 1:
            raise ContractError(f"max_batch_size is {size}; it must be at least 1")
        with self._changed:
            self.model.max_batch_size = size
            self._batcher.max_batch = size if self.model.batched else 1

    @property
    def running(self) -> Optional[Running]:
        """What the model is busy with, None while it is idle."""
        with self._changed:
            if not self._running:
                return None
            sessions = tuple(job.session_id for job in self._running)
            return Running(sessions, self._clock() - self._running_since)

    @property
    def queued(self) -> int:
        """How many requests wait."""
        return len(self._jobs)

    def next_seed(self) -> int:
        """Return a noise seed for an episode whose client sent none: 0, 1, 2 ... in the order of their starts."""
        return next(self._seeds)

    def load(self, model: PredictModelServer) -> None:
        """Begin to load; returns at once. `loaded` tells the end."""
        self._model = model
        loading = self._submit(_Job(lambda: True, "", self._clock(), self._load, (model,)))
        loading.add_done_callback(self._settle)

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        wanted: Callable[[], bool] = lambda: True,
        session_id: str = "",
    ) -> Any:
        """Run a function in the model's thread and return what it returns.

        Args:
            function: To run.
            *args: For it.
            wanted: Asked when its turn comes; False: nobody waits any more, and it is left out.
            session_id: Who asks.

        Raises:
            ConnectionLost: it was left out, or the host is closing.
            Exception: whatever the function raises.
        """
        return self._submit(_Job(wanted, session_id, self._clock(), function, args)).result()

    def predict(
        self, session: ModelSession, obs: Observation, wanted: Callable[[], bool] = lambda: True
    ) -> ActionChunk:
        """Return the model's chunk for an observation, computed alone or with others.

        Raises:
            ConnectionLost: nobody waits any more, or the host is closing.
            PolicyFault: the model raised, or answered something that is no action chunk.
        """
        job = _Job(wanted, session.session_id, self._clock(), None, (obs,), session)
        chunk: ActionChunk = self._submit(job).result()
        return chunk

    def paused(self, session_id: str) -> None:
        """Say that a session's episode ended or begins: it is not expected before its next observation."""
        with self._changed:
            self._batcher.paused(session_id)
            self._changed.notify()

    def left(self, session_id: str) -> None:
        """Say that a session is over."""
        with self._changed:
            self._batcher.left(session_id)
            self._changed.notify()

    def close(self, grace: float) -> None:
        """Refuse new calls, let running ones end for ``grace`` seconds, then fail those that wait."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(grace)
        with self._changed:
            left = [*self._running, *self._jobs]
            self._jobs.clear()
        for job in left:
            self._fail(job.future)

    def _submit(self, job: _Job) -> Future[Any]:
        with self._changed:
            if not self._closing:
                if job.session is not None:
                    self._batcher.arrived(job.session_id)
                self._jobs.append(job)
                self._changed.notify()
                return job.future
        self._fail(job.future)
        return job.future

    def _work(self) -> None:
        while True:
            jobs = self._take()
            if not jobs:
                break
            wanted = [job for job in jobs if self._is_wanted(job)]
            if wanted and wanted[0].session is None:
                self._run(wanted[0])
            elif wanted:
                self._run_batch(wanted)
            with self._changed:
                self._running = []
        if self._spec is not None and self._model is not None:
            self._model.close()

    def _take(self) -> List[_Job]:
        """Wait for something to run and take it out of the queue; empty when the host closes."""
        with self._changed:
            while True:
                if self._jobs:
                    chosen, until = self._choose()
                    if chosen:
                        taken = {id(job) for job in chosen}
                        self._jobs = deque(job for job in self._jobs if id(job) not in taken)
                        self._running, self._running_since = chosen, self._clock()
                        return chosen
                    self._changed.wait(max(0.0, until - self._clock()))
                elif self._closing:
                    return []
                else:
                    self._changed.wait()

    def _choose(self) -> Tuple[List[_Job], float]:
        """Return what to run now: one function or a batch; or nothing and until when to wait for more."""
        if self._jobs[0].session is None:
            return [self._jobs[0]], 0.0
        batch = list(itertools.islice((job for job in self._jobs if job.session is not None), self.max_batch))
        until = None if self._closing else self._batcher.wait_until(len(batch))
        if until is None:
            return batch, 0.0
        # While a batch waits for another session, what is not of it costs nobody anything.
        return [job for job in self._jobs if job.session is None][:1], until

    def _is_wanted(self, job: _Job) -> bool:
        if job.wanted():
            return True
        self._finish(job.future, None, ConnectionLost("the client went away before its turn came"))
        return False

    def _run(self, job: _Job) -> None:
        assert job.function is not None
        try:
            self._finish(job.future, job.function(*job.args), None)
        except (Exception, SystemExit) as error:
            # Whoever asked raises it again; SystemExit too, lest a model's sys.exit() end this thread.
            self._finish(job.future, None, error)

    def _run_batch(self, jobs: List[_Job]) -> None:
        sessions = [job.session for job in jobs if job.session is not None]
        begin = self._clock()
        answers = predict_together(self.model, sessions, [job.args[0] for job in jobs])
        end = self._clock()
        failed = sum(isinstance(answer, PolicyFault) for answer in answers)
        self._count(jobs, end - begin, failed)
        with self._changed:
            if not failed:
                self._batcher.ran(len(jobs), end - begin)
            for job in jobs:
                self._batcher.answered(job.session_id)
        for job, answer in zip(jobs, answers):
            self.metrics.observe("wait_seconds", end - job.asked)
            if isinstance(answer, ActionChunk):
                self._finish(job.future, answer, None)
            else:
                self._finish(job.future, None, answer)

    def _count(self, jobs: List[_Job], seconds: float, failed: int) -> None:
        self.metrics.observe("batch_size", len(jobs))
        self.metrics.observe("inference_seconds", seconds)
        self.metrics.count("predictions", by=len(jobs) - failed)
        self.metrics.count("failures", by=failed)

    def _load(self, model: PredictModelServer) -> None:
        guarded(model.load)
        if self._max_batch is not None:
            model.max_batch_size = self._max_batch
        with self._changed:
            self._batcher.max_batch = max(1, model.max_batch_size) if model.batched else 1
        self._spec = announced_spec(model)

    def _settle(self, loading: Future[Any]) -> None:
        self._finish(self.loaded, None, loading.exception())

    @staticmethod
    def _finish(future: Future[Any], result: Any, error: Optional[BaseException]) -> None:
        try:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        except InvalidStateError:
            pass  # close() did not wait for it

    def _fail(self, future: Future[Any]) -> None:
        if not future.done():
            self._finish(future, None, ConnectionLost("the policy server is shutting down"))
