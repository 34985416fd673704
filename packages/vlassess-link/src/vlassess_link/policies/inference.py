"""The one thread that a model's code runs in, behind a queue.

Model libraries are at home in one thread, and a slow `predict` must never hold up a handshake, `/health`
or another session's bytes. So everything that is the model's runs here, and those who ask wait. Observations of
several sessions are answered in one batch where the model has `predict_batch`; when is decided in `batching`.
The oldest request is in the next batch, whoever sent it, so no session starves.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
import time
from collections import deque
from concurrent.futures import Future, InvalidStateError
from typing import Any, Callable, Deque, List, NamedTuple, Optional, Sequence, Tuple, Union

from vlassess_link.data import ActionChunk, Observation
from vlassess_link.errors import ConnectionLost, ContractError
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

_CLOSING = "the policy server is shutting down"


class Running(NamedTuple):
    """What the model is busy with: the sessions that wait for it, and for how many seconds."""

    sessions: Tuple[str, ...]
    seconds: float


class _Job:
    """Something to run in the model's thread: a function, or an observation of a session.

    Who asked waits in `result`, on a lock, which costs a fraction of what a future or a condition does.
    """

    __slots__ = (
        "_answer",
        "_done",
        "_error",
        "args",
        "asked",
        "finished",
        "function",
        "session",
        "session_id",
        "wanted",
    )

    def __init__(
        self,
        wanted: Callable[[], bool],
        session_id: str,
        asked: float,
        args: Tuple[Any, ...],
        function: Optional[Callable[..., Any]] = None,
        session: Optional[ModelSession] = None,
    ) -> None:
        self.wanted, self.session_id, self.asked, self.args = wanted, session_id, asked, args
        self.function, self.session = function, session
        self.finished = False
        self._answer: Any = None
        self._error: Optional[BaseException] = None
        self._done = threading.Lock()
        self._done.acquire()

    def finish(self, answer: Any, error: Optional[BaseException]) -> None:
        """Give the answer, or what is raised instead; the first time counts."""
        if not self.finished:
            self._answer, self._error, self.finished = answer, error, True
            with contextlib.suppress(RuntimeError):  # somebody else was faster by a hair
                self._done.release()

    def result(self) -> Any:
        """Wait for the answer."""
        self._done.acquire()
        if self._error is None:
            return self._answer
        try:
            raise self._error
        finally:
            self._error = None  # it holds this frame, which holds it


Note = Callable[[], None]
"""Something that the model's thread takes note of between two jobs."""


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
        # The model's thread alone takes from the queue, and alone touches what waits and the batcher.
        self._queue: queue.SimpleQueue[Union[_Job, Note]] = queue.SimpleQueue()
        self._jobs: Deque[_Job] = deque()
        self._running: Tuple[Sequence[_Job], float] = ((), 0.0)
        self._batcher = Batcher(1, clock)
        self._batches = False
        self._entry = threading.Lock()
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
        self.model.max_batch_size = size
        self._batcher.max_batch = size if self.model.batched else 1

    @property
    def running(self) -> Optional[Running]:
        """What the model is busy with, None while it is idle."""
        jobs, since = self._running
        return Running(tuple(job.session_id for job in jobs), self._clock() - since) if jobs else None

    @property
    def queued(self) -> int:
        """How many requests wait."""
        return len(self._jobs) + self._queue.qsize()

    def next_seed(self) -> int:
        """Return a noise seed for an episode whose client sent none: 0, 1, 2 ... in the order of their starts."""
        return next(self._seeds)

    def load(self, model: PredictModelServer) -> None:
        """Begin to load; returns at once. `loaded` tells the end."""
        self._model = model
        self._submit(_Job(lambda: True, "", self._clock(), (model,), self._load))

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
        job = _Job(wanted, session_id, self._clock(), args, function)
        self._submit(job)
        return job.result()

    def predict(
        self, session: ModelSession, obs: Observation, wanted: Callable[[], bool] = lambda: True
    ) -> ActionChunk:
        """Return the model's chunk for an observation, computed alone or with others.

        Raises:
            ConnectionLost: nobody waits any more, or the host is closing.
            PolicyFault: the model raised, or answered something that is no action chunk.
        """
        job = _Job(wanted, session.session_id, self._clock(), (obs,), None, session)
        self._submit(job)
        chunk: ActionChunk = job.result()
        return chunk

    def paused(self, session_id: str) -> None:
        """Say that a session's episode ended or begins: it is not expected before its next observation."""
        if self._batches:
            self._queue.put(lambda: self._batcher.paused(session_id))

    def left(self, session_id: str) -> None:
        """Say that a session is over."""
        if self._batches:
            self._queue.put(lambda: self._batcher.left(session_id))

    def close(self, grace: float) -> None:
        """Refuse new calls, let running ones end for ``grace`` seconds, then fail those that wait."""
        with self._entry:
            self._closing = True
        self._queue.put(lambda: None)
        self._thread.join(grace)
        for job in [*self._running[0], *self._jobs, *_emptied(self._queue)]:
            if isinstance(job, _Job):
                job.finish(None, ConnectionLost(_CLOSING))
        self._settle(ConnectionLost(_CLOSING))

    def _submit(self, job: _Job) -> None:
        with self._entry:
            if not self._closing:
                self._queue.put(job)
                return
        job.finish(None, ConnectionLost(_CLOSING))

    def _work(self) -> None:
        while True:
            jobs = self._take()
            if not jobs:
                break
            wanted = [job for job in jobs if self._is_wanted(job)]
            if wanted and wanted[0].function is not None:
                self._run(wanted[0], wanted[0].function)
            elif wanted:
                self._run_batch(wanted)
            self._running = ((), 0.0)
            # Nothing of what was asked is kept until something else is.
            del jobs, wanted
        if self._spec is not None and self._model is not None:
            self._model.close()

    def _take(self) -> Sequence[_Job]:
        """Wait for something to run and take it out of the queue; empty when the host closes."""
        wait: Optional[float] = 0.0
        while True:
            closing = self._closing  # seen, no more jobs come
            self._receive(0.0 if closing else wait)
            if self._jobs:
                chosen, until = self._choose()
                if chosen:
                    self._running = (chosen, self._clock())
                    return chosen
                wait = max(0.0, until - self._clock())
            elif closing:
                return ()
            else:
                wait = None

    def _receive(self, wait: Optional[float]) -> None:
        """Take what came from the queue, waiting so many seconds for the first (None: for ever)."""
        with contextlib.suppress(queue.Empty):
            item = self._queue.get(wait != 0.0, wait)
            while True:
                if isinstance(item, _Job):
                    self._jobs.append(item)
                    if self._batches and item.session is not None:
                        self._batcher.arrived(item.session_id, item.asked)
                else:
                    item()
                if self._queue.empty():
                    return
                item = self._queue.get_nowait()

    def _choose(self) -> Tuple[Sequence[_Job], float]:
        """Return what to run now: one function or a batch; or nothing and until when to wait for more."""
        if self.max_batch == 1 or self._jobs[0].session is None:
            return (self._jobs.popleft(),), 0.0
        batch = list(itertools.islice((job for job in self._jobs if job.session is not None), self.max_batch))
        until = None if self._closing else self._batcher.wait_until(len(batch))
        if until is not None:
            # While a batch waits for another session, what is not of it costs nobody anything.
            batch = [job for job in self._jobs if job.session is None][:1]
        for job in batch:
            self._jobs.remove(job)
        return batch, until or 0.0

    def _is_wanted(self, job: _Job) -> bool:
        if job.finished:
            return False
        if job.wanted():
            return True
        job.finish(None, ConnectionLost("the client went away before its turn came"))
        return False

    def _run(self, job: _Job, function: Callable[..., Any]) -> None:
        try:
            answer = function(*job.args)
        except (Exception, SystemExit) as error:
            # Whoever asked raises it again; SystemExit too, lest a model's sys.exit() end this thread.
            job.finish(None, error)
        else:
            job.finish(answer, None)

    def _run_batch(self, jobs: Sequence[_Job]) -> None:
        sessions = [job.session for job in jobs if job.session is not None]
        begin = self._clock()
        answers = predict_together(self.model, sessions, [job.args[0] for job in jobs])
        end = self._clock()
        failed = sum(not isinstance(answer, ActionChunk) for answer in answers)
        self.metrics.answered(end - begin, [end - job.asked for job in jobs], failed)
        for job, answer in zip(jobs, answers):
            if isinstance(answer, ActionChunk):
                job.finish(answer, None)
            else:
                job.finish(None, answer)
        # Whoever asked is on the way already.
        if self._batches:
            if not failed:
                self._batcher.ran(len(jobs), end - begin)
            for job in jobs:
                self._batcher.answered(job.session_id, end)

    def _load(self, model: PredictModelServer) -> None:
        try:
            guarded(model.load)
            if self._max_batch is not None:
                model.max_batch_size = self._max_batch
            self._batches = model.batched
            self._batcher.max_batch = max(1, model.max_batch_size) if self._batches else 1
            self._spec = announced_spec(model)
        except (Exception, SystemExit) as error:
            self._settle(error)
        else:
            self._settle(None)

    def _settle(self, error: Optional[BaseException]) -> None:
        with contextlib.suppress(InvalidStateError):
            if error is None:
                self.loaded.set_result(None)
            else:
                self.loaded.set_exception(error)


def _emptied(items: queue.SimpleQueue[Any]) -> List[Any]:
    found = []
    with contextlib.suppress(queue.Empty):
        while True:
            found.append(items.get_nowait())
    return found
