"""Joins runs of one plan into one run directory like any other: it can be reported, resumed, exported, merged."""

from __future__ import annotations

import datetime
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlassess.execution import Ending
from vlassess.pipeline.parts import part_of, taken, whole_hash
from vlassess.pipeline.planning import planned
from vlassess.pipeline.probing import join_answers
from vlassess.pipeline.runs import RunResult, conclude
from vlassess.pipeline.sameness import differences
from vlassess.plan import plan_hash
from vlassess.records import Joined, RunDirectory, RunDirectoryError, join_records
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import PlanPart, RunManifest, RunSource
from vlassess.sharding import Shard, partition
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import VlassessError
from vlassess_link.jsonable import from_json
from vlassess_link.specs import BenchmarkSpec


class MergeRefusedError(VlassessError):
    """The runs are not of one experiment."""


@dataclass(frozen=True)
class Remaining:
    """Items that no source has a result for, and the command that runs them.

    Attributes:
        shard: Their shard, as ``3/7``; None where the sources are not shards of one division.
        items: How many.
        command: Runs them.
    """

    shard: str | None
    items: int
    command: str


@dataclass(frozen=True)
class Merged:
    """What a merge came to.

    Attributes:
        result: The merged run.
        sources: The runs it was made from, in the order given.
        remaining: What is missing, with the commands that run it; empty for a complete run.
        notes: What people should know, one sentence each.
    """

    result: RunResult
    sources: tuple[RunSource, ...]
    remaining: tuple[Remaining, ...]
    notes: tuple[str, ...]


def merge(paths: Sequence[Path], output: Path) -> Merged:
    """Join runs of one plan into the new run directory ``output``; the sources stay as they are.

    Raises:
        MergeRefusedError: plans, benchmarks, parameters or policies differ; shows in what. Nothing is written.
        ConflictError: two runs have different results for one item. Nothing is written.
        RunDirectoryError: ``output`` exists, or a source is no run.
    """
    if output.exists():
        raise RunDirectoryError(f"{output} exists; give --output the name of a new folder")
    runs = [RunDirectory.open(path) for path in paths]
    _refuse_inside(runs, output)
    for run in runs[1:]:
        _refuse_different(runs[0], run)
    items, part = _whole_plan(runs)
    notes, records = _read(runs, {item.item_id for item in items})
    joined = join_records(records, [str(run.path) for run in runs])
    sources = tuple(map(_source, runs, map(len, records), joined.duplicates))
    manifest = _manifest([run.manifest for run in runs], items, output).model_copy(
        update={"part": part, "sources": sources}
    )
    made = RunDirectory.create(output, manifest, items)
    log = made.log()
    log.append([kept.record for kept in joined.kept])
    log.close()
    _join_artifacts(runs, joined, output)
    notes += join_answers([run.path for run in runs], items, output)
    result = conclude(made, manifest.config, Ending(interrupted=False))
    return Merged(result, sources, _remaining(runs, items, joined, output), (*notes, *_version_notes(manifest)))


def _refuse_inside(runs: Sequence[RunDirectory], output: Path) -> None:
    """Refuse to put the merged run into one of its sources, which stay as they are.

    Raises:
        RunDirectoryError: names the source.
    """
    above = output.absolute().resolve().parents
    for run in runs:
        if run.path.resolve() in above:
            raise RunDirectoryError(
                f"{output} is inside {run.path}, one of the runs to merge; name a folder beside them"
            )


def _refuse_different(one: RunDirectory, other: RunDirectory) -> None:
    """Refuse two runs that are no parts of one experiment.

    Raises:
        MergeRefusedError: shows in what they differ.
    """
    for found in differences(one.manifest, other.manifest):
        raise MergeRefusedError(
            f"{one.path} and {other.path} cannot be merged: {found.subject} is not the same "
            f"({found.text(' and ') or 'it was planned otherwise'}). "
            "Merge only runs of one config, benchmark and policy"
        )


def _whole_plan(runs: Sequence[RunDirectory]) -> tuple[tuple[WorkItem, ...], PlanPart | None]:
    """Return the plan that the runs are parts of, of limited ones the largest; and which part of the whole that is.

    Raises:
        MergeRefusedError: this version plans otherwise than the one that the runs were made with.
    """
    manifest = runs[0].manifest
    whole = planned(manifest.config, from_json(BenchmarkSpec, manifest.benchmark_spec))
    if plan_hash(whole) != whole_hash(manifest):
        raise MergeRefusedError(
            f"the plan of {runs[0].path} cannot be made again by this version of vlassess; merge with version "
            f"{manifest.versions.get('vlassess', 'that it was run with')}"
        )
    part = part_of(whole, _limit([run.manifest for run in runs]), None)
    return taken(whole, part), part


