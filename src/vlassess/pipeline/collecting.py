"""Demonstrations: an ordinary run of an expert with recordings, and the data set that is made of it.

Recording and writing are two steps: whatever becomes of the second, the run is whole, and the second can be repeated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from vlassess.catalog import Catalog
from vlassess.config import override_config
from vlassess.datasets.folders import refuse_filled, try_place
from vlassess.datasets.lerobot import Images
from vlassess.pipeline.demonstrating import Choice
from vlassess.pipeline.exporting import Exported, Told, export_lerobot
from vlassess.pipeline.parts import Asked
from vlassess.pipeline.planning import planned
from vlassess.pipeline.runs import RunResult, resume, start
from vlassess.pipeline.sides import benchmark_spec, resolve
from vlassess.records import RunDirectory
from vlassess.records.lines import write_atomically
from vlassess.schema.collecting import CollectSettings
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import PluginError, VlassessError

SEED = 1_000_000
"""Base seed of demonstrations: another than that of evaluations, so that none of their starts is seen in training."""
SETTINGS = "collect.json"
DATASET = "dataset"
EXPERT = "expert"


class CollectError(VlassessError):
    """A run cannot be gone on with as demonstrations."""


@dataclass(frozen=True)
class Wanted:
    """What is collected.

    Attributes:
        config: Of the run; see `collect_config`.
        episodes: How many in all, spread over the tasks and cells.
        settings: What becomes of them.
        command: The command line that began it.
    """

    config: RunConfig
    episodes: int
    settings: CollectSettings
    command: tuple[str, ...] = ()


def collect_config(config: RunConfig, policy: str | None, overrides: Sequence[str], catalog: Catalog) -> RunConfig:
    """Return the run that collects: one expert in the place of the config's policies, and nothing that judges it.

    Args:
        config: Which benchmark, suites and tasks.
        policy: Which expert; None: the benchmark's own.
        overrides: ``a.b=c`` each, applied last.
        catalog: What names stand for.

    Raises:
        PluginError: the benchmark has no expert, or several.
        ConfigError: names every mistake in the overrides.
    """
    chosen = policy or expert_of(config, catalog)
    lone = config.model_copy(
        update={
            "name": f"{config.name}-demonstrations",
            "seed": SEED,
            "artifacts": config.artifacts.model_copy(update={"steps": True}),
            "comparison": None,
            "gates": type(config.gates)(),
            "tracking": (),
        }
    )
    return override_config(lone, [f"policies={json.dumps([chosen])}", *overrides])


def expert_of(config: RunConfig, catalog: Catalog) -> str:
    """Return the name of the benchmark's expert.

    Raises:
        PluginError: it has none, or several and none is called "expert".
    """
    entry = catalog.resolve_benchmark(config.benchmark)
    names = list(entry.policies)
    if EXPERT in names or len(names) == 1:
        return EXPERT if EXPERT in names else names[0]
    known = f"it has {', '.join(names)}" if names else "it has none"
    raise PluginError(f"{entry.name} has no expert that could be taken ({known}); say who demonstrates with --policy")


def record(wanted: Wanted, catalog: Catalog, listener: Listener) -> RunResult:
    """Run the expert in a new run directory, which says what is to become of it.

    Raises:
        VlassessError: nothing was run, and why: as `pipeline.start`; or the data set's folder holds something.
        OSError: the data set's folder could not be made.
    """
    if wanted.settings.output is not None:
        refuse_filled(wanted.settings.output)
        try_place(wanted.settings.output)
    config, limit = _spread(wanted, catalog)
    noting = _Noting(listener, wanted.settings)
    return start(config, catalog, noting, asked=Asked(limit, None, wanted.command))


def go_on(run_dir: Path, catalog: Catalog, listener: Listener) -> RunResult:
    """Run what a collection still lacks.

    Raises:
        CollectError: the run was not begun by `record`.
        VlassessError: as `pipeline.resume`.
    """
    read_settings(run_dir)
    return resume(run_dir, None, catalog, listener)


def write_dataset(run_dir: Path, told: Told) -> Exported:
    """Write the data set of a collection, as its settings say; one of the same run is replaced.

    Raises:
        VlassessError: as `exporting.export_lerobot`.
    """
    settings = read_settings(run_dir)
    choice = Choice(settings.keep, pictures=settings.pictures != "off")
    images: Images = "lossless" if settings.pictures == "lossless" else "video"
    return export_lerobot(RunDirectory.open(run_dir), settings.output or run_dir / DATASET, choice, images, told)


def read_settings(run_dir: Path) -> CollectSettings:
    """Return what a collection is to become.

    Raises:
        CollectError: the run was not begun by `collect`, or the file is damaged.
    """
    RunDirectory.open(run_dir)
    file = run_dir / SETTINGS
    try:
        return CollectSettings.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise CollectError(
            f"{run_dir} was not begun by `vlassess collect`; finish it with `vlassess run --resume {run_dir}`, and "
            f"make a data set of it with `vlassess export {run_dir} --to lerobot --output FOLDER`"
        ) from None
    except ValidationError as error:
        raise CollectError(f"{file} is damaged ({error.errors()[0]['msg']}); restore it") from error


def _spread(wanted: Wanted, catalog: Catalog) -> tuple[RunConfig, int | None]:
    """Return the config with as many starts a task as the episodes need, and the limit that makes them just enough."""
    pictures = wanted.settings.pictures != "off"
    artifacts = wanted.config.artifacts.model_copy(update={"cameras": pictures})
    config = wanted.config.model_copy(update={"artifacts": artifacts})
    spec = benchmark_spec(resolve(config, catalog), config)
    at_once = len(planned(config.model_copy(update={"episodes": 1}), spec))
    starts = -(-wanted.episodes // at_once)
    limit = wanted.episodes if wanted.episodes % at_once else None
    return config.model_copy(update={"episodes": starts}), limit


class _Noting:
    """Passes everything on, and keeps the settings in the run's folder as soon as there is one."""

    def __init__(self, inner: Listener, settings: CollectSettings) -> None:
        self._inner = inner
        self._settings = settings

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Keep the settings, and pass it on."""
        write_atomically(run_dir / SETTINGS, self._settings.model_dump_json(indent=2).encode() + b"\n")
        self._inner.planned(run_dir, total, finished_before)

    def note(self, text: str) -> None:
        """Pass it on."""
        self._inner.note(text)

    def record(self, record: EpisodeRecord) -> None:
        """Pass it on."""
        self._inner.record(record)

    def workers(self, alive: int) -> None:
        """Pass it on."""
        self._inner.workers(alive)
