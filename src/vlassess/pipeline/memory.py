"""A run that leaves no file: for evaluating a policy from a program, again and again."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.execution import Coordinator, Ending, Fleet, NoArtifacts, StopSwitch, stop_on_signals
from vlassess.pipeline.factors import summary_of
from vlassess.pipeline.planning import planned
from vlassess.pipeline.probing import SaidInMemory, ask_questions
from vlassess.pipeline.recording import kept
from vlassess.pipeline.runs import make_manifest, work_of
from vlassess.pipeline.sides import benchmark_spec, resolve, staged
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest
from vlassess.tracking import entry_of, require, track
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import ContractError


@dataclass(frozen=True)
class Held:
    """A run in memory: what its directory would hold.

    Attributes:
        manifest: ``run.json``.
        items: ``plan.jsonl``.
        records: ``episodes.jsonl``.
        ending: How it ended.
        answers: ``answers.jsonl``: item id -> what a policy said.
    """

    manifest: RunManifest
    items: tuple[WorkItem, ...]
    records: tuple[EpisodeRecord, ...]
    ending: Ending
    answers: Mapping[str, str]


class MemoryLog:
    """Keeps records in memory."""

    def __init__(self) -> None:
        self.records: list[EpisodeRecord] = []

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        """Keep them."""
        self.records.extend(records)


def hold(config: RunConfig, catalog: Catalog, listener: Listener, stop: StopSwitch | None = None) -> Held:
    """Run a config and keep everything in memory; only what children print is in files while they live.

    Raises:
        VlassessError: nothing was run, and why; see `vlassess.pipeline.start`.
    """
    if kept(config).wanted:
        raise ContractError(
            "artifacts are files, and this run has no directory: give `output`, or leave artifacts and arrays out"
        )
    require(config.tracking)
    if config.comparison is not None and config.comparison.stop_when_decided:
        raise ContractError(
            "a stopping rule keeps its decision in a file, and this run has no directory: give `output`"
        )
    switch = stop or StopSwitch()
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vlassess-")))
        quiet = config.model_copy(update={"output": logs})
        sides = resolve(config, catalog, listener.note)
        items = planned(config, benchmark_spec(sides, quiet))
        stage = stack.enter_context(staged(sides, quiet, tuple(config.policies)))
        stack.enter_context(stop_on_signals(switch))
        manifest = make_manifest(config, stage, items)
        listener.planned(logs, len(items), 0)
        work = work_of(config, items, stage, {}, NoArtifacts())
        log = MemoryLog()
        fleet = Fleet(stage.launch, work.settings, stage.logs)
        ending = Coordinator(work, fleet, stage.side, log, listener, switch).run()
        kept_answers = SaidInMemory()
        if not ending.interrupted:
            ask_questions(kept_answers, items, stage, config, listener, stage.logs)
    held = Held(manifest, items, tuple(log.records), ending, kept_answers.answers)
    if config.tracking and not ending.interrupted:
        summary = summary_of(items, log.records, manifest, answers=held.answers)
        for problem in track(entry_of(summary, config, None), config.tracking):
            listener.note(problem)
    return held
