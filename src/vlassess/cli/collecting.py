"""``vlassess collect``."""

from __future__ import annotations

import json
import re

import typer
from rich.text import Text

from vlassess.catalog import Catalog
from vlassess.cli.dataset_options import CollectOptions, Images, Keep
from vlassess.cli.exporting import telling
from vlassess.cli.output import console, print_json
from vlassess.cli.running import listener_for, result_json, show_result
from vlassess.config import load_config
from vlassess.pipeline import RunResult
from vlassess.pipeline.collecting import Wanted, collect_config, go_on, record, write_dataset
from vlassess.pipeline.exporting import Exported
from vlassess.schema.collecting import CollectSettings

DEFAULTS = CollectOptions()
FOR_NEW_ONES = ("config", "episodes", "output", "images", "size", "keep", "noise", "recovery", "policy", "seed", "set")


def collect(options: CollectOptions) -> int:
    """Collect or go on, show the result, and return the run's exit code."""
    catalog = Catalog.discover()
    wanted = wanted_of(options, catalog)
    out = console()
    with listener_for(options.json, out) as listener:
        if wanted is not None:
            result = record(wanted, catalog, listener)
        elif options.resume is not None:
            result = go_on(options.resume, catalog, listener)
    if not options.json:
        show_result(result, out, "collect")
    exported = None
    if not result.interrupted:
        with telling(out, options.json) as told:
            exported = write_dataset(result.run_dir, told)
    _show(result, exported, options.json)
    return result.exit_code


def wanted_of(options: CollectOptions, catalog: Catalog) -> Wanted | None:
    """Return what is to be collected; None where a collection goes on.

    Raises:
        typer.BadParameter: a config or the number of episodes is missing, the size is none, or an option is given that
            a collection has settled when it was begun.
        ConfigError: names every mistake.
    """
    if options.resume is not None:
        _refuse_what_is_settled(options)
        return None
    if options.config is None:
        raise typer.BadParameter("give a config, or a collection to finish with --resume DIR", param_hint="config")
    if options.episodes is None:
        raise typer.BadParameter("say how many demonstrations, as --episodes 200", param_hint="--episodes")
    config = collect_config(load_config(options.config), options.policy, overrides(options), catalog)
    output = None if options.output is None else options.output.absolute()
    settings = CollectSettings(output=output, pictures=options.images.value, keep=options.keep.value)
    return Wanted(config, options.episodes, settings, command_of(options))


def overrides(options: CollectOptions) -> list[str]:
    """Return what the options say of the config, ``--set`` last."""
    found = []
    if options.seed is not None:
        found.append(f"seed={options.seed}")
    if options.workers is not None:
        found.append(f"execution.workers={options.workers}")
    if options.size is not None:
        found.append(f"artifacts.camera_size={json.dumps(_size(options.size))}")
    if options.noise or options.recovery:
        push = {"push": {"rate": options.recovery}} if options.recovery else {}
        found.append(f"disturbance={json.dumps({'noise': options.noise, **push})}")
    return [*found, *options.set]


def command_of(options: CollectOptions) -> tuple[str, ...]:
    """Return the command line that begins such a collection."""
    single = {
        "--episodes": options.episodes,
        "--output": options.output,
        "--images": None if options.images is Images.video else options.images.value,
        "--size": options.size,
        "--keep": None if options.keep is Keep.successes else options.keep.value,
        "--noise": options.noise or None,
        "--recovery": options.recovery or None,
        "--policy": options.policy,
        "--seed": options.seed,
    }
    pairs = [(name, str(value)) for name, value in single.items() if value is not None]
    pairs += [("--set", setting) for setting in options.set]
    return ("vlassess", "collect", *([options.config] if options.config else []), *(w for pair in pairs for w in pair))


def dataset_json(exported: Exported | None) -> dict[str, object] | None:
    """Return what a data set came to as JSON types."""
    if exported is None:
        return None
    return {
        "folder": str(exported.folder),
        "episodes": exported.episodes,
        "frames": exported.frames,
        "cameras": list(exported.cameras),
        "left_out": dict(exported.left_out),
    }


def _show(result: RunResult, exported: Exported | None, as_json: bool) -> None:
    if as_json:
        print_json({**result_json(result), "dataset": dataset_json(exported)})
    elif exported is not None:
        console().print(Text(f"data set: {exported.sentence}"), soft_wrap=True)


def _refuse_what_is_settled(options: CollectOptions) -> None:
    """Refuse options that a collection has settled when it was begun.

    Raises:
        typer.BadParameter: names the first.
    """
    for name in FOR_NEW_ONES:
        if getattr(options, name) != getattr(DEFAULTS, name):
            hint = name if name == "config" else f"--{name}"
            raise typer.BadParameter("a collection goes on as it was begun; leave it out", param_hint=hint)


def _size(text: str) -> list[int]:
    match = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", text.strip())
    if match is None:
        raise typer.BadParameter(f"{text!r} is no size; write HEIGHTxWIDTH, as 96x96", param_hint="--size")
    return [int(match[1]), int(match[2])]
