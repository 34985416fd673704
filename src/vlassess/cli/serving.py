"""``vlassess serve``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.cli.options import ServeOptions
from vlassess.config import read_params
from vlassess.execution import server_python
from vlassess_link.policies.server import main

LOAD_FAILED, INCOMPLETE = 1, 3
"""The server's exit code for a policy whose `load` failed, and what the command line calls it."""
SERVER = "vlassess_link.policies.server"


def serve(options: ServeOptions) -> int:
    """Serve a policy until it is told to stop, and return the exit code.

    A script with a header of dependencies runs in the environment that uv builds from it.
    """
    params = read_params(options.set)
    target = Catalog.discover().policy_target(options.policy, Path.cwd())
    python, env = server_python(target, print_note)
    sys.stderr.write(f"loading {target}; Ctrl-C stops it\n")
    sys.stderr.flush()
    arguments = [target, "--params-json", json.dumps(params, allow_nan=False), *server_arguments(options)]
    code = main(arguments) if python == sys.executable else run_apart([python, "-m", SERVER, *arguments], env)
    return INCOMPLETE if code == LOAD_FAILED else code


def server_arguments(options: ServeOptions) -> list[str]:
    """Return the server's own arguments, but for the policy and its parameters."""
    given = {
        "--host": options.host,
        "--port": options.port,
        "--grace": options.grace,
        "--max-batch": options.max_batch,
        "--dialect": options.dialect,
        "--mapping": options.mapping,
        "--token-file": options.token_file,
        "--tls-cert": options.tls_cert,
        "--tls-key": options.tls_key,
    }
    return [text for name, value in given.items() if value is not None for text in (name, str(value))]


def run_apart(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a server in another interpreter, pass on what asks it to stop, and return its exit code."""
    # In a session of its own, so that Ctrl-C reaches it once: from here.
    server = subprocess.Popen(command, env=dict(env), start_new_session=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda asked, _: server.send_signal(asked))
    return server.wait()


def print_note(text: str) -> None:
    """Print a line of progress on stderr."""
    sys.stderr.write(text + "\n")
