"""How a worker's command line and environment are built: a runtime is no more than that."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vlassess.execution.interpreters import Environment
from vlassess.execution.link_copy import link_folder

MODULE = "vlassess_link.worker"
OF_THIS_INTERPRETER = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""Variables that would lead another interpreter into the harness's own packages."""


@dataclass(frozen=True)
class WorkerLaunch:
    """What starts a worker and what it loads.

    Attributes:
        command: The command line.
        env: Its whole environment.
        benchmark: The ``benchmark`` part of the load message: target and params.
    """

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    benchmark: Mapping[str, Any] = field(default_factory=dict)


def worker_launch(
    target: str, params: Mapping[str, Any], env: Mapping[str, str], own: Mapping[str, str] | None = None
) -> WorkerLaunch:
    """Return the launch of a worker in this interpreter.

    Args:
        target: The benchmark's target.
        params: Its constructor's keyword arguments.
        env: The benchmark's variables; what the user has set wins.
        own: Variables of the run's config, which win over both.
    """
    merged = {
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **env,
        **os.environ,
        **(own or {}),
    }
    command = (sys.executable, "-m", MODULE)
    return WorkerLaunch(command, merged, {"target": target, "params": dict(params)})


def in_environment(launch: WorkerLaunch, environment: Environment) -> WorkerLaunch:
    """Return the same launch in another interpreter, with this harness's ``vlassess_link`` and nothing else of it.

    Raises:
        PluginError: the cache, where that copy lies, cannot be written.
    """
    env = {name: value for name, value in launch.env.items() if name not in OF_THIS_INTERPRETER}
    env["PYTHONPATH"] = str(link_folder())
    return replace(launch, command=(str(environment.python), "-m", MODULE), env=env)
