"""Asks one worker what the benchmark and the policies are, before anything is planned or run."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vlassess.execution.launch import WorkerLaunch
from vlassess.execution.process import Event, Gone, LineProcess
from vlassess_link import errors
from vlassess_link.errors import PluginError
from vlassess_link.jsonable import from_json
from vlassess_link.specs import BenchmarkSpec, PolicySpec


class Probe(NamedTuple):
    """What a worker says of both sides: the benchmark's spec, and label -> spec of the policies."""

    benchmark: BenchmarkSpec
    policies: dict[str, PolicySpec]


def probe(
    launch: WorkerLaunch,
    policies: Mapping[str, Mapping[str, Any]],
    deadlines: Mapping[str, float],
    log: Path,
    note: Callable[[str], None] = lambda text: None,
) -> Probe:
    """Load both sides in a worker that runs no episode.

    Args:
        launch: How workers start.
        policies: Label -> policy source, as in the worker's protocol.
        deadlines: Seconds for "load" and, per policy, for "connect".
        log: File for the worker's stderr.
        note: Told what the worker says meanwhile, as that a policy does not answer yet.

    Raises:
        VlassessError: a side could not be loaded or reached, of the kind that the worker met; says which and why.
    """
    events: queue.Queue[Event] = queue.Queue()
    worker = LineProcess(launch.command, launch.env, events, log)
    try:
        worker.send("load", benchmark=launch.benchmark, policies=policies, deadlines=dict(deadlines))
        patience = deadlines["load"] + len(policies) * deadlines["connect"]
        answer = _await_load(events, time.monotonic() + patience, worker, note)
    finally:
        worker.close(patience=5.0)
    if "error" in answer:
        kind = getattr(errors, answer["error"]["kind"], PluginError)
        raise kind(answer["error"]["message"])
    specs = {label: from_json(PolicySpec, spec) for label, spec in answer["policies"].items()}
    return Probe(from_json(BenchmarkSpec, answer["benchmark"]), specs)


def _await_load(
    events: queue.Queue[Event], until: float, worker: LineProcess, note: Callable[[str], None]
) -> Mapping[str, Any]:
    while True:
        try:
            event = events.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            worker.kill()
            raise PluginError(
                "the benchmark was not loaded in time; raise execution.deadlines.load. "
                f"{worker.last_words() or 'It said nothing'}"
            ) from None
        if isinstance(event, Gone):
            raise PluginError(
                f"the worker ended ({event.returncode}) while loading the benchmark: "
                f"{worker.last_words() or 'it said nothing'}"
            )
        if event.message.get("type") == "load":
            return event.message
        if event.message.get("type") == "log":
            note(str(event.message.get("text", "")))
