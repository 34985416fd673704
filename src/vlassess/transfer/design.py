"""What a study comes to on its benchmark: cells one by one, starts of a task, and the runs that it consists of."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from vlassess.schema.cells import words
from vlassess.schema.config import Cell, PolicySource, RunConfig
from vlassess.schema.problems import nearest
from vlassess.schema.study import Checkpoint, ClaimConfig, StudyCell, StudyConfig
from vlassess.stats.budget import discordance_from, paired_exact
from vlassess_link.specs import BenchmarkSpec, TaskSpec

EVERY = "*"
CONTROL = "control"
"""What people read of the control of the benchmark's own scene."""

PartRole = Literal["cells", "few-shot", "retention"]


@dataclass(frozen=True)
class Part:
    """One run of a study.

    Attributes:
        name: Of the run; unique in the study.
        role: What its trials are for.
        config: What is run; its output is a folder called `runs`, relative to the study's.
        checkpoint: Which adapted checkpoint; None: policies as they are.
    """

    name: str
    role: PartRole
    config: RunConfig
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True)
class Design:
    """A study on its benchmark.

    Attributes:
        config: As it was written.
        cells: Every cell, `*` replaced by each level.
        starts: Matched initial states of a cell.
        parts: Its runs, in the order in which they are run; none without a benchmark.
        tasks: Tasks that the starts are spread over, ``suite/task``; none where cells and controls share none.
    """

    config: StudyConfig
    cells: tuple[StudyCell, ...]
    starts: int
    parts: tuple[Part, ...] = ()
    tasks: tuple[str, ...] = ()

    def cell(self, name: str) -> StudyCell | None:
        """Return the cell of that name, None where there is none."""
        return next((cell for cell in self.cells if cell.name == name), None)


def control_of(cell: StudyCell) -> str:
    """Return the name of a cell's control: its scene, its suite, or "control"."""
    return words(cell.within) or (f"{CONTROL} {cell.control}" if cell.control is not None else CONTROL)


def design_of(config: StudyConfig, spec: BenchmarkSpec | None, problems: list[str]) -> Design:
    """Return the study on its benchmark.

    Args:
        config: The study.
        spec: What the benchmark declares; None for a study by hand.
        problems: Collects what does not fit, a sentence each.
    """
    cells = _every_level(config.cells, spec)
    names = [cell.name for cell in cells]
    problems += [
        f"cells has {name!r} twice; keep one of them" for name in dict.fromkeys(names) if names.count(name) > 1
    ]
    _check_targets(config, names, problems)
    wanted = starts_for(config.claim, config.alpha, len(cells)) if config.claim is not None else config.starts or 1
    if spec is None:
        problems += [
            f"cells has {cell.name!r} with suite {cell.suite!r}, but no benchmark is given whose suite it could be"
            for cell in cells
            if cell.suite is not None
        ]
        return Design(config, cells, wanted)
    tasks = {suite: len(_tasks(config.tasks, (suite,), spec)) for suite in _suites(config, cells, spec)}
    starts = _whole(wanted, [sum(count) for count in _per_cell(cells, tasks)], config.claim is not None, problems)
    if problems:
        return Design(config, cells, starts)
    parts = tuple(_parts(config, cells, starts, spec, problems))
    shared = all(cell.suite is None for cell in cells)
    found = _tasks(config.tasks, config.suites or spec.suites, spec) if shared else []
    return Design(config, cells, starts, parts, tuple(f"{task.suite}/{task.name}" for task in found))


def starts_for(claim: ClaimConfig, alpha: float, cells: int) -> int:
    """Return the pairs of cell and control that find a gap of ``delta`` in any of the cells, corrected for all.

    Definition: `paired_exact` at ``alpha`` over the number of cells, which is the first and strictest step of Holm.

    Raises:
        ValueError: rates so far apart are not possible.
    """
    discordance = discordance_from(claim.delta, claim.correlation, claim.rate)
    return paired_exact(claim.delta, discordance, claim.power, alpha / max(1, cells)).n


