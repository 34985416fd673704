"""Both sides of a run: found, started, asked what they are, checked against each other."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlassess.catalog import BenchmarkEntry, Catalog
from vlassess.execution import PolicyServers, PolicySide, WorkerLaunch, probe, server_launch, worker_launch
from vlassess.schema.config import PolicySource, RunConfig
from vlassess_link.benchmarks.base import view_for
from vlassess_link.errors import ContractError, PluginError
from vlassess_link.specs import BenchmarkSpec, PolicySpec


@dataclass(frozen=True)
class Sides:
    """Both sides of a run, resolved but not started."""

    entry: BenchmarkEntry
    launch: WorkerLaunch
    policies: Mapping[str, PolicySource]


@dataclass(frozen=True)
class Stage:
    """Both sides of a run, started and checked against each other."""

    spec: BenchmarkSpec
    policy_specs: Mapping[str, PolicySpec]
    side: PolicySide
    logs: Path


def resolve(config: RunConfig, catalog: Catalog) -> Sides:
    """Find both sides by name, url or target; starts nothing."""
    entry = catalog.resolve_benchmark(config.benchmark)
    policies = {label: catalog.resolve_policy(source, entry) for label, source in config.policies.items()}
    return Sides(entry, worker_launch(entry.target, config.benchmark.params, entry.env), policies)


def benchmark_spec(sides: Sides, config: RunConfig) -> BenchmarkSpec:
    """Return the stored spec, or ask a worker."""
    if sides.entry.spec is not None:
        return sides.entry.spec
    with temporary_logs(config) as logs:
        return probe(sides.launch, {}, config.execution.deadlines.model_dump(), logs / "probe.log").benchmark


@contextmanager
def staged(sides: Sides, config: RunConfig, labels: Sequence[str], logs: Path | None = None) -> Iterator[Stage]:
    """Start the policies ``labels``, ask both sides for their specs and check them; stops the servers at the end."""
    policies = {label: sides.policies[label] for label in labels}
    launches = {label: server_launch(source.serve, source.params) for label, source in policies.items() if source.serve}
    with ExitStack() as stack:
        folder = logs if logs is not None else stack.enter_context(temporary_logs(config))
        folder.mkdir(exist_ok=True)
        servers = PolicyServers(launches, folder, config.execution.deadlines.load)
        stack.callback(servers.stop)
        servers.start()
        sources = {label: worker_source(source) for label, source in policies.items() if not source.serve}
        asked = {**sources, **{label: {"url": servers.url(label)} for label in launches}}
        found = probe(sides.launch, asked, config.execution.deadlines.model_dump(), folder / "probe.log")
        check_fit(found.benchmark, found.policies, asked, sides.entry)
        horizons = {label: source.horizon for label, source in policies.items()}
        yield Stage(found.benchmark, found.policies, PolicySide(sources, horizons, servers), folder)


def worker_source(source: PolicySource) -> dict[str, Any]:
    """Return a policy source as the worker's protocol has it."""
    return {"url": source.url} if source.url else {"local": source.local, "params": source.params}


def check_fit(
    spec: BenchmarkSpec,
    policies: Mapping[str, PolicySpec],
    sources: Mapping[str, Mapping[str, Any]],
    entry: BenchmarkEntry,
) -> None:
    """Refuse two sides that cannot work together, before the first episode.

    Raises:
        ContractError: a policy looks at what the benchmark does not have, or its actions have another size.
        PluginError: a privileged policy behind a wire; a stored spec that is not the adapter's.
    """
    if entry.spec is not None and entry.spec != spec:
        raise PluginError(f"the stored spec.json of {entry.name} is not what its adapter declares; write it again")
    for label, policy in policies.items():
        view_for(spec, policy)
        if policy.privileged and "url" in sources[label]:
            raise PluginError(f"policy {label!r} is privileged: it reads the simulator, so it must be `local`")
        if policy.action is not None and policy.action.size != spec.action.size:
            raise ContractError(
                f"policy {label!r} gives {policy.action.size} numbers an action, {spec.name} takes {spec.action.size}"
            )


@contextmanager
def temporary_logs(config: RunConfig) -> Iterator[Path]:
    """Make a folder for what children say before there is a run directory; it may be moved away."""
    config.output.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".starting-", dir=config.output))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
