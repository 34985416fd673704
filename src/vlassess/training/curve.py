"""Every adapted checkpoint of a transfer study, and the file that says what was demonstrated.

Trained once: a checkpoint is trained again only if something that it follows from has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.config import load_model
from vlassess.pipeline.transfer import plan_study
from vlassess.schema.study import StudyConfig
from vlassess.training.fewshot import REPLAYED, FewShot, teach
from vlassess.training.places import WEIGHTS
from vlassess.training.progress import Reporter
from vlassess.training.world import training_seed
from vlassess.transfer import BUNDLED_STUDIES, PATHS
from vlassess_link.digest import content_hash
from vlassess_link.errors import ContractError

RECIPE = 1
"""Goes up when the training itself changes, so that every checkpoint is trained again."""


@dataclass(frozen=True)
class Lesson:
    """One checkpoint to train.

    Attributes:
        out: Its ONNX file.
        k: Demonstrations.
        method: How they are learned.
    """

    out: Path
    k: int
    method: str


@dataclass(frozen=True)
class Course:
    """What a study needs trained.

    Attributes:
        weights: Where every checkpoint starts from.
        factor: Axis -> level of the demonstrations.
        suites: Whose tasks are demonstrated.
        lessons: The checkpoints.
        records: Where what was demonstrated is written; None: nowhere.
    """

    weights: Path
    factor: dict[str, str]
    suites: tuple[str, ...]
    lessons: tuple[Lesson, ...]
    records: Path | None


def course_of(source: str, overrides: Sequence[str], note: Callable[[str], None]) -> Course:
    """Return what a study needs trained.

    Args:
        source: Path of a study, or the name of a bundled one.
        overrides: ``a.b=c`` each.
        note: Told what goes on while the study is planned.

    Raises:
        ContractError: the study has no curve, or its checkpoints are no files of `weights`.
        VlassessError: the study does not fit its benchmark.
    """
    config = load_model(StudyConfig, source, overrides, BUNDLED_STUDIES, PATHS)
    few = config.few_shot
    if few is None:
        raise ContractError(f"study {config.name!r} has no few_shot section, so there is nothing to train")
    plan = plan_study(config, Catalog.discover(), note)
    target = plan.design.cell(few.cell)
    assert target is not None
    lessons = []
    for checkpoint in few.adapted:
        file = checkpoint.policy.params.get("weights")
        if not isinstance(file, str):
            raise ContractError(
                f"few_shot.checkpoint of {checkpoint.method} and {checkpoint.k} has no params.weights; name the file "
                "that is to be trained"
            )
        lessons.append(Lesson(Path(file), checkpoint.k, checkpoint.method))
    base = config.policies[few.policy].params.get("weights")
    suites = config.suites or (() if plan.spec is None else plan.spec.suites)
    factor = {target.axis: target.level, **target.within}
    return Course(
        Path(base) if isinstance(base, str) else WEIGHTS, factor, suites, tuple(lessons), few.demonstrations.records
    )


Teach = Callable[[Path, FewShot, Path, Reporter], Path]
"""Trains one checkpoint: from which weights, what, into which file."""


def train_curve(course: Course, reporter: Reporter, teach: Teach = teach) -> tuple[Path, ...]:
    """Train what is not trained yet, write what was demonstrated, and return every checkpoint.

    Args:
        course: What the study needs.
        reporter: Told how far it is.
        teach: Trains one checkpoint.

    Raises:
        ContractError: the weights cannot be started from, or there is no such axis, level or method.
    """
    digest = hashlib.sha256(course.weights.read_bytes()).hexdigest() if course.weights.is_file() else ""
    _write_records(course)
    for number, lesson in enumerate(course.lessons, 1):
        wanted = FewShot(course.factor, lesson.k, lesson.method, course.suites)
        key, mark = _key(wanted, digest), lesson.out.with_suffix(".json")
        if lesson.out.is_file() and _known(mark) == key:
            reporter.say(f"{number} of {len(course.lessons)}: {lesson.out.name} is trained")
            continue
        reporter.say(f"{number} of {len(course.lessons)}: {lesson.out.name}")
        mark.unlink(missing_ok=True)
        if _known(lesson.out.with_suffix(".started.json")) != key:
            shutil.rmtree(lesson.out.with_suffix(".demonstrations"), ignore_errors=True)
        _write(lesson.out.with_suffix(".started.json"), {"key": key})
        teach(course.weights, wanted, lesson.out, reporter)
        _write(mark, {"key": key, "k": lesson.k, "method": lesson.method, "factor": course.factor})
    return tuple(lesson.out for lesson in course.lessons)


def demonstrated_starts(wanted: Iterable[FewShot]) -> list[int]:
    """Return the seed of every start that was demonstrated or replayed, each once."""
    found: dict[int, None] = {}
    for one in wanted:
        found.update(dict.fromkeys(training_seed(f"shots-{one.seed}", number) for number in range(one.shots)))
        if one.method == "replay":
            found.update(dict.fromkeys(training_seed(f"replay-{one.seed}", number) for number in range(REPLAYED)))
    return list(found)


def _write_records(course: Course) -> None:
    if course.records is None:
        return
    wanted = [FewShot(course.factor, lesson.k, lesson.method, course.suites) for lesson in course.lessons]
    _write(course.records, {"factor": course.factor, "suites": course.suites, "starts": demonstrated_starts(wanted)})


def _key(wanted: FewShot, weights: str) -> str:
    """Return the digest of everything that a checkpoint follows from."""
    told = {name: getattr(wanted, name) for name in wanted.__dataclass_fields__}
    return content_hash([RECIPE, weights, told])


def _known(file: Path) -> str | None:
    try:
        key = json.loads(file.read_text(encoding="utf-8"))["key"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return key if isinstance(key, str) else None


def _write(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".partial")
    partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, file)
