"""Asks a policy that runs in the workers' interpreter questions, without an episode."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlassess.execution.launch import WorkerLaunch
from vlassess.execution.process import Event, Gone, LineProcess
from vlassess_link import errors
from vlassess_link.errors import InfrastructureFault, PluginError

CLOSING_SECONDS = 5.0
_GRACE_SECONDS = 5.0
"""Beyond the worker's own deadlines, which end it with a sentence."""


class LocalAnswers:
    """One worker that holds a local policy and runs no episode.

    Args:
        launch: How workers start.
        source: The policy's, as in the worker's protocol.
        deadlines: Seconds for "load" and "inference".
        log: File for the worker's stderr.

    Raises:
        VlassessError: the benchmark or the policy could not be loaded; says why.
    """

    def __init__(
        self, launch: WorkerLaunch, source: Mapping[str, Any], deadlines: Mapping[str, float], log: Path
    ) -> None:
        self._source, self._deadlines = dict(source), dict(deadlines)
        self._events: queue.Queue[Event] = queue.Queue()
        self._worker = LineProcess(launch.command, launch.env, self._events, log)
        self._worker.send(
            "load", benchmark=launch.benchmark, policies={"asked": self._source}, deadlines=self._deadlines
        )
        try:
            # The benchmark and the policy are loaded one after the other, each with its deadline.
            self._await("load", 2 * self._deadlines["load"])
        except errors.VlassessError:
            self.close()
            raise

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Return what the policy answers; see `Policy.answer`.

        Raises:
            PolicyFault: the policy's own code failed.
            InfrastructureFault: the worker ended, or did not answer in time.
        """
        self._worker.send("answer", policy=self._source, question=question, options=dict(options))
        return str(self._await("answer", self._deadlines["inference"])["choice"])

    def close(self) -> None:
        """End the worker."""
        self._worker.close(CLOSING_SECONDS)

    def _await(self, kind: str, seconds: float) -> Mapping[str, Any]:
        """Return the worker's next message of a kind."""
        until = time.monotonic() + seconds + _GRACE_SECONDS
        while True:
            try:
                event = self._events.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                self._worker.kill()
                raise InfrastructureFault(f"the worker gave no {kind} within {seconds:g} s") from None
            if isinstance(event, Gone):
                words = self._worker.last_words() or "it said nothing"
                raise InfrastructureFault(f"the worker that was asked ended ({event.returncode}): {words}")
            if event.message.get("type") != kind:
                continue
            error = event.message.get("error")
            if error is not None:
                raise getattr(errors, error["kind"], PluginError)(error["message"])
            return event.message
