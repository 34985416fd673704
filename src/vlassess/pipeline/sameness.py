"""What makes two runs one experiment, decided once: resume and merge refuse on it, a comparison notes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from vlassess.pipeline.parts import whole_hash
from vlassess.schema.config import BenchmarkSource, PolicySource, RunConfig
from vlassess.schema.manifest import RunManifest, WorkerInterpreter
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.specs import BenchmarkSpec

Weight = Literal["planned", "conduct", "identity", "no matter", "parts"]
"""What a field of a config decides: which episodes there are; how they are run; what a side is, which its spec says;
nothing that changes an episode; or it has fields of its own."""

RUN_FIELDS: Mapping[str, Weight] = {
    "name": "no matter",
    "benchmark": "parts",
    "suites": "planned",
    "tasks": "planned",
    "episodes": "planned",
    "repeats": "planned",
    "seed": "planned",
    "cells": "planned",
    "grounding": "planned",
    "audit": "no matter",
    "step_limit": "planned",
    "realtime": "conduct",
    "disturbance": "conduct",
    "policies": "parts",
    "execution": "no matter",
    "artifacts": "no matter",
    "tracking": "no matter",
    "output": "no matter",
    "gates": "no matter",
    "comparison": "no matter",
}
BENCHMARK_FIELDS: Mapping[str, Weight] = {
    "name": "identity",
    "target": "identity",
    "params": "conduct",
    "interpreter": "identity",
    "env": "conduct",
}
# Where a policy is reached is not what it is: one run may serve it, another find it at a url.
POLICY_FIELDS: Mapping[str, Weight] = {
    "name": "identity",
    "url": "no matter",
    "serve": "identity",
    "local": "identity",
    "params": "conduct",
    "horizon": "conduct",
    "ensemble": "conduct",
    "replicas": "no matter",
    "max_batch": "no matter",
    "token_file": "no matter",
    "dialect": "conduct",
    "mapping": "conduct",
    "images": "conduct",
    "ca_file": "no matter",
}


class Change(NamedTuple):
    """One thing that differs."""

    name: str
    before: Any
    after: Any

    def text(self, joint: str) -> str:
        """Return ``name: before<joint>after``."""
        return (
            f"{self.name}: {self.before!r}{joint}{self.after!r}" if self.name else f"{self.before}{joint}{self.after}"
        )


@dataclass(frozen=True)
class Difference:
    """One respect in which two runs are not one experiment.

    Attributes:
        subject: "the benchmark", "the plan", "policy 'a'", ...
        changes: In what it differs; empty where nobody can say more.
        old: How the first run's is to be had back: "take the old one", "serve the old one".
    """

    subject: str
    changes: tuple[Change, ...]
    old: str = "take the old one"

    def text(self, joint: str) -> str:
        """Return all changes as one text."""
        return "; ".join(change.text(joint) for change in self.changes)


def differences(a: RunManifest, b: RunManifest) -> tuple[Difference, ...]:
    """Return every respect in which two runs are not parts of one experiment; what only one of them knows is none."""
    found = [plan_difference(a, b), benchmark_difference(a, b.benchmark_spec), *_interpreter(a.worker, b.worker)]
    changed = tuple(changes(conduct(a.config), conduct(b.config)))
    found.append(Difference("how episodes are run", changed) if changed else None)
    for label in a.policy_identities:
        found += (_identity(a, b, label), _conversions(a, b, label))
    return tuple(difference for difference in found if difference is not None)


def plan_difference(a: RunManifest, b: RunManifest) -> Difference | None:
    """Return what is planned otherwise, by the digests of the whole plans."""
    if whole_hash(a) == whole_hash(b):
        return None
    return Difference("the plan", tuple(planned_changes(a.config, b.config)))


def planned_changes(a: RunConfig, b: RunConfig) -> Iterator[Change]:
    """Yield the parts of two configs that differ and decide which episodes there are, or how they are run."""
    matter = [name for name, weight in RUN_FIELDS.items() if weight != "no matter"]
    old, new = a.model_dump(mode="json"), b.model_dump(mode="json")
    return changes({name: old[name] for name in matter}, {name: new[name] for name in matter})


def conduct(config: RunConfig) -> dict[str, Any]:
    """Return what changes an episode's course but is in no item of the plan: name -> JSON value.

    What a policy's source does not decide is left out: a run that finds it at a url cannot tell its parameters.
    """
    found = {f"benchmark.{name}": value for name, value in _weighed(config.benchmark, BENCHMARK_FIELDS)}
    found["realtime"] = None if config.realtime is None else config.realtime.model_dump(mode="json")
    found["disturbance"] = None if config.disturbance is None else config.disturbance.model_dump(mode="json")
    for label, source in config.policies.items():
        found.update({f"policies.{label}.{name}": value for name, value in _policy_conduct(source)})
    return found


def side_conduct(config: RunConfig, label: str, worker: WorkerInterpreter | None) -> dict[str, str]:
    """Return what may make one start's course differ beside the policy, for a comparison of two: name -> text."""
    found = {f"benchmark parameter {name!r}": repr(value) for name, value in config.benchmark.params.items()}
    found |= {f"environment variable {name}": value for name, value in config.benchmark.env.items()}
    if worker is not None:
        found["the workers' interpreter"] = worker.digest[:12]
    source = config.policies.get(label)
    if source is not None and source.images == "jpeg":
        found["images on the wire"] = "jpeg"
    return found


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Yield what both have and that differs, and what only one has where the other's kind would have it too."""
    for name in [*old, *(name for name in new if name not in old)]:
        if name.startswith("policies.") and (name in old) != (name in new):
            continue
        if old.get(name) != new.get(name):
            yield Change(name, old.get(name), new.get(name))


