"""A transfer study from its config to its plan: runs, checks and price; nothing is started but to ask for a spec."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.pipeline.planning import planned
from vlassess.pipeline.sides import benchmark_spec, resolve
from vlassess.plan import plan_hash
from vlassess.schema.config import RunConfig
from vlassess.schema.items import WorkItem
from vlassess.schema.problems import ProblemsError
from vlassess.schema.study import StudyConfig
from vlassess.transfer import (
    Budget,
    Check,
    Demonstrated,
    Design,
    Part,
    PartFacts,
    budget_of,
    checks_of,
    design_of,
)
from vlassess.transfer.budget import POWER
from vlassess.transfer.by_hand import cells_by_hand, start_names
from vlassess_link.specs import BenchmarkSpec

MOST_RECORDS = 64 * 2**20
"""Bytes of a file that says what was demonstrated."""


class StudyError(ProblemsError):
    """A study does not fit its benchmark, or breaks a rule: `problems` holds one sentence for each."""


@dataclass(frozen=True)
class StudyPlan:
    """Everything about a study that is known before its first trial.

    Attributes:
        design: Cells and runs.
        spec: What the benchmark declares; None for a study by hand.
        items: Run's name -> its episodes.
        checks: How the protocol's rules are kept.
        budget: What it costs and shows.
    """

    design: Design
    spec: BenchmarkSpec | None
    items: Mapping[str, tuple[WorkItem, ...]]
    checks: tuple[Check, ...]
    budget: Budget

    @property
    def refused(self) -> tuple[Check, ...]:
        """Rules that are broken."""
        return tuple(check for check in self.checks if check.verdict == "refused")

    @property
    def parts(self) -> tuple[PartFacts, ...]:
        """Its runs, for files."""
        return tuple(
            PartFacts(
                name=part.name,
                role=part.role,
                plan_hash=plan_hash(self.items[part.name]),
                items=len(self.items[part.name]),
            )
            for part in self.design.parts
        )


def plan_study(
    config: StudyConfig,
    catalog: Catalog,
    note: Callable[[str], None],
    spec: BenchmarkSpec | None = None,
) -> StudyPlan:
    """Return the plan of a study.

    Args:
        config: The study.
        catalog: What names stand for.
        note: Told what goes on while an interpreter is built.
        spec: What the benchmark declares, where that is known already.

    Raises:
        StudyError: names everything that does not fit.
        VlassessError: the benchmark cannot be asked.
    """
    if config.benchmark is not None and spec is None:
        spec = spec_of(config, catalog, note)
    problems: list[str] = []
    design = _designed(config, spec, problems)
    items: dict[str, tuple[WorkItem, ...]] = {}
    for part in design.parts if spec is not None else ():
        assert spec is not None
        try:
            items[part.name] = planned(part.config, spec)
        except ProblemsError as error:
            problems += error.problems
    if problems:
        raise StudyError(f"study {config.name!r}", list(dict.fromkeys(problems)))
    checks = checks_of(design, spec, _evaluated(design, items), demonstrated_by(config))
    return StudyPlan(design, spec, items, checks, priced(design, items))


def spec_of(config: StudyConfig, catalog: Catalog, note: Callable[[str], None]) -> BenchmarkSpec:
    """Return what the study's benchmark declares; looks up its policies too, and starts neither.

    Raises:
        VlassessError: there is no such benchmark or policy, or the benchmark cannot be loaded.
    """
    assert config.benchmark is not None
    with tempfile.TemporaryDirectory(prefix="vlassess-transfer-") as folder:
        quiet = RunConfig(
            benchmark=config.benchmark, policies=config.policies, execution=config.execution, output=Path(folder)
        )
        return benchmark_spec(resolve(quiet, catalog, note), quiet)


def demonstrated_by(config: StudyConfig) -> Demonstrated:
    """Return what the study's file of demonstrations says."""
    file = None if config.few_shot is None else config.few_shot.demonstrations.records
    if file is None:
        return Demonstrated()
    if not file.is_file():
        return Demonstrated(problem=f"{file} is not there yet: what was demonstrated is not known")
    try:
        if file.stat().st_size > MOST_RECORDS:
            raise ValueError(f"it has more than {MOST_RECORDS >> 20} MiB")
        starts = json.loads(file.read_text(encoding="utf-8"))["starts"]
        if not isinstance(starts, list) or not all(type(start) in (int, str) for start in starts):
            raise ValueError("`starts` must be a list of seeds or pair keys")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return Demonstrated(problem=f"{file} does not say what was demonstrated: {error!s:.200}")
    return Demonstrated(frozenset(map(str, starts)))


def absent_checkpoints(part: Part, folder: Path | None) -> tuple[Path, ...]:
    """Return files in the folder of checkpoints that a run needs and that are not there."""
    if folder is None or part.checkpoint is None:
        return ()
    texts = _texts(part.checkpoint.policy.model_dump(exclude_none=True))
    return tuple(Path(text) for text in texts if text.startswith(f"{folder}/") and not Path(text).exists())


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for entry in value.values() for text in _texts(entry)]
    if isinstance(value, list | tuple):
        return [text for entry in value for text in _texts(entry)]
    return [value] if isinstance(value, str) else []


def _designed(config: StudyConfig, spec: BenchmarkSpec | None, problems: list[str]) -> Design:
    try:
        return design_of(config, spec, problems)
    except ValueError as error:
        raise StudyError(f"study {config.name!r}", [f"claim cannot be made: {error}"]) from None


def _evaluated(design: Design, items: Mapping[str, tuple[WorkItem, ...]]) -> frozenset[str]:
    """Return seeds and pair keys of the starts that adapted checkpoints are evaluated on."""
    names = [part.name for part in design.parts if part.role == "few-shot"]
    episodes = [item.episode for name in names for item in items[name]]
    return frozenset(text for episode in episodes for text in (str(episode.seed), episode.pair_key))


def priced(design: Design, items: Mapping[str, tuple[WorkItem, ...]]) -> Budget:
    """Return what a study costs and shows."""
    config, real = design.config, design.config.real
    names = start_names(design)
    policies = 0 if real is None else len(real.policies or config.policies)
    simulated = sum(map(len, items.values()))
    by_hand = len(names) * policies * len(cells_by_hand(design))
    seconds = config.seconds_per_trial, 0.0 if real is None else real.seconds_per_trial
    power = POWER if config.claim is None else config.claim.power
    alone = config.benchmark is None
    starts = len(names) if alone else design.starts
    found = budget_of((simulated, by_hand), seconds, starts, len(design.cells), (config.alpha, power))
    if all(cell.suite is not None for cell in design.cells):
        found = dataclasses.replace(found, gap_alike=None)  # nothing is paired with its control
    return found if alone else dataclasses.replace(found, starts_by_hand=len(names))
