"""Why a run on disk is not continued: it would mix two experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vlassess.plan import plan_hash
from vlassess.schema.config import RunConfig
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest, WorkerInterpreter
from vlassess_link.errors import VlassessError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.specs import BenchmarkSpec, PolicySpec

NO_MATTER = ("name", "execution", "artifacts", "tracking", "output", "gates", "comparison")
"""Parts of a config that change no episode."""


class ResumeRefusedError(VlassessError):
    """The run on disk and what was asked for are not the same experiment."""


def refuse_other_plan(
    manifest: RunManifest, planned: Sequence[WorkItem], wanted: Sequence[WorkItem], config: RunConfig
) -> None:
    """Refuse to mix two experiments in one run directory.

    Raises:
        ResumeRefusedError: the plans differ, or how their episodes are run; shows in what.
    """
    if plan_hash(wanted) == manifest.plan_hash and conduct(config) == conduct(manifest.config):
        return
    before, after = {item.item_id for item in planned}, {item.item_id for item in wanted}
    old, new = manifest.config.model_dump(mode="json"), config.model_dump(mode="json")
    changed = [f"{key}: {old[key]!r} -> {new[key]!r}" for key in old if key not in NO_MATTER and old[key] != new[key]]
    raise ResumeRefusedError(
        f"the plan changed since {manifest.run_id} was begun ({len(before - after)} of its items are no longer "
        f"planned, {len(after - before)} are new): {'; '.join(changed) or 'the benchmark declares other tasks'}. "
        "Take the old config, or start a new run"
    )


def conduct(config: RunConfig) -> dict[str, Any]:
    """Return what changes an episode's course but is in no item: the benchmark's parameters, time, the horizons."""
    horizons = {f"policies.{label}.horizon": source.horizon for label, source in config.policies.items()}
    realtime = None if config.realtime is None else config.realtime.model_dump(mode="json")
    return {"benchmark.params": config.benchmark.params, "realtime": realtime, **horizons}


def refuse_other_benchmark(manifest: RunManifest, spec: BenchmarkSpec) -> None:
    """Refuse to mix two versions of a benchmark.

    Raises:
        ResumeRefusedError: what it declares differs; shows in what.
    """
    # Read first, so that a field that a later version has added stands at its default.
    old, new = to_json(from_json(BenchmarkSpec, manifest.benchmark_spec)), to_json(spec)
    changed = [f"{key}: {old[key]!r} -> {new[key]!r}" for key in new if old[key] != new[key]]
    if changed:
        raise ResumeRefusedError(
            f"the benchmark is not the one that {manifest.run_id} was begun with ({'; '.join(changed)}). "
            "Take the old one, or start a new run"
        )


def refuse_other_interpreter(manifest: RunManifest, worker: WorkerInterpreter | None) -> None:
    """Refuse to mix two interpreters of the benchmark's workers: another simulator may behave otherwise.

    Raises:
        ResumeRefusedError: Python or a package differs; shows in what. Another path to the same is no difference.
    """
    old = manifest.worker
    if (old and old.digest) == (worker and worker.digest):
        return
    raise ResumeRefusedError(
        f"the benchmark's interpreter is not the one that {manifest.run_id} was begun with "
        f"({_difference(old, worker)}). Take the old one, or start a new run"
    )


def _difference(old: WorkerInterpreter | None, new: WorkerInterpreter | None) -> str:
    if old is None or new is None:
        return " -> ".join("the harness's own" if one is None else one.path for one in (old, new))
    before, after = ({"python": one.python, **one.packages} for one in (old, new))
    names = sorted(before.keys() | after.keys())
    changed = [
        f"{name}: {before.get(name)} -> {after.get(name)}" for name in names if before.get(name) != after.get(name)
    ]
    return "; ".join([*changed[:10], *(["..."] if len(changed) > 10 else [])])


def refuse_other_conversions(manifest: RunManifest, conversions: Mapping[str, Sequence[str]]) -> None:
    """Refuse to mix episodes of one policy that are converted in different ways: a spec has changed in between.

    Raises:
        ResumeRefusedError: a policy's conversions differ; shows both.
    """
    for label, found in conversions.items():
        begun = manifest.policy_fits.get(label)
        if begun is not None and tuple(found) != begun.conversions:
            before, after = ("; ".join(one) or "nothing" for one in (begun.conversions, found))
            raise ResumeRefusedError(
                f"what is converted for policy {label!r} is not what it was when {manifest.run_id} was begun ({before} "
                f"-> {after}). Take the old spec, or start a new run"
            )


def refuse_other_policies(manifest: RunManifest, specs: Mapping[str, PolicySpec]) -> None:
    """Refuse to mix two policies under one label.

    Raises:
        ResumeRefusedError: an identity differs; shows in what.
    """
    for label, spec in specs.items():
        if manifest.policy_identities.get(label, spec.identity.digest) == spec.identity.digest:
            continue
        old, new = manifest.policy_specs[label]["identity"], to_json(spec.identity)
        changed = [f"{key}: {old[key]!r} -> {new[key]!r}" for key in old if old[key] != new.get(key)]
        raise ResumeRefusedError(
            f"policy {label!r} is not the one that {manifest.run_id} was begun with ({'; '.join(changed)}). "
            "Serve the old one, or start a new run"
        )
