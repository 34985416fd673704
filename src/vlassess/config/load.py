"""From a config's path or name to a `RunConfig`, or to every mistake in it at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vlassess.config.layers import find_config, read_layers
from vlassess.config.overrides import apply_overrides
from vlassess.config.sentences import sentences
from vlassess.config.shorthand import absolute, expand_layer
from vlassess.config.yaml12 import Reading
from vlassess.schema.config import RunConfig
from vlassess.schema.problems import ProblemsError


class ConfigError(ProblemsError):
    """A config has mistakes: `problems` holds one sentence for each."""


def load_config(source: str, overrides: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> RunConfig:
    """Return the run that a config describes; every path in it is absolute.

    Args:
        source: Path of a YAML file, or the name of a bundled config.
        overrides: ``a.b=c`` each, applied in order over the file; their paths are relative to the current directory.
        environment: What ``${env:VAR}`` is looked up in; None: the process's.

    Raises:
        ConfigError: names every mistake, in the files and in the overrides.
    """
    path, reason = find_config(source, Path.cwd())
    if path is None:
        raise ConfigError(f"config {source!r}", [reason])
    reading = Reading(os.environ if environment is None else environment)
    values = read_layers(path, reading)
    return _validated(apply_overrides(values, overrides, reading), source, reading)


def config_of(values: Mapping[str, Any], overrides: Sequence[str] = ()) -> RunConfig:
    """Return the run that ``values`` describe, as a file would; their paths are relative to the current directory.

    Raises:
        ConfigError: names every mistake.
    """
    reading = Reading(os.environ)
    layer = expand_layer(dict(values), Path.cwd(), reading.problems)
    return _validated(apply_overrides(layer, overrides, reading), "the config", reading)


def override_config(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """Return a loaded config with each ``a.b=c`` applied.

    Raises:
        ConfigError: names every mistake in the overrides.
    """
    reading = Reading(os.environ)
    return _validated(apply_overrides(config.model_dump(mode="json"), overrides, reading), "the run's config", reading)


def read_params(assignments: Sequence[str]) -> dict[str, Any]:
    """Return the parameters that ``name=value`` texts give; values are YAML, ``a.b=c`` gives a section.

    Raises:
        ConfigError: names every mistake.
    """
    reading = Reading(os.environ)
    values = apply_overrides({"params": {}}, [f"params.{assignment}" for assignment in assignments], reading)
    if reading.problems:
        raise ConfigError("the parameters", [problem.replace("params.", "") for problem in reading.problems])
    params: dict[str, Any] = values["params"]
    return params


def _validated(values: dict[str, Any], subject: str, reading: Reading) -> RunConfig:
    problems = list(reading.problems)
    try:
        config = RunConfig.model_validate(values)
    except ValidationError as error:
        told = sentences(RunConfig, error)
        problems.extend(told if not reading.broken else [one for one in told if " is missing" not in one])
    if problems:
        raise ConfigError(subject, list(dict.fromkeys(problems)))
    return config.model_copy(update={"output": absolute(str(config.output), Path.cwd())})
