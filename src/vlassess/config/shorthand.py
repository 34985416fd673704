"""The short forms of a config, made long, and its relative paths, made absolute.

Both happen to each file before files are merged: only there is it known what a relative path is relative
to, and only long forms can be merged.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from vlassess.config.cells import expand_cells
from vlassess.config.yaml12 import Unreadable, join
from vlassess.schema.grounding import HUB
from vlassess.schema.problems import shown

URL = re.compile(r"[a-z][a-z0-9+.-]*://")
BENCHMARK_KEYS = ("name", "target")
POLICY_KEYS = ("name", "url", "serve", "local")
TARGET_KEYS = ("target", "serve", "local", "ensemble")
FILE_KEYS = ("token_file", "ca_file")


def expand_layer(values: dict[str, Any], base: Path, problems: list[str]) -> dict[str, Any]:
    """Return one file's values with every short form made long and every path absolute.

    Args:
        values: What the file says.
        base: Folder that its relative paths are relative to.
        problems: Collects the mistakes.
    """
    layer = dict(values)
    if "policy" in layer:
        if "policies" in layer:
            problems.append("policy and policies are both given; keep one of them")
        source = expand_policy(layer.pop("policy"))
        layer.setdefault("policies", Replaced({policy_label(source): source}) if isinstance(source, dict) else source)
    if isinstance(layer.get("policies"), list):
        layer["policies"] = _label_all(layer["policies"], problems)
    if isinstance(layer.get("policies"), dict):
        kind = type(layer["policies"])
        layer["policies"] = kind({label: expand_policy(source) for label, source in layer["policies"].items()})
    if isinstance(layer.get("benchmark"), str):
        layer["benchmark"] = expand_benchmark(layer["benchmark"])
    if isinstance(layer.get("few_shot"), dict):
        layer["few_shot"] = _expand_checkpoints(layer["few_shot"])
    if "cells" in layer:
        layer["cells"] = expand_cells(layer["cells"], problems)
    _resolve_paths(layer, base, problems)
    return layer


def _expand_checkpoints(section: dict[str, Any]) -> dict[str, Any]:
    """Return a study's section with the short form of each adapted checkpoint made long."""
    found = dict(section)
    if "checkpoint" in found:
        found["checkpoint"] = expand_policy(found["checkpoint"])
    if isinstance(found.get("checkpoints"), list):
        found["checkpoints"] = [
            {**entry, "policy": expand_policy(entry["policy"])}
            if isinstance(entry, dict) and "policy" in entry
            else entry
            for entry in found["checkpoints"]
        ]
    return found


def _checkpoints(section: Any) -> dict[str, Any]:
    """Return the adapted checkpoints of a study: place -> source; none that is still to be filled in is a path."""
    if not isinstance(section, dict):
        return {}
    found = {"few_shot.checkpoint": section.get("checkpoint")}
    listed = section.get("checkpoints")
    for number, entry in enumerate(listed if isinstance(listed, list) else ()):
        found[f"few_shot.checkpoints.{number}.policy"] = entry.get("policy") if isinstance(entry, dict) else None
    return {
        place: source
        for place, source in found.items()
        if isinstance(source, dict) and "{" not in f"{source.get('serve')}{source.get('local')}"
    }


