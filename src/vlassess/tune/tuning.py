"""Measures both curves of one policy on one benchmark, and finds where to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.pipeline.planning import planned
from vlassess.pipeline.sides import Stage, resolve, staged
from vlassess.schema.config import RunConfig
from vlassess.schema.items import WorkItem, episode_item
from vlassess.tune.demand import LABEL, Demand, Environments, TuningFailedError
from vlassess.tune.findings import Findings, TuneSettings
from vlassess.tune.point import LOAD, knee, next_workers, operating_point
from vlassess.tune.supply import measure_supply
from vlassess_link.errors import ContractError
from vlassess_link.policies.instant import read

EPISODES_PER_WORKER = 200
"""Episodes that are planned for each worker; a measurement stops long before they are used up."""

Note = Callable[[str], None]


def tune(config: RunConfig, catalog: Catalog, settings: TuneSettings, note: Note, label: str | None = None) -> Findings:
    """Measure demand and supply and return the operating point.

    Args:
        config: A run's.
        catalog: What its two sides are looked up in.
        settings: How thoroughly is measured.
        note: Told what goes on, a line at a time.
        label: Which policy; None: the one that is served or has a url.

    Raises:
        ContractError: there is no such policy, or several.
        TuningFailedError: nothing could be measured.
        VlassessError: a side cannot be started, or the two do not fit each other.
    """
    sides = resolve(config, catalog, note)
    able = [name for name, source in sides.policies.items() if source.local is None]
    chosen = _chosen(able, label)
    with staged(sides, config, (chosen,)) as stage:
        demand = Demand(_environments(config, stage, chosen, settings), stage.spec, stage.policy_specs[chosen])
        demand.start()
        try:
            return _measure(config, stage, chosen, demand, _Told(settings, note))
        finally:
            demand.stop()


class _Told:
    """The settings, and who is told."""

    def __init__(self, settings: TuneSettings, note: Note) -> None:
        self.settings = settings
        self.note = note


def _measure(config: RunConfig, stage: Stage, label: str, demand: Demand, told: _Told) -> Findings:
    settings = told.settings
    asked = {1: demand.measure(1, settings.seconds)}
    told.note(f"1 worker asks about {asked[1]:.1f} observations a second")
    answered = _supply(stage, label, demand.sample, told)
    limit = LOAD * answered[knee(answered)]
    while (workers := next_workers(asked, limit, settings.max_workers)) is not None:
        asked[workers] = demand.measure(workers, settings.seconds)
        told.note(f"{workers} workers ask about {asked[workers]:.1f} observations a second")
    point = operating_point(asked, answered)
    source = config.policies[label]
    execution = config.execution.model_copy(update={"workers": point.workers})
    # Only a server of the run's own can be told its batch size by the config.
    policies = dict(config.policies)
    if not source.urls:
        policies[label] = source.model_copy(update={"max_batch": point.max_batch})
    whole = config.model_copy(update={"execution": execution, "policies": policies})
    return Findings(label, stage.spec.name, dict(sorted(asked.items())), answered, point, whole)


def _supply(stage: Stage, label: str, sample: Path, told: _Told) -> dict[int, float]:
    if not sample.is_file():
        raise TuningFailedError("no observation was made, so the policy cannot be asked about one; give more seconds")
    source = stage.side.source_for(label)
    batches = told.settings.batches if stage.policy_specs[label].batched else (1,)
    answered = {}
    for batch in batches:
        answered[batch] = measure_supply(source, read(sample), batch, told.settings.seconds)
        told.note(f"with batches of {batch} the policy answers {answered[batch]:.1f} observations a second")
    return answered


def _chosen(able: list[str], label: str | None) -> str:
    if label is not None and label not in able:
        raise ContractError(f"no policy with a server is labelled {label!r}; there are: {', '.join(able) or 'none'}")
    if label is None and len(able) != 1:
        raise ContractError(
            f"the config has {len(able)} policies with a server ({', '.join(able) or 'none'}), and one is tuned at a "
            "time; name it with --label, or replace them with --policy"
        )
    return label if label is not None else able[0]


def _environments(config: RunConfig, stage: Stage, label: str, settings: TuneSettings) -> Environments:
    deadlines: dict[str, float] = config.execution.deadlines.model_dump()
    items = _many(config, stage, EPISODES_PER_WORKER * settings.max_workers)
    return Environments(stage.launch, items, deadlines, config.policies[label].horizon, stage.logs)


def _many(config: RunConfig, stage: Stage, wanted: int) -> tuple[WorkItem, ...]:
    """Return the plan's episodes, repeated as often as it takes, for the instant policy."""
    first = next(iter(config.policies))
    alone = config.model_copy(update={"policies": {first: config.policies[first]}, "repeats": 1})
    size = len(planned(alone, stage.spec))
    whole = planned(alone.model_copy(update={"repeats": -(-wanted // size)}), stage.spec)
    return tuple(episode_item(LABEL, item.episode) for item in whole)