def _every_level(cells: Iterable[StudyCell], spec: BenchmarkSpec | None) -> tuple[StudyCell, ...]:
    levels = {axis.name: [level.name for level in axis.levels] for axis in spec.axes} if spec is not None else {}
    found: list[StudyCell] = []
    for cell in cells:
        if cell.suite is None and cell.level == EVERY and cell.axis in levels:
            found += [cell.model_copy(update={"level": level}) for level in levels[cell.axis]]
        else:
            found.append(cell)
    return tuple(found)


def _check_targets(config: StudyConfig, names: Sequence[str], problems: list[str]) -> None:
    if config.few_shot is not None and config.few_shot.cell not in names:
        close = nearest(config.few_shot.cell, names)
        problems.append(f"few_shot.cell is {config.few_shot.cell!r}, which cells does not have; {close}")
    for name in (config.real and config.real.cells) or ():
        if name not in names:
            problems.append(f"real.cells has {name!r}, which cells does not have; {nearest(name, names)}")
    for label in (config.real and config.real.policies) or ():
        if label not in config.policies:
            close = nearest(label, config.policies)
            problems.append(f"real.policies has {label!r}, which policies does not have; {close}")


def _suites(config: StudyConfig, cells: Sequence[StudyCell], spec: BenchmarkSpec) -> tuple[str, ...]:
    """Return every suite that the cells and their controls are run on."""
    named = [suite for cell in cells for suite in (cell.control, cell.suite) if suite is not None]
    varied = any(cell.suite is None for cell in cells)
    return tuple(dict.fromkeys([*((config.suites or spec.suites) if varied else ()), *named]))


def _tasks(patterns: Sequence[str] | None, suites: Sequence[str], spec: BenchmarkSpec) -> list[TaskSpec]:
    found = [task for task in spec.tasks if task.suite in suites]
    if patterns is None:
        return found
    return [task for task in found if any(fnmatch.fnmatchcase(f"{task.suite}/{task.name}", p) for p in patterns)]


def _per_cell(cells: Sequence[StudyCell], tasks: dict[str, int]) -> list[list[int]]:
    """Return the tasks that each cell, and each control, has: one list a cell or control."""
    named = {suite for cell in cells for suite in (cell.control, cell.suite) if suite is not None}
    alone = [[count] for suite, count in tasks.items() if suite in named]
    varied = [count for suite, count in tasks.items() if suite not in named]
    return [*alone, *([varied] if varied else [])]


