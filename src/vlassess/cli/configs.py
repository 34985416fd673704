"""From a command's options to the config that it means."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer

from vlassess.cli.options import Mode, PlanOptions, RunOptions
from vlassess.config import load_config, override_config
from vlassess.records import RunDirectory
from vlassess.schema.config import RealTimeConfig, RunConfig


def planned_config(options: PlanOptions) -> RunConfig:
    """Return the config of ``vlassess plan``.

    Raises:
        ConfigError: names every mistake.
    """
    return load_config(options.config, [*_policies(options.policy), *options.set])


def run_config(options: RunOptions) -> RunConfig | None:
    """Return the config of ``vlassess run``; None where a run is resumed as it was begun.

    Raises:
        ConfigError: names every mistake.
        typer.BadParameter: neither a config nor a run to resume is given, or options that exclude each other.
    """
    overrides = _overrides(options)
    if options.config is not None:
        return _in_mode(load_config(options.config, overrides), options.mode)
    if options.resume is None:
        raise typer.BadParameter("give a config, or a run to finish with --resume DIR", param_hint="config")
    if not overrides and options.mode is None:
        return None
    config = RunDirectory.open(options.resume).manifest.config
    return _in_mode(override_config(config, overrides) if overrides else config, options.mode)


def _overrides(options: RunOptions) -> list[str]:
    if options.resume is not None and options.output is not None:
        raise typer.BadParameter("a run is resumed where it is; leave --output out", param_hint="--output")
    overrides = [*_policies(options.policy), *options.set]
    if options.output is not None:
        overrides.append(f"output={json.dumps(str(options.output))}")
    if options.episodes is not None:
        overrides.append(f"episodes={options.episodes}")
    if options.workers is not None:
        overrides.append(f"execution.workers={options.workers}")
    if options.min_success is not None:
        overrides.append(f"gates.min_success={options.min_success!r}")
    if options.audit is not None:
        overrides.append(f"audit={options.audit.value}")
    return [*overrides, *_video(options.video), *_comparison(options)]


def _comparison(options: RunOptions) -> list[str]:
    """Return the overrides that fix the comparison before the run."""
    overrides = [] if options.compare_with is None else [f"comparison.against={json.dumps(options.compare_with)}"]
    if options.stop_when_decided is None:
        return overrides
    name, equals, value = options.stop_when_decided.partition("=")
    if name.strip() != "alpha" or not equals:
        raise typer.BadParameter(
            f"{options.stop_when_decided!r} is not alpha=SHARE, as alpha=0.05", param_hint="--stop-when-decided"
        )
    return [
        *overrides,
        "comparison.test=sequential",
        "comparison.stop_when_decided=true",
        f"comparison.alpha={value.strip()}",
    ]


def _in_mode(config: RunConfig, mode: Mode | None) -> RunConfig:
    """Return the config in a mode; in real time as its own section says, else on the machine's clock."""
    if mode is None or (mode is Mode.realtime) == (config.realtime is not None):
        return config
    return config.model_copy(update={"realtime": RealTimeConfig() if mode is Mode.realtime else None})


def _video(wanted: str | None) -> list[str]:
    """Return the overrides that a number of videos, or a word for some, stands for."""
    if wanted is None:
        return []
    if wanted.isdecimal():
        return ["artifacts.video=sample", f"artifacts.sample={wanted}"] if int(wanted) else ["artifacts.video=off"]
    if wanted not in ("on", "failures", "off"):
        raise typer.BadParameter(f"{wanted!r} is none of on, failures, off and a number", param_hint="--video")
    return [f"artifacts.video={wanted}"]


def _policies(policies: Sequence[str]) -> list[str]:
    """Return the override that replaces the policies; it comes first, so that --set can refine them."""
    return [f"policies={json.dumps(list(policies))}"] if policies else []
