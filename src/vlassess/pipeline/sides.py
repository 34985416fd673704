"""Both sides of a run: found, started, asked what they are, checked against each other."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlassess.catalog import BenchmarkEntry, Catalog
from vlassess.execution import (
    Adapter,
    Environment,
    PolicyServers,
    PolicySide,
    ServerLaunch,
    SpecAnswer,
    WorkerLaunch,
    in_environment,
    label_of,
    prepare,
    probe,
    replicated,
    server_launch,
    worker_launch,
)
from vlassess.pipeline.disturbing import check_disturbance
from vlassess.pipeline.realtime import check_realtime
from vlassess.pipeline.recording import check_camera_size
from vlassess.schema.config import PolicySource, RunConfig
from vlassess.schema.problems import ProblemsError
from vlassess_link.conventions.compare import check
from vlassess_link.conventions.findings import Fit
from vlassess_link.errors import ContractError, PluginError
from vlassess_link.specs import BenchmarkSpec, PolicySpec


@dataclass(frozen=True)
class Sides:
    """Both sides of a run, resolved but not started.

    Attributes:
        entry: The benchmark.
        launch: How its workers start, but for the interpreter: see `in_own_interpreter`.
        policies: Label -> where it runs.
        note: Told what goes on while an interpreter is built.
    """

    entry: BenchmarkEntry
    launch: WorkerLaunch
    policies: Mapping[str, PolicySource]
    note: Callable[[str], None]


@dataclass(frozen=True)
class Stage:
    """Both sides of a run, started and checked against each other.

    Attributes:
        spec: The benchmark's.
        policy_specs: Label -> the policy's.
        fits: Label -> how policy and benchmark fit.
        side: Where the policies answer.
        logs: Folder of what children say.
        launch: How workers start.
        environment: The workers' own interpreter, None for the harness's.
    """

    spec: BenchmarkSpec
    policy_specs: Mapping[str, PolicySpec]
    fits: Mapping[str, Fit]
    side: PolicySide
    logs: Path
    launch: WorkerLaunch
    environment: Environment | None = None


def resolve(config: RunConfig, catalog: Catalog, note: Callable[[str], None] = lambda text: None) -> Sides:
    """Find both sides by name, url or target; starts nothing.

    Args:
        config: What names them.
        catalog: What they are looked up in.
        note: Told, a line at a time, what goes on while an interpreter is built.
    """
    entry = catalog.resolve_benchmark(config.benchmark)
    policies = {label: catalog.resolve_policy(source, entry) for label, source in config.policies.items()}
    launch = worker_launch(entry.target, entry.params, entry.env, config.benchmark.env)
    return Sides(entry, launch, policies, note)


def in_own_interpreter(sides: Sides) -> tuple[WorkerLaunch, Environment | None]:
    """Return how workers start, and the benchmark's own interpreter; None for the harness's. Builds what is missing.

    Raises:
        PluginError: the interpreter cannot be used or built; says why.
    """
    if sides.entry.interpreter is None:
        return sides.launch, None
    environment = prepare(sides.entry.interpreter, sides.entry.name, sides.note)
    return in_environment(sides.launch, environment), environment


def benchmark_spec(sides: Sides, config: RunConfig) -> BenchmarkSpec:
    """Return the stored spec, or what the benchmark has declared before, or ask a worker."""
    if sides.entry.spec is not None:
        return sides.entry.spec
    answer = SpecAnswer(adapter_of(sides, config))
    known = answer.recall()
    if known is not None:
        return known
    launch, _ = in_own_interpreter(sides)
    with temporary_logs(config) as logs:
        found = probe(launch, {}, config.execution.deadlines.model_dump(), logs / "probe.log").benchmark
    answer.keep(found)
    return found


def adapter_of(sides: Sides, config: RunConfig) -> Adapter:
    """Return all that decides what the benchmark declares."""
    entry = sides.entry
    return Adapter(entry.target, entry.params, {**entry.env, **config.benchmark.env}, entry.interpreter)


def check_answer(spec: BenchmarkSpec, sides: Sides, config: RunConfig) -> None:
    """Refuse a plan that was made from an answer which no longer holds, and keep the new one.

    Raises:
        PluginError: the benchmark declares something else than it did, though nothing of it seems to have changed.
    """
    if sides.entry.spec is not None:
        return
    answer = SpecAnswer(adapter_of(sides, config))
    known = answer.recall()
    answer.keep(spec)
    if known is not None and known != spec:
        raise PluginError(
            f"{sides.entry.name} declares something else than when it was last asked, so the plan does not fit it; the "
            "new answer is kept: run the command again"
        )


@contextmanager
def staged(
    sides: Sides, config: RunConfig, labels: Sequence[str], logs: Path | None = None, refuse: bool = True
) -> Iterator[Stage]:
    """Start the policies ``labels``, ask both sides for their specs and check them; stops the servers at the end.

    Args:
        sides: Both sides, resolved.
        config: How they are run.
        labels: Which policies.
        logs: Folder of what children say; None: a temporary one.
        refuse: Refuse sides that do not fit, and tell what is converted or cannot be checked.
    """
    policies = {label: sides.policies[label] for label in labels}
    launches = server_launches(policies, sides.note)
    launch, environment = in_own_interpreter(sides)
    with ExitStack() as stack:
        folder = logs if logs is not None else stack.enter_context(temporary_logs(config))
        folder.mkdir(exist_ok=True)
        servers = PolicyServers(launches, folder, config.execution.deadlines.load)
        stack.callback(servers.stop)
        servers.start()
        sources = {label: worker_sources(source) for label, source in policies.items() if not source.serve}
        extras = {label: ensemble_of(source) for label, source in policies.items() if source.serve}
        asked = {name: {"url": servers.url(name), **extras[label_of(name)]} for name in launches}
        asked |= {name: place for label, places in sources.items() for name, place in numbered(label, places)}
        found = probe(launch, asked, config.execution.deadlines.model_dump(), folder / "probe.log", sides.note)
        specs = one_each(found.policies)
        check_answer(found.benchmark, sides, config)
        check_sides(found.benchmark, specs, {label_of(name): place for name, place in asked.items()}, sides.entry)
        fits = {label: check(spec, found.benchmark) for label, spec in specs.items()}
        if refuse:
            refuse_misfits(found.benchmark, fits)
            for sentence in told(fits):
                sides.note(sentence)
        horizons = {label: source.horizon for label, source in policies.items()}
        check_horizons(specs, horizons)
        check_realtime(found.benchmark, config)
        check_disturbance(found.benchmark, config)
        check_camera_size(found.benchmark, config)
        side = PolicySide(sources, horizons, servers, extras)
        yield Stage(found.benchmark, specs, fits, side, folder, launch, environment)


def server_launches(policies: Mapping[str, PolicySource], note: Callable[[str], None]) -> dict[str, ServerLaunch]:
    """Return how the servers of the run start, by label or replica; builds what a script's environment lacks."""
    launches = {}
    for label, source in policies.items():
        if source.serve:
            launch = server_launch(source.serve, source.params, source.max_batch, note)
            launches.update(replicated(launch, label, source.replicas))
    return launches


