"""One episode of a run, once more: does it come out the same, and what does it look like?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlassess.artifacts import require
from vlassess.catalog import Catalog
from vlassess.execution import StopSwitch, stop_on_signals
from vlassess.pipeline.runs import Job, conclude, execute, free_path, make_manifest
from vlassess.pipeline.sides import resolve, staged
from vlassess.records import RunDirectory
from vlassess.schema.attempts import counting
from vlassess.schema.config import ArtifactsConfig, RunConfig
from vlassess.schema.events import Listener
from vlassess.schema.items import WorkItem
from vlassess_link.data import COMPARED, EpisodeRecord
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import to_json


@dataclass(frozen=True)
class Rerun:
    """An episode that was run again.

    Attributes:
        item: Which.
        run_dir: Where its new record and its recordings are.
        before: The record that it is compared with; None where the run has none.
        after: The new record; None where it was interrupted before there was one.
        different: Compared field -> (before, after), of those that differ.
    """

    item: WorkItem
    run_dir: Path
    before: EpisodeRecord | None
    after: EpisodeRecord | None
    different: Mapping[str, tuple[Any, Any]]

    @property
    def equal(self) -> bool:
        """Whether there are two records, and they agree in every compared field."""
        return self.before is not None and self.after is not None and not self.different


SHORTEST = 4
"""Characters of an id that name an episode: fewer match by chance, as a start's number would."""


def rerun(run_dir: Path, episode: str, config: RunConfig, catalog: Catalog, listener: Listener) -> Rerun:
    """Run one episode of a run again, in a run directory of its own.

    Args:
        run_dir: The run.
        episode: An item id or episode id of it, or the beginning of one.
        config: How to run it; see `rerun_config`.
        catalog: What names stand for.
        listener: Told what happens.

    Raises:
        ContractError: no episode, or several, have such an id.
        VlassessError: a side cannot be started; see `vlassess.pipeline.start`.
    """
    old = RunDirectory.open(run_dir)
    item = item_of(old.items(), episode)
    before = counting([record for record in old.records().records if record.item_id == item.item_id])
    require(config.artifacts)
    stop = StopSwitch()
    with ExitStack() as stack:
        stage = stack.enter_context(staged(resolve(config, catalog, listener.note), config, (item.policy,)))
        stack.enter_context(stop_on_signals(stop))
        manifest = make_manifest(config, stage, [item])
        run = RunDirectory.create(free_path(config, manifest), manifest, [item])
        stage.side.servers.move_logs(stage.logs.rename(run.path / "logs"))
        stack.enter_context(run.lock())
        listener.planned(run.path, 1, 0)
        ending = execute(Job(run, config, (item,), stage.launch), stage, listener, stop)
        conclude(run, config, ending)
    after = counting(run.records().records)
    return Rerun(item, run.path, before, after, differences(before, after))


def rerun_config(run_dir: Path, output: Path, video: bool) -> RunConfig:
    """Return the config of a run for one episode of it: one worker, its own folder, a recording if asked for."""
    config = RunDirectory.open(run_dir).manifest.config
    artifacts = ArtifactsConfig(video="on", steps=True, inputs=1) if video else ArtifactsConfig()
    execution = config.execution.model_copy(update={"workers": 1})
    changes = {
        "name": f"{config.name}-rerun",
        "output": output,
        "artifacts": artifacts,
        "execution": execution,
        "tracking": (),
        "comparison": None,
    }
    return config.model_copy(update=changes)


def item_of(items: Sequence[WorkItem], episode: str) -> WorkItem:
    """Return the one item whose item id or episode id begins so.

    Raises:
        ContractError: there is none, or there are several, or ``episode`` is too short to mean one; names them.
    """
    found = [item for item in items if episode and episode in (item.item_id, item.episode.episode_id)]
    whole = bool(found)
    found = found or [
        item for item in items if item.item_id.startswith(episode) or item.episode.episode_id.startswith(episode)
    ]
    if not found:
        raise ContractError(f"no episode of the run has an id that begins with {episode!r}; report.html shows them")
    if len(found) == 1 and (whole or len(episode) >= SHORTEST):
        return found[0]
    listed = ", ".join(_named(item) for item in found[:6])
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    if len(found) == 1:
        raise ContractError(
            f"{episode!r} is too short to name an episode; the one whose id begins so is {listed}: give at least "
            f"{SHORTEST} characters of its id"
        )
    raise ContractError(f"{len(found)} items have an id that begins with {episode!r}: {listed}{more}; give one of them")


def _named(item: WorkItem) -> str:
    episode = item.episode
    return f"{item.item_id} ({item.policy}, {episode.suite}/{episode.task}, start {episode.index})"


def differences(before: EpisodeRecord | None, after: EpisodeRecord | None) -> dict[str, tuple[Any, Any]]:
    """Return the compared fields in which two records differ; none where one of them is missing."""
    if before is None or after is None:
        return {}
    pairs = {name: (to_json(getattr(before, name)), to_json(getattr(after, name))) for name in COMPARED}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
