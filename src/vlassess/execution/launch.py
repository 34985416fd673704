"""How a worker's command line and environment are built: a runtime is no more than that."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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


def worker_launch(target: str, params: Mapping[str, Any], env: Mapping[str, str]) -> WorkerLaunch:
    """Return the launch of a worker in this interpreter.

    Args:
        target: The benchmark's target.
        params: Its constructor's keyword arguments.
        env: The benchmark's own variables; what the user has set wins.
    """
    merged = {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **env, **os.environ}
    command = (sys.executable, "-m", "vlassess_link.worker")
    return WorkerLaunch(command, merged, {"target": target, "params": dict(params)})
