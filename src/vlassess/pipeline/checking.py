"""Both sides of a run, or one side alone, asked what they declare: no episode is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.execution import PolicyServers, probe
from vlassess.pipeline.sides import in_own_interpreter, resolve, server_launches, staged, worker_sources
from vlassess.schema.config import BenchmarkSource, Deadlines, PolicySource, RunConfig
from vlassess_link.conventions.findings import Fit
from vlassess_link.errors import PluginError
from vlassess_link.policies.base import Policy
from vlassess_link.policies.dialects import remote_policy
from vlassess_link.specs import BenchmarkSpec, PolicySpec

Note = Callable[[str], None]


@dataclass(frozen=True)
class Pairs:
    """A config's policies beside its benchmark.

    Attributes:
        benchmark: The benchmark's spec.
        policies: Label -> the policy's spec.
        fits: Label -> how the two fit.
    """

    benchmark: BenchmarkSpec
    policies: Mapping[str, PolicySpec]
    fits: Mapping[str, Fit]


def check_pairs(config: RunConfig, catalog: Catalog, note: Note) -> Pairs:
    """Start both sides of a config, compare what they declare, and stop them.

    Raises:
        VlassessError: a side cannot be found, started or reached; says which and why.
    """
    sides = resolve(config, catalog, note)
    with staged(sides, config, tuple(config.policies), refuse=False) as stage:
        return Pairs(stage.spec, stage.policy_specs, stage.fits)


def ask_benchmark(source: BenchmarkSource, catalog: Catalog, logs: Path, note: Note) -> BenchmarkSpec:
    """Load a benchmark in its own interpreter and return what it declares.

    Raises:
        PluginError: it cannot be loaded, or its stored spec is another; says why.
    """
    config = RunConfig(benchmark=source, policies={"none": PolicySource(name="none")})
    sides = resolve(config.model_copy(update={"policies": {}}), catalog, note)
    launch, _ = in_own_interpreter(sides)
    found = probe(launch, {}, config.execution.deadlines.model_dump(), logs / "probe.log").benchmark
    if sides.entry.spec is not None and sides.entry.spec != found:
        raise PluginError(f"the stored spec.json of {sides.entry.name} is not what its adapter declares")
    return found


@contextmanager
def reached(source: PolicySource, logs: Path, note: Note, seconds: float) -> Iterator[Policy]:
    """Start a policy's server, or reach the one that runs, and yield the policy behind it.

    Args:
        source: With `serve` or `url`.
        logs: Folder for what the server says.
        note: Told what goes on while the policy's environment is built.
        seconds: Most that loading, or connecting, may take.

    Raises:
        VlassessError: it cannot be started or reached; says why.
    """
    deadlines = Deadlines()
    with ExitStack() as stack:
        place = worker_sources(source)[0] if source.url is not None else {}
        if source.serve is not None:
            servers = PolicyServers(server_launches({"policy": source}, note), logs, min(seconds, deadlines.load))
            stack.callback(servers.stop)
            servers.start()
            place = {"url": servers.url("policy")}
        yield stack.enter_context(closing(remote_policy(place, min(seconds, deadlines.connect), deadlines.inference)))
