"""The catalog: names to benchmarks and policies."""

from __future__ import annotations

import ast
import dataclasses
import importlib.metadata
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TypeVar

from vlassess.catalog.entries import BUNDLED, BenchmarkEntry, PolicyEntry
from vlassess.catalog.folder import MANIFEST, file_and_class, read_folder, target_in
from vlassess.catalog.interpreters import chosen_interpreter
from vlassess.catalog.plugins import BENCHMARKS, POLICIES, module_benchmark, plugin_benchmarks, plugin_policies
from vlassess.schema.config import BenchmarkSource, PolicySource
from vlassess.schema.problems import nearest
from vlassess_link.errors import PluginError

ROOT = Path(__file__).resolve().parent.parent
MODEL_BASE = "PredictModelServer"

Entry = TypeVar("Entry", BenchmarkEntry, PolicyEntry)


@dataclasses.dataclass(frozen=True)
class Catalog:
    """What can be named in a config: an object that is made, never a module's state.

    Attributes:
        benchmarks: Name -> benchmark, bundled and installed.
        policies: Name -> policy, bundled and installed; privileged ones belong to their benchmark.
    """

    benchmarks: Mapping[str, BenchmarkEntry]
    policies: Mapping[str, PolicyEntry]

    @classmethod
    def discover(cls, root: Path = ROOT, points: Iterable[EntryPoint] | None = None) -> Catalog:
        """Return everything that is bundled or installed. Imports no benchmark and no policy.

        Args:
            root: Folder with ``benchmarks/`` and ``policies/``.
            points: Entry points to consider; None: those of all installed distributions.

        Raises:
            PluginError: something announced cannot be read, or two things have one name; names it.
        """
        if points is None:
            points = [*_installed(BENCHMARKS), *_installed(POLICIES)]
        announced = tuple(points)
        folders = sorted(manifest.parent for manifest in root.glob(f"benchmarks/*/{MANIFEST}"))
        scripts = sorted(path for path in root.glob("policies/*.py") if not path.name.startswith("_"))
        return cls(
            _by_name([*(read_folder(folder, BUNDLED) for folder in folders), *plugin_benchmarks(announced)]),
            _by_name([*map(script_policy, scripts), *plugin_policies(announced)]),
        )

    def resolve_benchmark(self, source: BenchmarkSource) -> BenchmarkEntry:
        """Return the benchmark that a config names, with the config's parameters, variables and interpreter.

        Its spec is None where parameters may change it.

        Raises:
            PluginError: no benchmark has this name, or the target's file is not there.
        """
        entry = _by_target(source.target) if source.target is not None else self._benchmark(source.name or "")
        return dataclasses.replace(
            entry,
            spec=None if source.params else entry.spec,
            params={**entry.params, **source.params},
            interpreter=chosen_interpreter(source.interpreter, entry.interpreter),
        )

    def _benchmark(self, name: str) -> BenchmarkEntry:
        if name not in self.benchmarks:
            raise PluginError(f"no benchmark is called {name!r}; {nearest(name, self.benchmarks)}")
        return self.benchmarks[name]

    def resolve_policy(self, source: PolicySource, benchmark: BenchmarkEntry) -> PolicySource:
        """Return where a policy runs: a name becomes a local target of the benchmark or something to serve.

        Raises:
            PluginError: no policy has this name.
        """
        if source.name is None:
            return source
        if source.name in benchmark.policies:
            where = {"local": benchmark.policies[source.name]}
        elif source.name in self.policies:
            where = {"serve": self.policies[source.name].target}
        else:
            known = [*benchmark.policies, *self.policies]
            raise PluginError(
                f"no policy is called {source.name!r} with {benchmark.name}; {nearest(source.name, known)}"
            )
        if "local" in where and (source.replicas > 1 or source.max_batch is not None):
            raise PluginError(f"the policy {source.name!r} runs in the workers: leave replicas and max_batch out")
        return source.model_copy(update={"name": None, **where})

    def policy_target(self, policy: str, base: Path) -> str:
        """Return the target to serve for a policy's name, or for a target, whose file is relative to ``base``.

        Raises:
            PluginError: no policy has this name, it cannot be served, or its file is not there.
        """
        if policy in self.policies:
            return self.policies[policy].target
        if ":" in policy or policy.endswith(".py"):
            return target_in(base, policy, "the policy")
        owners = [entry.name for entry in self.benchmarks.values() if policy in entry.policies]
        if owners:
            raise PluginError(
                f"the policy {policy!r} of {owners[0]} reads the simulator and cannot be served; name it in a config"
            )
        raise PluginError(f"no policy is called {policy!r}; {nearest(policy, self.policies)}")


def script_policy(path: Path) -> PolicyEntry:
    """Return the policy of a script; its name is the file's, with dashes and without a last underscore.

    The script is read, not imported: its dependencies are those of its model.

    Raises:
        PluginError: the script cannot be parsed, or does not define exactly one `PredictModelServer`.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise PluginError(f"the policy {path} cannot be parsed: {error}") from None
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    models = [node.name for node in classes if any(ast.unparse(base).endswith(MODEL_BASE) for base in node.bases)]
    if len(models) != 1:
        found = ", ".join(models) or "none"
        raise PluginError(f"the policy {path} must define exactly one class derived from {MODEL_BASE}; it has {found}")
    return PolicyEntry(path.stem.rstrip("_").replace("_", "-"), f"{path}:{models[0]}")


def _by_target(target: str) -> BenchmarkEntry:
    whole = target_in(Path.cwd(), target, "benchmark.target")
    file = file_and_class(whole)[0]
    if not file.endswith(".py"):
        return module_benchmark(target)
    folder = Path(file).parent
    if (folder / MANIFEST).is_file():
        return read_folder(folder, "", whole)
    return BenchmarkEntry(target, whole, folder)


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    named: dict[str, Entry] = {}
    for entry in entries:
        other = named.setdefault(entry.name, entry)
        if other is not entry:
            raise PluginError(
                f"two plugins are called {entry.name!r}: {other.target} ({other.source}) and "
                f"{entry.target} ({entry.source}); remove one"
            )
    return named


def _installed(group: str) -> list[EntryPoint]:
    return list(importlib.metadata.entry_points(group=group))