def worker_sources(source: PolicySource) -> list[dict[str, Any]]:
    """Return where a policy that is not the run's own to serve answers, as the worker's protocol has it."""
    extras = ensemble_of(source)
    if source.local:
        return [{"local": source.local, "params": source.params, **extras}]
    fields = ("token_file", "ca_file", "dialect", "mapping", "images")
    given = {key: getattr(source, key) for key in fields if getattr(source, key) is not None}
    return [{"url": url, **given, **extras} for url in source.urls]


def ensemble_of(source: PolicySource) -> dict[str, Any]:
    """Return the part of a policy source that asks for an ensemble; empty where none is asked for."""
    return {} if source.ensemble is None else {"ensemble": source.ensemble}


def numbered(label: str, places: Sequence[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return the places of a policy with their names: its label alone for one, else as its replicas are numbered."""
    if len(places) == 1:
        return [(label, places[0])]
    return [(f"{label}#{number}", place) for number, place in enumerate(places, 1)]


def one_each(specs: Mapping[str, PolicySpec]) -> dict[str, PolicySpec]:
    """Return one spec a policy.

    Raises:
        ContractError: two replicas of one policy are not the same policy; names them.
    """
    found: dict[str, PolicySpec] = {}
    for name, spec in specs.items():
        first = found.setdefault(label_of(name), spec)
        if first.identity.digest != spec.identity.digest:
            raise ContractError(
                f"the replicas of policy {label_of(name)!r} are not the same policy: {first.identity} and, at {name}, "
                f"{spec.identity}; serve the same one, with the same parameters, at each address"
            )
    return found


def check_sides(
    spec: BenchmarkSpec,
    policies: Mapping[str, PolicySpec],
    sources: Mapping[str, Mapping[str, Any]],
    entry: BenchmarkEntry,
) -> None:
    """Refuse sides that are not what they were taken for.

    Raises:
        PluginError: a privileged policy behind a wire; a stored spec that is not the adapter's.
    """
    if entry.spec is not None and entry.spec != spec:
        raise PluginError(f"the stored spec.json of {entry.name} is not what its adapter declares; write it again")
    for label, policy in policies.items():
        if policy.privileged and "url" in sources[label]:
            raise PluginError(f"policy {label!r} is privileged: it reads the simulator, so it must be `local`")


def refuse_misfits(spec: BenchmarkSpec, fits: Mapping[str, Fit]) -> None:
    """Refuse policies whose conventions the benchmark's cannot be brought to, before the first episode.

    Raises:
        ProblemsError: with every reason of every policy.
    """
    reasons = [f"policy {label!r}: {reason}" for label, fit in fits.items() for reason in fit.reasons]
    if reasons:
        raise ProblemsError(f"what policies and {spec.name} declare does not fit", reasons)


def told(fits: Mapping[str, Fit]) -> Iterator[str]:
    """Yield what people should know of the policies' fits before the first episode, a sentence each."""
    for label, fit in fits.items():
        for conversion in fit.conversions:
            yield f"policy {label!r} is converted: {conversion}"
        for sentence in fit.unchecked:
            yield f"warning: policy {label!r}: {sentence}"


def check_horizons(policies: Mapping[str, PolicySpec], horizons: Mapping[str, int | None]) -> None:
    """Refuse a horizon that cannot be executed, so that the recorded one is true.

    Raises:
        ContractError: a horizon beyond the policy's chunk, or one for a policy that must see every step.
    """
    for label, policy in policies.items():
        horizon = horizons.get(label)
        if horizon is None:
            continue
        if horizon > policy.chunk:
            raise ContractError(
                f"policies.{label}.horizon is {horizon}, but a chunk has {policy.chunk} actions: set at most that"
            )
        if policy.observe == "every_step" and horizon != 1:
            raise ContractError(f"policies.{label}.horizon is {horizon}, but it must see every step; leave it out")


@contextmanager
def temporary_logs(config: RunConfig) -> Iterator[Path]:
    """Make a folder for what children say before there is a run directory; it may be moved away."""
    config.output.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".starting-", dir=config.output))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
