"""Changes a locked study: planned, checked and written down while nobody else can change or run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.config import override_model
from vlassess.pipeline.transfer.planning import StudyError, StudyPlan, plan_study
from vlassess.pipeline.transfer.states import progress_of, states_of
from vlassess.pipeline.transfer.store import Study, append_amendment, open_study
from vlassess.schema.study import StudyConfig
from vlassess.transfer import PATHS


@dataclass(frozen=True)
class Amended:
    """A study as it stands after an amendment, and the plan that it has now."""

    study: Study
    plan: StudyPlan


def amend_study(
    path: Path, overrides: Sequence[str], reason: str, catalog: Catalog, note: Callable[[str], None]
) -> Amended:
    """Amend a locked study; of two at once, one is refused and the other is whole.

    Args:
        path: The study's folder.
        overrides: What changes, ``PATH=VALUE`` each.
        reason: Why; it is kept and reported.
        catalog: What names stand for.
        note: Told what goes on while an interpreter is built.

    Raises:
        ConfigError: an override is none.
        StudyError: nothing changes, no reason is given, or the study that it would become may not be locked.
        RunDirectoryError: the folder holds no study, or its files are not what was locked.
        RunLockedError: the study is being run or amended.
    """
    if not overrides:
        raise StudyError("the amendment", ["nothing is changed; say what changes, as --set starts=60"])
    if not reason.strip():
        raise StudyError("the amendment", ["the reason is empty; say why, in some words"])
    with open_study(path).directory.lock():
        study = open_study(path)
        config = _changed(study.config, overrides)
        spec = study.spec if config.benchmark == study.config.benchmark else None
        plan = plan_study(config, catalog, note, spec)
        if plan.refused:
            broken = [f"{check.rule}: {check.sentence}" for check in plan.refused]
            raise StudyError("the amendment breaks a rule", broken)
        finished = progress_of(study, states_of(study)).finished
        return Amended(append_amendment(study, plan, overrides, reason.strip(), finished), plan)


def _changed(known: StudyConfig, overrides: Sequence[str]) -> StudyConfig:
    config = override_model(StudyConfig, known, overrides, PATHS)
    if (config.name, config.output) != (known.name, known.output):
        raise StudyError("the amendment", ["a study keeps its name and its place; lock another one instead"])
    if config == known:
        raise StudyError("the amendment", ["this is what the study says already; change something, or leave it"])
    return config
