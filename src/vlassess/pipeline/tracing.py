"""One episode's first steps, with everything that crosses the wire."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlassess.catalog import Catalog
from vlassess.execution import Coordinator, Fleet, NoArtifacts, StopSwitch, stop_on_signals
from vlassess.pipeline.planning import planned
from vlassess.pipeline.runs import work_of
from vlassess.pipeline.sides import Stage, benchmark_spec, resolve, staged
from vlassess.provenance import versions
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener
from vlassess.schema.items import WorkItem
from vlassess_link.benchmarks.recording import ArtifactRequest
from vlassess_link.conventions.traces import Trace, load
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import ContractError, VlassessError
from vlassess_link.jsonable import to_json


@dataclass(frozen=True)
class Traced:
    """A trace, and how its episode went.

    Attributes:
        trace: The first steps.
        label: The policy's.
        record: The attempt's; its outcome says nothing, since it was cut short.
    """

    trace: Trace
    label: str
    record: EpisodeRecord


class TracingError(VlassessError):
    """Nothing could be traced."""


class _OneTrace(NoArtifacts):
    """Asks for a trace."""

    def __init__(self, folder: Path, steps: int) -> None:
        self._request = ArtifactRequest(str(folder), trace=steps)

    def request(self, item: WorkItem, attempt: int) -> ArtifactRequest | None:
        """Ask for it."""
        return self._request


class _AtOnce(StopSwitch):
    """Stops at the first request: an episode that is cut short anyway need not be waited for."""

    def press(self) -> None:
        """Ask for the end, now."""
        self.requests += 2


class _Kept:
    def __init__(self) -> None:
        self.records: list[EpisodeRecord] = []

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        """Keep them."""
        self.records.extend(records)


def trace(config: RunConfig, steps: int, catalog: Catalog, listener: Listener) -> Traced:
    """Run the first ``steps`` control steps of the plan's first episode and return what crossed the wire.

    Args:
        config: Its first policy is traced.
        steps: Control steps.
        catalog: What names stand for.
        listener: Told what happens.

    Raises:
        VlassessError: a side cannot be started, the two do not fit, or the episode ended before it was observed.
        KeyboardInterrupt: it was interrupted.
    """
    label = next(iter(config.policies))
    one = config.model_copy(update={"policies": {label: config.policies[label]}, "episodes": 1, "repeats": 1})
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vlassess-trace-")))
        quiet = one.model_copy(update={"output": folder})
        sides = resolve(quiet, catalog, listener.note)
        item = _first(planned(quiet, benchmark_spec(sides, quiet)), steps)
        stage = stack.enter_context(staged(sides, quiet, (label,)))
        stop = _AtOnce()
        stack.enter_context(stop_on_signals(stop))
        work = work_of(quiet, (item,), stage, {}, _OneTrace(folder, steps))
        settings = dataclasses.replace(work.settings, workers=1, attempts=1)
        kept = _Kept()
        fleet = Fleet(stage.launch, settings, stage.logs)
        work = dataclasses.replace(work, settings=settings)
        ending = Coordinator(work, fleet, stage.side, kept, listener, stop).run()
        record = kept.records[-1] if kept.records else None
        file = folder / "trace.npz"
        if record is None and ending.interrupted:
            raise KeyboardInterrupt
        if record is None or not file.exists():
            raise TracingError(f"nothing was traced: {_error(record) or ending.reason or 'it was interrupted'}")
        found = load(str(file))
        if not found.moments:
            raise TracingError(f"nothing was traced: {_error(record) or 'the policy was never asked'}")
        return Traced(dataclasses.replace(found, about=about(stage, item, label)), label, record)


def about(stage: Stage, item: WorkItem, label: str) -> dict[str, Any]:
    """Return what a trace's file says of its two sides and its episode."""
    episode = item.episode
    return {
        "policy": label,
        "suite": episode.suite,
        "task": episode.task,
        "index": episode.index,
        "seed": episode.seed,
        "benchmark_spec": to_json(stage.spec),
        "policy_spec": to_json(stage.policy_specs[label]),
        "conversions": list(stage.fits[label].conversions),
        "versions": versions(),
    }


def _error(record: EpisodeRecord | None) -> str | None:
    return None if record is None or record.error is None else record.error.message


def _first(items: Sequence[WorkItem], steps: int) -> WorkItem:
    """Return the plan's first item, cut short.

    Raises:
        ContractError: the plan is empty.
    """
    if not items:
        raise ContractError("the config plans no episode, so there is nothing to trace")
    limit = min(steps, items[0].episode.step_limit)
    return dataclasses.replace(items[0], episode=dataclasses.replace(items[0].episode, step_limit=limit))
