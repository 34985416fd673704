"""Every work item of a run, decided before anything starts.

The plan is a pure function of the config and the benchmark's spec, so that two machines, a resumed run and
a shard have the same one. What an episode starts from depends on (benchmark, suite, task, index, initial
state) and the base seed alone: more episodes, other tasks, cells, repeats or policies never change it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vlassess.schema.cells import CellKey, PlannedCell
from vlassess.schema.config import Cell, RunConfig
from vlassess.schema.items import WorkItem, episode_item
from vlassess.schema.problems import ProblemsError, nearest, shown
from vlassess_link.data import Episode
from vlassess_link.digest import content_hash, content_id
from vlassess_link.seeds import episode_seed, policy_seed
from vlassess_link.specs import BenchmarkSpec, TaskSpec

MOST_ITEMS = 1_000_000
"""How many episodes a run may have: each is planned, written and kept in memory."""

EVERY = "*"
"""Stands for each level of an axis."""


class PlanError(ProblemsError):
    """A config does not fit the benchmark: `problems` holds one sentence for each mistake."""


def make_plan(config: RunConfig, spec: BenchmarkSpec) -> tuple[WorkItem, ...]:
    """Return every work item: task by task as the spec orders them, then start, cell, repeat and policy.

    The control is the first cell. Ids are unique.

    Raises:
        PlanError: names every mistake: a suite, filter, axis or level that matches nothing, an entry that
            is given twice, too few stored initial states, nothing to run.
    """
    problems: list[str] = []
    tasks = _chosen_tasks(config, spec, problems)
    cells = _perturbations(_cells(config.cells, spec, problems))
    _check_policies(config, problems)
    _check_starts(tasks, config.episodes, spec, problems)
    _check_size(len(tasks) * config.episodes * len(cells) * config.repeats * len(config.policies), problems)
    if problems:
        raise PlanError(f"plan of {config.name!r} on {spec.name}", problems)
    return tuple(
        episode_item(label, episode)
        for task in tasks
        for index in range(config.episodes)
        for episode in _episodes(config, spec, task, index, cells)
        for label in config.policies
    )


def plan_hash(items: Iterable[WorkItem]) -> str:
    """Return the digest of a plan: equal for the same items in the same order, and only then."""
    return content_hash([item.item_id for item in items])


def _episodes(
    config: RunConfig, spec: BenchmarkSpec, task: TaskSpec, index: int, cells: Sequence[Mapping[str, str]]
) -> Iterator[Episode]:
    """Yield the episodes of one start: every cell, every repeat."""
    state = task.initial_states[index] if task.initial_states else None
    pair_key = content_id([spec.ref, task.suite, task.name, index, state])
    seed = episode_seed(config.seed, pair_key)
    for cell in cells:
        for repeat in range(config.repeats):
            yield Episode(
                episode_id=content_id([pair_key, cell, None, seed, repeat]),
                pair_key=pair_key,
                benchmark=spec.ref,
                suite=task.suite,
                task=task.name,
                index=index,
                seed=seed,
                policy_seed=policy_seed(config.seed, pair_key, repeat),
                step_limit=config.step_limit or task.step_limit,
                initial_state=state,
                repeat=repeat,
                perturbation=cell,
            )


def _chosen_tasks(config: RunConfig, spec: BenchmarkSpec, problems: list[str]) -> list[TaskSpec]:
    suites = _without_repeats("suites", config.suites or spec.suites, problems)
    for suite in suites:
        if suite not in spec.suites:
            problems.append(
                f"suites has {shown(suite)}, which {spec.name} does not have; {nearest(suite, spec.suites)}"
            )
    tasks = [task for task in spec.tasks if task.suite in suites]
    if not tasks and not problems:
        problems.append(f"{spec.name} declares no task, so there is no episode to run; mend the benchmark's spec")
    if config.tasks is None:
        return tasks
    names = [_path(task) for task in tasks]
    patterns = _without_repeats("tasks", config.tasks, problems)
    for pattern in patterns:
        if tasks and not fnmatch.filter(names, pattern):
            close = nearest(pattern, names)
            problems.append(f"tasks has {shown(pattern)}, which matches no task of the chosen suites; {close}")
    return [task for task in tasks if any(fnmatch.fnmatchcase(_path(task), pattern) for pattern in patterns)]


def planned_cells(config: RunConfig, spec: BenchmarkSpec) -> tuple[PlannedCell, ...]:
    """Return the cells of a plan in its order, `*` written out; their controls are not among them unless named.

    Raises:
        PlanError: names every mistake in the config's cells.
    """
    problems: list[str] = []
    cells = _cells(config.cells, spec, problems)
    if problems:
        raise PlanError(f"cells of {config.name!r} on {spec.name}", problems)
    return tuple(cells)


def added_controls(cells: Sequence[PlannedCell]) -> tuple[str, ...]:
    """Return one sentence for each control that no cell names and the plan runs beside the cells that need it."""
    named = {cell.key for cell in cells}
    users: dict[CellKey, list[PlannedCell]] = {}
    for cell in cells:
        if cell.control_key not in named:
            users.setdefault(cell.control_key, []).append(cell)
    return tuple(
        f"added: {group[0].control_name}, the control of {group[0].name}"
        + (f" and {len(group) - 1} more" if len(group) > 1 else "")
        for group in users.values()
    )


def _perturbations(cells: Sequence[PlannedCell]) -> list[dict[str, str]]:
    """Return every perturbation once: the control first, then each cell behind the control that it needs."""
    unique: dict[CellKey, dict[str, str]] = {(): {}}
    for cell in cells:
        unique.setdefault(cell.control_key, cell.control)
        unique.setdefault(cell.key, cell.perturbation)
    return list(unique.values())


def _cells(cells: Sequence[Cell], spec: BenchmarkSpec, problems: list[str]) -> list[PlannedCell]:
    axes = {axis.name: [level.name for level in axis.levels] for axis in spec.axes}
    found = []
    for cell in cells:
        known = len(problems)
        for axis, level in cell.within.items():
            _check_level(axis, level, axes, spec, problems)
        if cell.axis in cell.within:
            problems.append(
                f"cells has {cell.axis}={cell.level} within {cell.axis}={cell.within[cell.axis]}; a cell and its "
                "control differ in the cell's axis, so it cannot be fixed: take another axis for the scene"
            )
        _check_together((cell.axis, *cell.within), spec, problems)
        if cell.axis in axes and cell.level == EVERY:
            found += [PlannedCell(cell.axis, level, cell.within) for level in axes[cell.axis]]
            continue
        _check_level(cell.axis, cell.level, axes, spec, problems)
        if len(problems) == known:
            found.append(PlannedCell(cell.axis, cell.level, cell.within))
    _without_repeats("cells", [cell.name for cell in found], problems)
    return found


def _check_together(axes: Sequence[str], spec: BenchmarkSpec, problems: list[str]) -> None:
    for axis in spec.axes:
        for other in set(axis.excludes) & set(axes) if axis.name in axes else ():
            problems.append(
                f"cells has {axis.name} and {other} in one episode, which {spec.name} cannot vary together; take "
                "another axis for the scene"
            )


def _check_level(
    axis: str, level: str, axes: Mapping[str, Sequence[str]], spec: BenchmarkSpec, problems: list[str]
) -> None:
    if axis not in axes:
        problems.append(f"cells has the axis {shown(axis)}, which {spec.name} does not have; {nearest(axis, axes)}")
    elif level not in axes[axis]:
        close = nearest(level, axes[axis])
        problems.append(f"cells has {axis}={level}, but the axis has no such level; {close}")


def _check_policies(config: RunConfig, problems: list[str]) -> None:
    labels = list(config.policies)
    if not labels:
        problems.append("policies is empty, so there is no episode to run; name at least one policy")
    for position, label in enumerate(labels):
        same = [other for other in labels[:position] if config.policies[other] == config.policies[label]]
        if same:
            problems.append(
                f"policies has {same[0]!r} and {label!r} for the same policy; remove one (`repeats` runs it more often)"
            )


def _check_starts(tasks: Sequence[TaskSpec], episodes: int, spec: BenchmarkSpec, problems: list[str]) -> None:
    if episodes < 1:
        problems.append(f"episodes is {episodes}, so there is no episode to run; it must be at least 1")
    for task in tasks:
        if 0 < len(task.initial_states) < episodes:
            problems.append(
                f"episodes is {episodes}, but task {_path(task)} of {spec.name} has {len(task.initial_states)} stored "
                f"initial states; set episodes to at most {len(task.initial_states)}, or leave the task out"
            )


def _check_size(items: int, problems: list[str]) -> None:
    if items > MOST_ITEMS:
        problems.append(
            f"tasks x episodes x cells x repeats x policies are {shown(items)} episodes; one run may have {MOST_ITEMS} "
            "at most: lower episodes or repeats, or make several runs"
        )


def _without_repeats(name: str, entries: Sequence[str], problems: list[str]) -> list[str]:
    unique = list(dict.fromkeys(entries))
    problems.extend(f"{name} has {entry!r} twice; keep one of them" for entry in unique if entries.count(entry) > 1)
    return unique


def _path(task: TaskSpec) -> str:
    return f"{task.suite}/{task.name}"
