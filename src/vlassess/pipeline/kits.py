"""The conformance kits on what a name, a file or a url stands for, each subject in the interpreter that it needs."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vlassess.catalog import BenchmarkEntry, Catalog
from vlassess.execution import in_environment, prepare, server_python, supervised_kit, worker_launch
from vlassess.schema.config import BenchmarkSource, PolicySource
from vlassess_link.errors import PluginError
from vlassess_link.testing.kit import KitReport

Note = Callable[[str], None]
MODULE = "vlassess_link.testing"
SECONDS = 600.0
"""Most that loading a subject, and then each check, may take where nobody says otherwise."""


def run_benchmark_kit(
    benchmark: str,
    catalog: Catalog,
    note: Note,
    params: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
    seconds: float = SECONDS,
) -> KitReport:
    """Run the benchmark kit in the benchmark's own interpreter; its expert, where it has one, shows the endings.

    Args:
        benchmark: A bundled or installed name, ``file.py:Class`` or ``module:Class``.
        catalog: What names stand for.
        note: Told, a line at a time, what goes on while an interpreter is built.
        params: Constructor's keyword arguments, on top of those of its ``benchmark.toml``.
        options: Further ones of ``python -m vlassess_link.testing benchmark``.
        seconds: Most that loading, and then each check, may take.

    Raises:
        PluginError: it cannot be found or loaded; says why.
    """
    entry = benchmark_entry(benchmark, catalog, params)
    expert = next(iter(entry.policies.values()), None)
    command, env = interpreter_of(entry, note)
    arguments = ["benchmark", entry.target, "--params-json", json.dumps(dict(entry.params)), *options]
    return report_of([*command, *arguments, *(["--expert", expert] if expert else [])], env, seconds)


def run_policy_kit(
    policy: str,
    catalog: Catalog,
    note: Note,
    benchmark: str | None = None,
    options: Sequence[str] = (),
    seconds: float = SECONDS,
) -> KitReport:
    """Run the policy kit: over the wire for a url, else where the policy can be loaded.

    Args:
        policy: ``ws://host:port``, a bundled name, ``file.py:Class``, ``module:Class``, or the name of one of the
            benchmark's own policies.
        catalog: What names stand for.
        note: Told, a line at a time, what goes on while an interpreter is built.
        benchmark: Whose observations it is shown; None: such as its spec allows.
        options: Further ones of ``python -m vlassess_link.testing policy``.
        seconds: Most that loading, and then each check, may take.

    Raises:
        PluginError: a side cannot be found or loaded; says why.
        PolicyUnavailable: nobody answers at the url.
    """
    entry = benchmark_entry(benchmark, catalog) if benchmark is not None else None
    shown = None if entry is None else {"target": entry.target, "params": dict(entry.params)}
    if entry is not None and policy in entry.policies:
        target = entry.policies[policy]
        command, env = interpreter_of(entry, note)
    else:
        target = policy if "://" in policy else catalog.policy_target(policy, Path.cwd())
        command, env = policy_interpreter(target, policy, entry, note)
    told = [] if shown is None else ["--benchmark", json.dumps(shown)]
    # So that a policy that is silent is told from a kit that hangs.
    waits = ["--seconds", str(0.8 * seconds)] if "://" in target else []
    return report_of([*command, "policy", target, *told, *waits, *options], env, seconds)


def benchmark_entry(benchmark: str, catalog: Catalog, params: Mapping[str, Any] | None = None) -> BenchmarkEntry:
    """Return the benchmark that a name or a target stands for.

    Raises:
        PluginError: there is none.
    """
    if "://" in benchmark:
        raise PluginError(
            f"{benchmark} is an address, and a benchmark has none: its workers load it; give a name, FILE.py:CLASS or "
            "MODULE:CLASS"
        )
    key = "target" if ":" in benchmark or benchmark.endswith(".py") else "name"
    return catalog.resolve_benchmark(BenchmarkSource.model_validate({key: benchmark, "params": dict(params or {})}))


def interpreter_of(entry: BenchmarkEntry, note: Note) -> tuple[list[str], dict[str, str]]:
    """Return how the kits are started in a benchmark's interpreter, and their environment; builds what is missing."""
    launch = worker_launch(entry.target, entry.params, entry.env)
    if entry.interpreter is not None:
        launch = in_environment(launch, prepare(entry.interpreter, entry.name, note))
    return [launch.command[0], "-m", MODULE], dict(launch.env)


def policy_interpreter(
    target: str, named: str, entry: BenchmarkEntry | None, note: Note
) -> tuple[list[str], dict[str, str]]:
    """Return how the kits are started where a policy can be loaded, or asked; and their environment.

    Raises:
        PluginError: policy and benchmark need two interpreters.
    """
    if "://" in target:
        here = [sys.executable, "-m", MODULE], dict(os.environ)
        return here if entry is None else interpreter_of(entry, note)
    if entry is not None and entry.interpreter is not None:
        raise PluginError(
            f"{entry.name} has an interpreter of its own, where the policy cannot be loaded: serve it (vlassess serve "
            f"{named}) and give its url"
        )
    source = PolicySource.model_validate({"serve": target})
    python, env = server_python(str(source.serve), note)
    return [python, "-m", MODULE], {**(dict(entry.env) if entry is not None else {}), **env}


def report_of(command: Sequence[str], env: Mapping[str, str], seconds: float) -> KitReport:
    """Run a kit in another process and return its report; what dies or hangs in a check fails that check.

    Args:
        command: Starts it.
        env: Its whole environment.
        seconds: Most that loading, and then each check, may take.

    Raises:
        PluginError: the subject cannot be loaded; says why.
    """
    with tempfile.TemporaryDirectory(prefix="vlassess-kit-") as folder:
        return supervised_kit(command, env, Path(folder) / "kit.log", seconds)
