"""The one thread that a model's code runs in, behind a queue.

Model libraries are at home in one thread, and a slow `predict` must never hold up a handshake, `/health`
or another session's bytes. So everything that is the model's runs here, in the order in which it was asked
for, and those who ask wait.
"""

from __future__ import annotations

import itertools
import queue
import threading
from concurrent.futures import Future, InvalidStateError
from typing import Any, Callable, Optional, Tuple

from vlassess_link.errors import ConnectionLost, ContractError
from vlassess_link.policies.model import PredictModelServer, announced_spec, guarded
from vlassess_link.specs import PolicySpec

_Job = Tuple["Future[Any]", Callable[[], bool], Callable[..., Any], Tuple[Any, ...]]


class ModelHost:
    """Holds one model and its thread.

    Attributes:
        loaded: Done when the model is loaded; its exception says why it could not be.
    """

    def __init__(self) -> None:
        self.loaded: Future[None] = Future()
        self._model: Optional[PredictModelServer] = None
        self._spec: Optional[PolicySpec] = None
        self._seeds = itertools.count()
        self._jobs: queue.Queue[Optional[_Job]] = queue.Queue()
        self._running: Optional[Future[Any]] = None
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

    def next_seed(self) -> int:
        """Return a noise seed for an episode whose client sent none: 0, 1, 2 ... in the order of their starts."""
        return next(self._seeds)

    def load(self, model: PredictModelServer) -> None:
        """Begin to load; returns at once. `loaded` tells the end."""
        self._model = model
        loading = self._submit(lambda: True, self._load, (model,))
        loading.add_done_callback(self._settle)

    def call(self, function: Callable[..., Any], *args: Any, wanted: Callable[[], bool] = lambda: True) -> Any:
        """Run a function in the model's thread and return what it returns.

        Args:
            function: To run.
            *args: For it.
            wanted: Asked when its turn comes; False: nobody waits any more, and it is left out.

        Raises:
            ConnectionLost: it was left out, or the host is closing.
            Exception: whatever the function raises.
        """
        return self._submit(wanted, function, args).result()

    def close(self, grace: float) -> None:
        """Refuse new calls, let running ones end for ``grace`` seconds, then fail those that wait."""
        self._closing = True
        self._jobs.put(None)
        self._thread.join(grace)
        self._fail(self._running)
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            self._fail(job[0] if job is not None else None)

    def _submit(self, wanted: Callable[[], bool], function: Callable[..., Any], args: Tuple[Any, ...]) -> Future[Any]:
        future: Future[Any] = Future()
        if self._closing:
            self._fail(future)
        else:
            self._jobs.put((future, wanted, function, args))
        return future

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                break
            future, wanted, function, args = job
            self._running = future
            try:
                if not wanted():
                    raise ConnectionLost("the client went away before its turn came")
                self._finish(future, function(*args), None)
            except (Exception, SystemExit) as error:
                # Whoever asked raises it again; SystemExit too, lest a model's sys.exit() end this thread.
                self._finish(future, None, error)
            self._running = None
        if self._spec is not None and self._model is not None:
            self._model.close()

    def _load(self, model: PredictModelServer) -> None:
        guarded(model.load)
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

    def _fail(self, future: Optional[Future[Any]]) -> None:
        if future is not None and not future.done():
            self._finish(future, None, ConnectionLost("the policy server is shutting down"))
