"""The conformance kits on what a name, a file or a url stands for, each subject in the interpreter that it needs."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vlassess.catalog import BenchmarkEntry, Catalog
from vlassess.execution import in_environment, prepare, server_python, worker_launch
from vlassess.schema.config import BenchmarkSource, PolicySource
from vlassess_link.errors import PluginError
from vlassess_link.jsonable import from_json
from vlassess_link.testing.kit import KitReport
from vlassess_link.testing.policy_kit import examine_policy

Note = Callable[[str], None]
MODULE = "vlassess_link.testing"


def run_benchmark_kit(
    benchmark: str,
    catalog: Catalog,
    note: Note,
    params: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
) -> KitReport:
    """Run the benchmark kit in the benchmark's own interpreter; its expert, where it has one, shows the endings.

    Args:
        benchmark: A bundled or installed name, ``file.py:Class`` or ``module:Class``.
        catalog: What names stand for.
        note: Told, a line at a time, what goes on while an interpreter is built.
        params: Constructor's keyword arguments, on top of those of its ``benchmark.toml``.
        options: Further ones of ``python -m vlassess_link.testing benchmark``.

    Raises:
        PluginError: it cannot be found or loaded; says why.
    """
    entry = benchmark_entry(benchmark, catalog, params)
    expert = next(iter(entry.policies.values()), None)
    command, env = interpreter_of(entry, note)
    arguments = ["benchmark", entry.target, "--params-json", json.dumps(dict(entry.params)), *options]
    return report_of([*command, *arguments, *(["--expert", expert] if expert else [])], env)


def run_policy_kit(
    policy: str,
    catalog: Catalog,
    note: Note,
    benchmark: str | None = None,
    options: Sequence[str] = (),
) -> KitReport:
    """Run the policy kit: over the wire for a url, else where the policy can be loaded.

    Args:
        policy: ``ws://host:port``, a bundled name, ``file.py:Class``, ``module:Class``, or the name of one of the
            benchmark's own policies.
        catalog: What names stand for.
        note: Told, a line at a time, what goes on while an interpreter is built.
        benchmark: Whose observations it is shown; None: such as its spec allows.
        options: Further ones of ``python -m vlassess_link.testing policy``.

    Raises:
        PluginError: a side cannot be found or loaded; says why.
        PolicyUnavailable: nobody answers at the url.
    """
    entry = benchmark_entry(benchmark, catalog) if benchmark is not None else None
    shown = None if entry is None else {"target": entry.target, "params": dict(entry.params)}
    if policy.startswith(("ws://", "wss://")) and (entry is None or entry.interpreter is None):
        return examine_policy(policy, benchmark=shown, only=_only(options))
    target = policy
    if entry is not None and policy in entry.policies:
        target = entry.policies[policy]
        command, env = interpreter_of(entry, note)
    else:
        command, env = policy_interpreter(policy, catalog, entry, note)
        target = policy if "://" in policy else catalog.policy_target(policy, Path.cwd())
    told = [] if shown is None else ["--benchmark", json.dumps(shown)]
    return report_of([*command, "policy", target, *told, *options], env)


def benchmark_entry(benchmark: str, catalog: Catalog, params: Mapping[str, Any] | None = None) -> BenchmarkEntry:
    """Return the benchmark that a name or a target stands for.

    Raises:
        PluginError: there is none.
    """
    key = "target" if ":" in benchmark or benchmark.endswith(".py") else "name"
    return catalog.resolve_benchmark(BenchmarkSource.model_validate({key: benchmark, "params": dict(params or {})}))


def interpreter_of(entry: BenchmarkEntry, note: Note) -> tuple[list[str], dict[str, str]]:
    """Return how the kits are started in a benchmark's interpreter, and their environment; builds what is missing."""
    launch = worker_launch(entry.target, entry.params, entry.env)
    if entry.interpreter is not None:
        launch = in_environment(launch, prepare(entry.interpreter, entry.name, note))
    return [launch.command[0], "-m", MODULE], dict(launch.env)


def policy_interpreter(
    policy: str, catalog: Catalog, entry: BenchmarkEntry | None, note: Note
) -> tuple[list[str], dict[str, str]]:
    """Return how the kits are started where a policy can be loaded.

    Raises:
        PluginError: policy and benchmark need two interpreters.
    """
    if "://" in policy:
        assert entry is not None
        return interpreter_of(entry, note)
    source = PolicySource.model_validate({"serve": catalog.policy_target(policy, Path.cwd())})
    python, env = server_python(str(source.serve), note)
    if entry is not None and entry.interpreter is not None:
        raise PluginError(
            f"{entry.name} has an interpreter of its own, where the policy cannot be loaded: serve it (vlassess serve "
            f"{policy}) and give its url"
        )
    return [python, "-m", MODULE], {**(dict(entry.env) if entry is not None else {}), **env}


def report_of(command: Sequence[str], env: Mapping[str, str]) -> KitReport:
    """Run a kit in another process and return its report.

    Raises:
        PluginError: it gave none; quotes its last words.
    """
    done = subprocess.run(list(command), env={**os.environ, **env}, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode not in (0, 1) or not lines:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise PluginError(last.removeprefix("error: "))
    return from_json(KitReport, json.loads(lines[-1]))


def _only(options: Sequence[str]) -> list[str] | None:
    names = [value for option, value in itertools.pairwise(options) if option == "--only"]
    return names or None
