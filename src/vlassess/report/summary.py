"""From plan and records to a `Summary`: the only place where a run's numbers are made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vlassess.report import counting
from vlassess.report.counting import CONFIDENCE
from vlassess.report.notices import notices
from vlassess.report.text import one_line
from vlassess.schema.attempts import Entry, entries
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest
from vlassess.schema.summary import GroupSummary, Level, PolicySummary, Summary, Throughput
from vlassess.stats import covered_length
from vlassess_link.data import EpisodeRecord, Outcome
from vlassess_link.specs import UNKNOWN

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Group:
    """What identifies one group of episodes of a policy."""

    level: Level
    suite: str | None = None
    task: str | None = None
    cell: tuple[tuple[str, str], ...] = ()


def summarise(items: Sequence[WorkItem], records: Iterable[EpisodeRecord], manifest: RunManifest) -> Summary:
    """Return every number of a run, computed from its plan and its records alone.

    Of several attempts the last final one counts, else the last. Records of items that are not in the
    plan are left out and said. Where the run has cells beside a control, the headline, suites and tasks
    are the control's.

    Args:
        items: The plan, in its order.
        records: Every attempt, in the order of the file.
        manifest: What ``run.json`` says.
    """
    kept = tuple(records)
    all_entries = entries(items, kept)
    spec = manifest.benchmark_spec
    primary = str(spec.get("primary_metric", "success"))
    by_policy = _grouped(all_entries, lambda entry: entry.item.policy)
    policies = tuple(_policy(label, group, primary, manifest) for label, group in by_policy.items())
    return Summary(
        run_id=one_line(manifest.run_id),
        name=one_line(manifest.config.name),
        benchmark=one_line(f"{spec.get('id', UNKNOWN)}@{spec.get('version', UNKNOWN)}"),
        plan_hash=manifest.plan_hash,
        success_semantics=str(spec.get("success", UNKNOWN)),
        primary_metric=one_line(primary),
        confidence=CONFIDENCE,
        counts=counting.counts(all_entries),
        throughput=_throughput(all_entries),
        policies=policies,
        notices=notices(all_entries, kept, policies, manifest),
    )


def _policy(label: str, group: Sequence[Entry], primary: str, manifest: RunManifest) -> PolicySummary:
    cells = _grouped(group, _cell)
    perturbed = {cell: found for cell, found in cells.items() if cell}
    main = cells.get((), list(group))
    reached = [record for entry in group for record in entry.attempts if record.identity != UNKNOWN]
    spec = manifest.policy_specs.get(label, {})
    name = spec.get("identity", {}).get("name")

    def summed(key: Group, found: Sequence[Entry]) -> GroupSummary:
        return _group(key, found, primary)

    return PolicySummary(
        label=one_line(label),
        name=None if name is None else one_line(str(name)),
        identities=tuple(dict.fromkeys(one_line(record.identity) for record in reached)),
        privileged=bool(spec.get("privileged")) or any(record.privileged for record in reached),
        counts=counting.counts(group),
        basis="control" if perturbed and () in cells else "all",
        overall=summed(Group("overall"), main),
        suites=tuple(summed(Group("suite", key), found) for key, found in _grouped(main, _suite).items()),
        tasks=tuple(summed(Group("task", *key), found) for key, found in _grouped(main, _task).items()),
        cells=tuple(summed(Group("cell", cell=key), found) for key, found in perturbed.items()),
        cell_tasks=tuple(
            summed(Group("task", *key, cell=cell), found)
            for cell, whole in perturbed.items()
            for key, found in _grouped(whole, _task).items()
        ),
        throughput=_throughput(group),
    )


def _group(key: Group, group: Sequence[Entry], primary: str) -> GroupSummary:
    found = counting.counts(group)
    records = [entry.record for entry in group if entry.record is not None]
    ended = [(record, record.outcome) for record in records if record.outcome is not None]
    starts = {record.state_digest for record in records if record.state_digest}
    single = key.level == "task"
    return GroupSummary(
        level=key.level,
        suite=None if key.suite is None else one_line(key.suite),
        task=None if key.task is None else one_line(key.task),
        perturbation={one_line(axis): one_line(level) for axis, level in key.cell},
        counts=found,
        rate=counting.rate_of(found),
        task_mean=None if single else counting.mean_of(_task_rates(group)),
        progress=counting.mean_of(outcome.progress for _, outcome in ended),
        primary_metric=None if primary == "success" else counting.mean_of(_metric(primary, [o for _, o in ended])),
        steps=counting.spread_of([record.steps for record, _ in ended]),
        distinct_starts=len(starts) if single else None,
        seconds=counting.seconds_of(group),
    )


def _task_rates(group: Sequence[Entry]) -> list[float]:
    found = [counting.counts(entries) for entries in _grouped(group, _task).values()]
    return [each.success / each.scored for each in found if each.scored]


def _metric(name: str, outcomes: Sequence[Outcome]) -> list[float]:
    return [outcome.metrics[name] for outcome in outcomes if name in outcome.metrics]


def _throughput(group: Sequence[Entry]) -> Throughput:
    spans = [span for entry in group for record in entry.attempts if (span := counting.span_of(record)) is not None]
    running = covered_length(spans)
    # An episode whose time is not known must not speed up the others.
    timed = [entry for entry in group if entry.record is not None and counting.span_of(entry.record) is not None]
    finished = counting.counts(timed).scored
    return Throughput(
        running_seconds=running if spans else None,
        episodes_per_minute=60 * finished / running if running else None,
    )


def _grouped(group: Iterable[Entry], key: Callable[[Entry], K]) -> dict[K, list[Entry]]:
    found: dict[K, list[Entry]] = defaultdict(list)
    for entry in group:
        found[key(entry)].append(entry)
    return dict(found)


def _cell(entry: Entry) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(entry.item.episode.perturbation.items()))


def _suite(entry: Entry) -> str:
    return entry.item.episode.suite


def _task(entry: Entry) -> tuple[str, str]:
    return entry.item.episode.suite, entry.item.episode.task
