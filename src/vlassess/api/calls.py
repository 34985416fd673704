"""`vlassess.run`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlassess import pipeline
from vlassess.api.objects import is_object, label_of, served
from vlassess.api.result import Run
from vlassess.catalog import Catalog
from vlassess.config import config_of, load_config, override_config
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener, SilentListener
from vlassess_link.errors import ContractError
from vlassess_link.policies.base import Policy

Config = str | Path | Mapping[str, Any] | RunConfig


def run(
    config: Config,
    policy: Any = None,
    *,
    output: str | Path | None = None,
    listener: Listener | None = None,
    **fields: Any,
) -> Run:
    """Run every episode of a config and return what it came to.

    ```python
    run = vlassess.run("tabletop-quick", policy=model, episodes=5)
    print(run.summary().policies[0].overall.rate.value)
    ```

    Args:
        config: A YAML file, the name of a bundled config, a dict as the file would hold, or a `RunConfig`.
        policy: Measured instead of the config's policies: an object of this process (`PredictModelServer` or
            `Policy`), any text that ``--policy`` takes, or {label: one of these}. An object is asked by a thread of
            this process, one call at a time, and neither loaded nor closed; a `Policy` is asked by one worker.
        output: Folder that the run directory is made in. None: with policy objects the records stay in memory,
            otherwise the config says.
        listener: Told what happens; None: nobody.
        **fields: Fields of the config that are replaced (``episodes=5``, ``tasks=["pick/*"]``).

    Raises:
        VlassessError: nothing was run, and why.
        KeyboardInterrupt: after Ctrl-C, when the running episodes have ended; a second one ends them at once.
    """
    policies = _labelled(policy)
    objects = {label: found for label, found in policies.items() if is_object(found)}
    with served(objects) as addresses:
        sources = {label: {"url": addresses[label]} if label in addresses else text for label, text in policies.items()}
        whole = _config(config, sources, output, fields)
        if any(isinstance(found, Policy) for found in objects.values()):
            execution = whole.execution.model_copy(update={"workers": 1})
            whole = whole.model_copy(update={"execution": execution})
        return _run(whole, bool(objects) and output is None, listener or SilentListener())


def _run(config: RunConfig, in_memory: bool, listener: Listener) -> Run:
    catalog = Catalog.discover()
    if in_memory:
        held = pipeline.hold(config, catalog, listener)
        found = Run(held.manifest, held.items, held.records, None, held.ending.reason)
        found.answers = held.answers
        interrupted = held.ending.interrupted
    else:
        result = pipeline.start(config, catalog, listener)
        found, interrupted = Run.open(result.run_dir), result.interrupted
    if interrupted and not found.complete:
        raise KeyboardInterrupt
    return found


def _labelled(policy: Any) -> dict[str, Any]:
    if policy is None:
        return {}
    if isinstance(policy, Mapping):
        return dict(policy)
    if is_object(policy):
        return {label_of(policy): policy}
    if isinstance(policy, str):
        return {"": policy}
    raise ContractError(
        f"policy is a {type(policy).__name__}; give a PredictModelServer, a Policy, a text, or a dict of these by label"
    )


def _config(
    config: Config, sources: Mapping[str, Any], output: str | Path | None, fields: Mapping[str, Any]
) -> RunConfig:
    overrides = [f"{name}={json.dumps(value, allow_nan=False)}" for name, value in fields.items()]
    if sources:
        given = list(sources.values()) if "" in sources else dict(sources)
        overrides.insert(0, f"policies={json.dumps(given)}")
    if output is not None:
        overrides.append(f"output={json.dumps(str(output))}")
    if isinstance(config, RunConfig):
        return override_config(config, overrides)
    if isinstance(config, Mapping):
        return config_of(config, overrides)
    return load_config(str(config), overrides)
