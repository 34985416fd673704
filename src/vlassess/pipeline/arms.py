"""From runs on disk, or files of others, to arms of a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from vlassess.comparison import Place, block_order, place_of
from vlassess.imports import is_importable, read_arms
from vlassess.pipeline.decisions import read_decision
from vlassess.pipeline.sameness import side_conduct
from vlassess.plan import plan_hash
from vlassess.records import RunDirectory, RunDirectoryError
from vlassess.schema.arms import Arm, Touch, Trial
from vlassess.schema.attempts import Entry, entries
from vlassess.schema.decision import Decision
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest
from vlassess_link.jsonable import from_json
from vlassess_link.specs import BenchmarkSpec

NO_BLOCKS: Mapping[Place, int] = MappingProxyType({})
"""Of a run without a stopping rule."""


def arms_of(sources: Sequence[str]) -> tuple[Arm, ...]:
    """Return the arms that a command line names: run folders, ``FOLDER:LABEL``, or files; with unique labels.

    Raises:
        VlassessError: a source cannot be read; says why.
    """
    found = [arm for source in sources for arm in _arms_at(source)]
    labels = [arm.label for arm in found]
    return tuple(
        arm if labels.count(arm.label) == 1 else dataclasses.replace(arm, label=_longer(arm, found)) for arm in found
    )


def run_arms(run: RunDirectory, label: str | None = None) -> tuple[Arm, ...]:
    """Return one arm for each policy of a run, or the one with the label.

    Raises:
        RunDirectoryError: the run has no such policy.
    """
    manifest, items = run.manifest, run.items()
    labels = list(dict.fromkeys(item.policy for item in items))
    if label is not None and label not in labels:
        raise RunDirectoryError(f"{run.path} has no policy {label!r}; it has {', '.join(labels)}")
    found = entries(items, run.records().records)
    blocks = _blocks(manifest, items)
    return tuple(
        _arm(run, name, [entry for entry in found if entry.item.policy == name], blocks)
        for name in (labels if label is None else [label])
    )


def parse_source(source: str) -> tuple[Path, str | None]:
    """Return the folder and the label that ``FOLDER`` or ``FOLDER:LABEL`` names."""
    if Path(source).exists():
        return Path(source), None
    folder, colon, label = source.rpartition(":")
    return (Path(folder), label) if colon and folder else (Path(source), None)


def _arms_at(source: str) -> tuple[Arm, ...]:
    path, label = parse_source(source)
    if not is_importable(path):
        return run_arms(RunDirectory.open(path), label)
    found = tuple(dataclasses.replace(arm, origin=f"{path.name}:{arm.label}") for arm in read_arms(path))
    if label is None:
        return found
    chosen = tuple(arm for arm in found if arm.label == label)
    if not chosen:
        raise RunDirectoryError(f"{path} has no policy {label!r}; it has {', '.join(arm.label for arm in found)}")
    return chosen


def _longer(arm: Arm, others: Sequence[Arm]) -> str:
    """Return a label that tells an arm from others of its name: with the source's name, else with a number."""
    path = Path(arm.source)
    name = f"{arm.label} ({path.name})"
    same = [other for other in others if f"{other.label} ({Path(other.source).name})" == name]
    if len(same) == 1:
        return name
    return (
        f"{arm.label} ({path})"
        if len({other.source for other in same}) == len(same)
        else f"{name} {same.index(arm) + 1}"
    )


def _arm(run: RunDirectory, label: str, own: Sequence[Entry], blocks: Mapping[Place, int]) -> Arm:
    manifest = run.manifest
    spec = from_json(BenchmarkSpec, manifest.benchmark_spec)
    policy = manifest.policy_specs.get(label, {})
    decision = read_decision(run.path)
    trials = tuple(trial_of(entry, blocks, run.path) for entry in own)
    return Arm(
        label=label,
        source=str(run.path),
        trials=trials,
        benchmark=spec.ref,
        touches={axis.name: Touch(frozenset(axis.touched), axis.control == "paired") for axis in spec.axes},
        conduct=side_conduct(manifest.config, label, manifest.worker),
        privileged=bool(policy.get("privileged")) or any(e.record is not None and e.record.privileged for e in own),
        stochastic=policy.get("stochastic"),
        notes=_notes(manifest, trials),
        declared=manifest.config.comparison,
        origin=f"{manifest.run_id}:{label}",
        rival=_rival(decision, label),
        stopped=decision.sentence if decision is not None and decision.decided_at is not None else "",
    )


def trial_of(entry: Entry, blocks: Mapping[Place, int] = NO_BLOCKS, folder: Path | None = None) -> Trial:
    """Return an episode as comparisons see it.

    Args:
        entry: The episode.
        blocks: Place -> block, where the run has a stopping rule.
        folder: The run directory, which may hold its video.
    """
    episode, record = entry.item.episode, entry.record
    place = place_of(entry.item)
    video = None if folder is None else folder / "artifacts" / entry.item.item_id / "video.mp4"
    told: dict[str, Any] = {}
    if record is not None:
        told = {
            "progress": None if record.outcome is None else record.outcome.progress,
            "state": record.initial_state,
            "instruction": record.instruction,
            "identity": record.identity,
            "host": record.host,
        }
    return Trial(
        suite=episode.suite,
        task=episode.task,
        index=episode.index,
        ended="missing" if record is None else record.counts_as,  # type: ignore[arg-type]
        repeat=episode.repeat,
        cell=place.cell,
        pair_key=episode.pair_key,
        step_limit=episode.step_limit,
        item_id=entry.item.item_id,
        video=str(video) if video is not None and video.is_file() else "",
        block=blocks.get(place),
        **told,
    )


def _blocks(manifest: RunManifest, items: Sequence[WorkItem]) -> dict[Place, int]:
    declared = manifest.config.comparison
    if declared is None or not declared.stop_when_decided:
        return {}
    return block_order(items, plan_hash(items))


def _rival(decision: Decision | None, label: str) -> str:
    """Return what the run's stopping rule compares a policy with; empty where there is none."""
    if decision is None:
        return ""
    run_id, _, other = decision.rival.rpartition(":")
    return f"{run_id}:{decision.a}" if label == other and label != decision.a else decision.rival


def _notes(manifest: RunManifest, trials: Sequence[Trial]) -> tuple[str, ...]:
    missing = sum(trial.ended == "missing" for trial in trials)
    notes = [f"{missing} of {len(trials)} planned episodes were not run"] if missing else []
    if manifest.config.step_limit is not None:
        notes.append("its step limit was replaced: another protocol")
    if manifest.config.realtime is not None:
        notes.append(f"it ran in real time ({manifest.config.realtime.pace}), where the other may not have")
    if manifest.config.disturbance is not None:
        notes.append("its actions were disturbed before they were executed, as for demonstrations")
    return tuple(notes)