def _whole(wanted: int, tasks: Sequence[int], may_grow: bool, problems: list[str]) -> int:
    """Return starts that can be spread evenly over the tasks of every cell."""
    if not tasks or 0 in tasks:
        problems.append("tasks leaves a cell or control without a task; mend the patterns, or leave them out")
        return wanted
    step = math.lcm(*tasks)
    if wanted % step and not may_grow:
        low, high = wanted - wanted % step, wanted - wanted % step + step
        either = f"{low} or {high}" if low else str(high)
        problems.append(
            f"starts is {wanted}, which cannot be spread evenly over {step} tasks; set it to {either}, or choose other "
            "tasks"
        )
    return -(-wanted // step) * step


def _parts(
    config: StudyConfig, cells: Sequence[StudyCell], starts: int, spec: BenchmarkSpec, problems: list[str]
) -> Iterable[Part]:
    varied = tuple(cell for cell in cells if cell.suite is None)
    suites = config.suites or spec.suites
    if varied:
        base = _run(config, "cells", suites, starts // len(_tasks(config.tasks, suites, spec)))
        yield Part("cells", "cells", base.model_copy(update={"cells": tuple(map(_cell, varied))}))
    named = [cell for cell in cells if cell.suite is not None]
    if named:
        own = tuple(dict.fromkeys(suite for cell in named for suite in (cell.control, cell.suite) if suite is not None))
        fewest = min(len(_tasks(config.tasks, (suite,), spec)) for suite in own)
        yield Part("suites", "cells", _run(config, "suites", own, starts // fewest))
    yield from _adapted(config, cells, starts, spec)
    yield from _retained(config, starts, spec, problems)


def _adapted(config: StudyConfig, cells: Sequence[StudyCell], starts: int, spec: BenchmarkSpec) -> Iterable[Part]:
    if config.few_shot is None:
        return
    target = next(cell for cell in cells if cell.name == config.few_shot.cell)
    suites = (config.suites or spec.suites) if target.suite is None else (target.suite,)
    each = starts // len(_tasks(config.tasks, suites, spec))
    varied = (_cell(target),) if target.suite is None else ()
    for checkpoint in config.few_shot.adapted:
        name = f"few-shot-{label_of(checkpoint)}"
        run = _run(config, name, suites, each, {label_of(checkpoint): checkpoint.policy})
        yield Part(name, "few-shot", run.model_copy(update={"cells": varied}), checkpoint)


def _retained(config: StudyConfig, starts: int, spec: BenchmarkSpec, problems: list[str]) -> Iterable[Part]:
    """Yield the runs on seen tasks that no control has run already."""
    wanted, few = config.retention, config.few_shot
    if wanted is None or few is None:
        return
    problems += [
        f"retention.suites has {suite!r}, which {spec.name} does not have; {nearest(suite, spec.suites)}"
        for suite in wanted.suites
        if suite not in spec.suites
    ]
    tasks = _tasks(wanted.tasks, wanted.suites, spec)
    total = wanted.starts or starts
    if not tasks or total % len(tasks):
        problems.append(
            f"retention has {total} starts for {len(tasks)} tasks, over which they cannot be spread evenly; set "
            f"retention.starts to a multiple of {len(tasks)}"
            if tasks
            else "retention.tasks matches no task of its suites; mend the patterns, or leave them out"
        )
        return
    left = tuple(suite for suite in wanted.suites if suite not in shared_suites(config, starts, spec))
    if not left:
        return
    each = total // len(tasks)
    before = {few.policy: config.policies[few.policy]}
    for checkpoint in (None, *few.adapted):
        sources = before if checkpoint is None else {label_of(checkpoint): checkpoint.policy}
        name = f"retention-{'before' if checkpoint is None else label_of(checkpoint)}"
        named = (
            None if wanted.tasks is None else tuple(f"{task.suite}/{task.name}" for task in tasks if task.suite in left)
        )
        run = _run(config, name, left, each, sources).model_copy(update={"tasks": named})
        yield Part(name, "retention", run, checkpoint)


def shared_suites(config: StudyConfig, starts: int, spec: BenchmarkSpec) -> tuple[str, ...]:
    """Return the seen suites whose trials are those of the controls: the same tasks, as many starts of each."""
    wanted, few = config.retention, config.few_shot
    if wanted is None or few is None:
        return ()
    suites = config.suites or spec.suites
    target = next((cell for cell in config.cells if cell.name == few.cell), None)
    if target is not None and (target.suite is not None or target.within):
        return ()
    seen, varied = _tasks(wanted.tasks, wanted.suites, spec), _tasks(config.tasks, suites, spec)
    if not seen or not varied or (wanted.starts or starts) / len(seen) != starts / len(varied):
        return ()
    return tuple(
        suite
        for suite in wanted.suites
        if suite in suites and _tasks(wanted.tasks, (suite,), spec) == _tasks(config.tasks, (suite,), spec)
    )


def label_of(checkpoint: Checkpoint) -> str:
    """Return what a checkpoint is called in runs: ``full-10``."""
    return f"{checkpoint.method}-{checkpoint.k}"


def _run(
    config: StudyConfig,
    name: str,
    suites: Sequence[str],
    each: int,
    policies: dict[str, PolicySource] | None = None,
) -> RunConfig:
    assert config.benchmark is not None
    return RunConfig(
        name=name,
        benchmark=config.benchmark,
        suites=tuple(suites),
        tasks=config.tasks,
        episodes=max(1, each),
        seed=config.seed,
        policies=policies or config.policies,
        execution=config.execution,
    )


def _cell(cell: StudyCell) -> Cell:
    return Cell(axis=cell.axis, level=cell.level, within=cell.within)