def benchmark_difference(a: RunManifest, spec: Mapping[str, Any]) -> Difference | None:
    """Return in what the benchmark's spec differs; a field that a later version has added stands at its default."""
    old, new = (to_json(from_json(BenchmarkSpec, one)) for one in (a.benchmark_spec, spec))
    changed = tuple(changes(old, new))
    return Difference("the benchmark", changed) if changed else None


def _weighed(source: BenchmarkSource | PolicySource, table: Mapping[str, Weight]) -> Iterator[tuple[str, Any]]:
    dumped = source.model_dump(mode="json")
    yield from ((name, dumped[name]) for name, weight in table.items() if weight == "conduct")


def _policy_conduct(source: PolicySource) -> Iterator[tuple[str, Any]]:
    remote = source.url is not None
    for name, value in _weighed(source, POLICY_FIELDS):
        if name == "images":
            yield name, "jpeg" if value == "jpeg" else "exact"
        elif name == "params":
            yield from () if remote else ((name, value),)
        elif name in ("dialect", "mapping"):
            yield from ((name, value),) if remote else ()
        else:
            yield name, value


def _interpreter(a: WorkerInterpreter | None, b: WorkerInterpreter | None) -> tuple[Difference, ...]:
    """Return in what the workers' interpreters differ; another path to the same is no difference."""
    if (a and a.digest) == (b and b.digest):
        return ()
    if a is None or b is None:
        before, after = ("the harness's own" if one is None else one.path for one in (a, b))
        return (Difference("the benchmark's interpreter", (Change("", before, after),)),)
    found = [*changes({"python": a.python, **a.packages}, {"python": b.python, **b.packages})]
    more = [Change("", "...", f"and {len(found) - 10} packages more")] if len(found) > 10 else []
    return (Difference("the benchmark's interpreter", (*found[:10], *more)),)


def _identity(a: RunManifest, b: RunManifest, label: str) -> Difference | None:
    if a.policy_identities[label] == b.policy_identities.get(label, a.policy_identities[label]):
        return None
    one, other = (manifest.policy_specs[label]["identity"] for manifest in (a, b))
    return Difference(f"policy {label!r}", tuple(changes(one, other)), "serve the old one")


def _conversions(a: RunManifest, b: RunManifest, label: str) -> Difference | None:
    one, other = a.policy_fits.get(label), b.policy_fits.get(label)
    if one is None or other is None or one.conversions == other.conversions:
        return None
    before, after = ("; ".join(each.conversions) or "nothing" for each in (one, other))
    return Difference(f"what is converted for policy {label!r}", (Change("", before, after),), "take the old spec")