def _limit(manifests: Iterable[RunManifest]) -> int | None:
    limits = [None if manifest.part is None else manifest.part.limit for manifest in manifests]
    return None if None in limits else max(limit for limit in limits if limit is not None)


def _read(runs: Sequence[RunDirectory], planned: set[str]) -> tuple[list[str], list[list[EpisodeRecord]]]:
    """Return what is odd about the sources' records, and those that belong to the plan."""
    notes, found = [], []
    for run in runs:
        records, torn = run.records()
        if torn:
            notes.append(f"the last line of {run.path}/episodes.jsonl is torn ({torn} bytes) and was left out")
        ours = [record for record in records if record.item_id in planned]
        if len(ours) < len(records):
            notes.append(f"{len(records) - len(ours)} records of {run.path} are of no planned item and were left out")
        found.append(ours)
    return notes, found


def _source(run: RunDirectory, records: int, duplicates: int) -> RunSource:
    manifest = run.manifest
    return RunSource(
        run_id=manifest.run_id,
        path=str(run.path),
        part=manifest.part,
        created=manifest.created,
        records=records,
        duplicates=duplicates,
    )


def _manifest(manifests: Sequence[RunManifest], items: Sequence[WorkItem], output: Path) -> RunManifest:
    first = manifests[0]
    return first.model_copy(
        update={
            "run_id": output.absolute().name,
            "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "config": first.config.model_copy(update={"output": output.absolute().parent}),
            "plan_hash": plan_hash(items),
            "items": len(items),
            "policy_specs": {key: value for each in reversed(manifests) for key, value in each.policy_specs.items()},
            "policy_fits": {key: value for each in reversed(manifests) for key, value in each.policy_fits.items()},
            "policy_identities": {
                key: value for each in reversed(manifests) for key, value in each.policy_identities.items()
            },
            "versions": _together([each.versions for each in manifests]),
            "git": _together([each.git for each in manifests]),
            "hardware": _together([each.hardware for each in manifests]),
        }
    )


def _together(tables: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return one table: a value that all have, else all of them."""
    keys = dict.fromkeys(key for table in tables for key in table)
    return {key: " / ".join(dict.fromkeys(table[key] for table in tables if key in table)) for key in keys}


def _version_notes(manifest: RunManifest) -> list[str]:
    several = [f"{name} {found}" for name, found in manifest.versions.items() if " / " in found]
    return [f"the runs were made with different versions: {', '.join(several)}"] if several else []


def _join_artifacts(runs: Sequence[RunDirectory], joined: Joined, output: Path) -> None:
    """Give the merged run the recordings of the attempts that count, as hard links where the disk allows it."""
    owners: dict[str, int] = {}
    for kept in joined.kept:
        if kept.record.final or kept.record.item_id not in owners:
            owners[kept.record.item_id] = kept.source
    for item_id, source in owners.items():
        folder = runs[source].path / "artifacts" / item_id
        if folder.is_dir():
            shutil.copytree(folder, output / "artifacts" / item_id, copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one without links
        shutil.copy2(source, target)


def _remaining(
    runs: Sequence[RunDirectory], items: Sequence[WorkItem], joined: Joined, output: Path
) -> tuple[Remaining, ...]:
    """Return what has no result yet, and the commands that run it."""
    done = {kept.record.item_id for kept in joined.kept if kept.record.final}
    missing = {item.item_id for item in items if item.item_id not in done}
    if not missing:
        return ()
    divisions = {run.manifest.part.shards if run.manifest.part else None for run in runs}
    of = divisions.pop() if len(divisions) == 1 else None
    if of is None:
        return (Remaining(None, len(missing), f"vlassess run --resume {shlex.quote(str(output))}"),)
    homes = {run.manifest.part.shard: run.path for run in runs if run.manifest.part}
    begun = runs[0].manifest.command or ("vlassess", "run", "CONFIG")
    shards = partition(items, of)
    counts = sorted(Counter(shards[item_id] for item_id in missing).items())
    return tuple(
        Remaining(
            str(Shard(number, of)),
            count,
            shlex.join(
                ("vlassess", "run", "--resume", str(homes[number]))
                if number in homes
                else (*begun, "--shard", str(Shard(number, of)))
            ),
        )
        for number, count in counts
    )
