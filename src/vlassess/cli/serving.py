"""``vlassess serve``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.cli.options import ServeOptions
from vlassess.config import read_params
from vlassess_link.policies.server import main

LOAD_FAILED, INCOMPLETE = 1, 3
"""The server's exit code for a policy whose `load` failed, and what the command line calls it."""


def serve(options: ServeOptions) -> int:
    """Serve a policy until it is told to stop, and return the exit code."""
    params = read_params(options.set)
    target = Catalog.discover().policy_target(options.policy, Path.cwd())
    sys.stderr.write(f"loading {target}; Ctrl-C stops it\n")
    address = ["--host", options.host, "--port", str(options.port)]
    code = main([target, *address, "--params-json", json.dumps(params, allow_nan=False)])
    return INCOMPLETE if code == LOAD_FAILED else code