def source_keys(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of which the section at ``path`` has exactly one; none for most sections."""
    if path == ("benchmark",):
        return BENCHMARK_KEYS
    return POLICY_KEYS if len(path) == 2 and path[0] == "policies" else ()


class Replaced(dict[str, Any]):
    """A section that replaces an inherited one instead of being merged into it."""


def expand_benchmark(text: str) -> dict[str, Any]:
    """Return the long form of a benchmark that is given as one text."""
    return {"target" if ":" in text or text.endswith(".py") else "name": text}


def expand_policy(source: Any) -> Any:
    """Return the long form of a policy that is given as one text; anything else as it is.

    ``ws://host:port`` is an address, ``file.py:Class`` and ``module:Class`` are served, any other text is the
    name of a bundled policy.
    """
    if not isinstance(source, str):
        return source
    if URL.match(source):
        return {"url": source}
    return {"serve" if ":" in source or source.endswith(".py") else "name": source}


def policy_label(source: dict[str, Any]) -> str:
    """Return the label of a policy that was given without one: its name, class, or host and port."""
    for key in POLICY_KEYS:
        text = source.get(key)
        if key == "url" and isinstance(text, list) and text:
            text = text[0]
        if isinstance(text, str):
            tail = URL.sub("", text) if key == "url" else text.rpartition(":")[2].rpartition("/")[2]
            return re.sub(r"[^\w.+-]+", "-", tail.removesuffix(".py")).strip("-") or "policy"
    return "policy"


def _label_all(sources: list[Any], problems: list[str]) -> Replaced:
    labelled = Replaced()
    for source in map(expand_policy, sources):
        label = policy_label(source) if isinstance(source, dict) else str(source)
        if label in labelled:
            problems.append(f"policies has two entries labelled {label!r}; write `LABEL: policy` with two labels")
        labelled[label] = source
    return labelled


def _resolve_paths(layer: dict[str, Any], base: Path, problems: list[str]) -> None:
    if isinstance(layer.get("output"), str):
        layer["output"] = str(absolute(layer["output"], base))
    policies = layer.get("policies")
    sources = (
        {join("policies", label): source for label, source in policies.items()} if isinstance(policies, dict) else {}
    )
    sources["benchmark"] = layer.get("benchmark")
    sources |= _checkpoints(layer.get("few_shot"))
    for path, source in sources.items():
        for key in TARGET_KEYS:
            if isinstance(source, dict) and isinstance(source.get(key), str):
                source[key] = resolve_target(source[key], base, join(path, key), problems)
        for key in FILE_KEYS:
            if isinstance(source, dict) and isinstance(source.get(key), str):
                source[key] = str(absolute(source[key], base))
    _read_latencies(layer, base, problems)
    _resolve_questions(layer.get("grounding"), base)
    comparison = layer.get("comparison")
    if isinstance(comparison, dict) and isinstance(comparison.get("against"), str):
        comparison["against"] = str(absolute(comparison["against"], base))
    benchmark = layer.get("benchmark")
    if isinstance(benchmark, dict) and isinstance(benchmark.get("interpreter"), str):
        benchmark["interpreter"] = resolve_interpreter(benchmark["interpreter"], base)


def _resolve_questions(grounding: Any, base: Path) -> None:
    """Make the paths of files of questions absolute; what is on the hub stays as it is."""

    def found(source: Any) -> Any:
        return str(absolute(source, base)) if isinstance(source, str) and not source.startswith(HUB) else source

    for domain in ("hardmath", "general") if isinstance(grounding, dict) else ():
        given = grounding.get(domain)
        if isinstance(given, dict):
            grounding[domain] = {half: found(path) for half, path in given.items()}
        elif given is not None:
            grounding[domain] = found(given)


def _read_latencies(layer: dict[str, Any], base: Path, problems: list[str]) -> None:
    """Put measured latencies in the place of the file that holds them, so that the run's own files have them."""
    realtime = layer.get("realtime")
    latency = realtime.get("latency") if isinstance(realtime, dict) else None
    if not isinstance(latency, dict) or not isinstance(latency.get("file"), str):
        return
    path = absolute(latency.pop("file"), base)
    try:
        latency["empirical"] = [float(line) for line in path.read_text(encoding="utf-8").split()]
    except (OSError, UnicodeDecodeError, ValueError) as error:
        problems.append(f"realtime.latency.file cannot be read: {error}; it must have a number of seconds on each line")
        latency["empirical"] = Unreadable()


def resolve_target(target: str, base: Path, path: str, problems: list[str]) -> Any:
    """Return a target with the path of its file absolute; ``module:Class`` stays as it is."""
    file, colon, name = target.rpartition(":") if not target.endswith(".py") else (target, "", "")
    if not file.endswith(".py"):
        return target
    found = absolute(file, base)
    if not found.is_file():
        problems.append(f"{path} is {shown(target)}, but there is no file {found}; mend the path")
        return Unreadable()
    return f"{found}{colon}{name}"


def resolve_interpreter(text: str, base: Path) -> str:
    """Return an interpreter's path, or its requirements', absolute; the bare name of a program stays as it is."""
    if "/" not in text and not text.endswith(".txt"):
        return text
    # Links are not followed: a virtual environment's python is one, and its target is outside the environment.
    return os.path.normpath(Path(base, os.path.expanduser(text)))


def absolute(path: str, base: Path) -> Path:
    """Return ``path`` without a home sign, relative parts or links to folders above left to chance."""
    return Path(base, os.path.expanduser(path)).resolve()  # of an unknown user it stays as it is
