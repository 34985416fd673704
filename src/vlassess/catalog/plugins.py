"""Other people's benchmarks and policies, announced by the entry points of installed distributions.

```toml
[project.entry-points."vlassess.benchmarks"]
kitchen-v1 = "my_package.kitchen:Kitchen"
```

An entry point gives a target; nothing is imported here, since a simulator may take seconds to import or
live in another interpreter. What can be checked without importing is checked, and a mistake is an error
that names the plugin: a plugin that silently does not show up costs its user an afternoon.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path

from vlassess.catalog.entries import BenchmarkEntry, PolicyEntry
from vlassess.catalog.folder import MANIFEST, read_folder
from vlassess_link.errors import PluginError

BENCHMARKS = "vlassess.benchmarks"
POLICIES = "vlassess.policies"


def plugin_benchmarks(points: Iterable[EntryPoint]) -> list[BenchmarkEntry]:
    """Return the benchmarks of the group ``vlassess.benchmarks``.

    Raises:
        PluginError: an entry point gives no class, or its package is not installed; names the plugin.
    """
    entries = []
    for point in points:
        if point.group == BENCHMARKS:
            entry = module_benchmark(_target(point), _distribution(point))
            if entry.spec is not None and entry.spec.name != point.name:
                raise PluginError(f"{_plugin(point)} calls {entry.spec.name!r} {point.name!r}; use one name for both")
            entries.append(_named(entry, point.name))
    return entries


def plugin_policies(points: Iterable[EntryPoint]) -> list[PolicyEntry]:
    """Return the policies of the group ``vlassess.policies``.

    Raises:
        PluginError: an entry point gives no class, or its package is not installed; names the plugin.
    """
    chosen = (point for point in points if point.group == POLICIES)
    return [PolicyEntry(point.name, _target(point), _distribution(point)) for point in chosen]


def module_benchmark(target: str, source: str = "") -> BenchmarkEntry:
    """Return the benchmark of ``module:Class``, with its ``benchmark.toml`` where its folder is known and has one."""
    folder = _module_folder(target.partition(":")[0])
    if folder is not None and (folder / MANIFEST).is_file():
        return read_folder(folder, source, target)
    return BenchmarkEntry(target, target, folder, source=source)


def _named(entry: BenchmarkEntry, name: str) -> BenchmarkEntry:
    return BenchmarkEntry(**{**vars(entry), "name": name})


def _module_folder(module: str) -> Path | None:
    """Return the folder of a module's file without importing it or its package; None where that is not enough."""
    parts = module.split(".")
    try:
        top = importlib.util.find_spec(parts[0])
    except ValueError:
        return None
    roots = [Path(root) for root in (top.submodule_search_locations or ())] if top else []
    if top is not None and len(parts) == 1 and top.origin:
        return Path(top.origin).parent
    for root in roots:
        path = root.joinpath(*parts[1:])
        if path.with_suffix(".py").is_file():
            return path.parent
        if (path / "__init__.py").is_file():
            return path
    return None


def _target(point: EntryPoint) -> str:
    value = point.value.partition("[")[0].strip()
    module, _, name = value.partition(":")
    if not module or not name:
        raise PluginError(f"{_plugin(point)} gives {point.value!r}; it must give MODULE:CLASS")
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        raise PluginError(f"{_plugin(point)} gives {value!r}, but that package is not installed; install or remove it")
    return value


def _plugin(point: EntryPoint) -> str:
    return f"the plugin {point.name!r} of {_distribution(point)} (entry point group {point.group})"


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unknown distribution"
