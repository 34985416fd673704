"""The initial states of a plan as pictures: the benchmark's own reset, in its workers, with nobody acting."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from vlassess.catalog import Catalog
from vlassess.execution import Coordinator, Fleet, NoArtifacts, StopSwitch, Work, stop_on_signals
from vlassess.pipeline.planning import planned
from vlassess.pipeline.runs import work_of
from vlassess.pipeline.sides import benchmark_spec, resolve, staged
from vlassess.records import RunDirectory
from vlassess.schema.config import PolicySource, RunConfig
from vlassess.schema.events import Listener
from vlassess.schema.items import WorkItem, episode_item
from vlassess.schema.starts import Start, StartSheet
from vlassess_link.benchmarks.recording import ArtifactRequest, member_name
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import ContractError
from vlassess_link.specs import BenchmarkSpec

LABEL = "onlooker"
TARGET = "vlassess_link.policies.onlooker:Onlooker"
MOST = 2000
"""How many starts one sheet may show."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """Which starts are shown.

    Attributes:
        episodes: The first so many of each task.
        cameras: Through which cameras; None: all.
    """

    episodes: int
    cameras: tuple[str, ...] | None = None


def starts_of_config(config: RunConfig, asked: Asked, catalog: Catalog, listener: Listener) -> StartSheet:
    """Return pictures of a config's starts: the first ones of each task, in the control and in every cell.

    Raises:
        VlassessError: the benchmark cannot be loaded, it has no such camera, or the sheet would be too large.
    """
    quiet = _watched(config, asked)
    spec = _spec_of(quiet, catalog, listener)
    items = planned(quiet.model_copy(update={"episodes": min(asked.episodes, config.episodes)}), spec)
    return _shown(quiet, items, spec, catalog, listener)


def starts_of_run(run_dir: Path, asked: Asked, catalog: Catalog, listener: Listener) -> StartSheet:
    """Return pictures of a run's starts, made anew by its benchmark; see `starts_of_config`.

    Raises:
        RunDirectoryError: the folder holds no run.
    """
    run = RunDirectory.open(run_dir)
    config = _watched(run.manifest.config, asked)
    items = run.items()
    first = [item for item in items if item.policy == items[0].policy]
    kept = [item for item in first if item.episode.repeat == 0 and item.episode.index < asked.episodes]
    spec = _spec_of(config, catalog, listener)
    return _shown(config, [episode_item(LABEL, item.episode) for item in kept], spec, catalog, listener)


def _spec_of(config: RunConfig, catalog: Catalog, listener: Listener) -> BenchmarkSpec:
    with tempfile.TemporaryDirectory(prefix="vlassess-states-") as folder:
        quiet = config.model_copy(update={"output": Path(folder)})
        return benchmark_spec(resolve(quiet, catalog, listener.note), quiet)


def _watched(config: RunConfig, asked: Asked) -> RunConfig:
    """Return the config with an onlooker for its policies, and without what only its own policies need."""
    params = {} if asked.cameras is None else {"cameras": list(asked.cameras)}
    changes = {
        "policies": {LABEL: PolicySource(local=TARGET, params=params)},
        "repeats": 1,
        "realtime": None,
        "disturbance": None,
        "comparison": None,
        "tracking": (),
    }
    return config.model_copy(update=changes)


def _shown(
    config: RunConfig, planned: Sequence[WorkItem], spec: BenchmarkSpec, catalog: Catalog, listener: Listener
) -> StartSheet:
    if len(planned) > MOST:
        raise ContractError(
            f"{len(planned)} starts are more than one sheet holds ({MOST}): lower --episodes, or choose tasks or cells "
            "with --set"
        )
    cameras = _cameras(config, spec)
    items = [dataclasses.replace(item, episode=dataclasses.replace(item.episode, step_limit=1)) for item in planned]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vlassess-states-")))
        quiet = config.model_copy(update={"output": folder})
        stage = stack.enter_context(staged(resolve(quiet, catalog), quiet, (LABEL,), refuse=False))
        stop = StopSwitch()
        stack.enter_context(stop_on_signals(stop))
        sink, kept = _OneLook(folder), _Kept()
        work: Work = work_of(quiet, items, stage, {}, sink)
        listener.planned(folder, len(items), 0)
        ending = Coordinator(
            work, Fleet(stage.launch, work.settings, stage.logs), stage.side, kept, listener, stop
        ).run()
        starts = _starts(items, kept.last, folder, cameras)
    return StartSheet(config.name, spec.ref, config.seed, cameras, starts, ending.interrupted)


def _cameras(config: RunConfig, spec: BenchmarkSpec) -> tuple[str, ...]:
    """Return the cameras that are looked through.

    Raises:
        ContractError: the benchmark does not have one of them, or has none at all.
    """
    known = tuple(camera.name for camera in spec.cameras)
    wanted = config.policies[LABEL].params.get("cameras", known)
    strange = [name for name in wanted if name not in known]
    if strange or not known:
        has = ", ".join(known) or "none: there is nothing to show"
        raise ContractError(f"{spec.name} has no camera {strange[0] if strange else ''!r}; it has {has}")
    return tuple(wanted)


def _starts(
    items: Sequence[WorkItem], records: dict[str, EpisodeRecord], folder: Path, cameras: Sequence[str]
) -> tuple[Start, ...]:
    found = []
    for number, item in enumerate(items, 1):
        record = records.get(item.item_id)
        pictures = _pictures(folder / item.item_id / "inputs.npz", cameras)
        error = (
            None if pictures else "it was not run" if record is None or record.error is None else record.error.message
        )
        text = None if record is None else record.instruction
        digest = "" if record is None else record.state_digest
        found.append(Start(number, item.episode, text, digest, pictures, error))
    return tuple(found)


def _pictures(file: Path, cameras: Iterable[str]) -> tuple[np.ndarray, ...]:
    if not file.is_file():
        return ()
    # numpy leaves a file that it cannot read open.
    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
        return tuple(found[f"0_image_{member_name(name)}"] for name in cameras)


class _OneLook(NoArtifacts):
    """Asks for the first observation of every episode."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def request(self, item: WorkItem, attempt: int) -> ArtifactRequest | None:
        """Ask for it."""
        place = self._folder / item.item_id
        place.mkdir(exist_ok=True)
        return ArtifactRequest(str(place), inputs=1)


class _Kept:
    """Keeps the last record of each item."""

    def __init__(self) -> None:
        self.last: dict[str, EpisodeRecord] = {}

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        """Keep them."""
        self.last.update({record.item_id: record for record in records})
