"""uv, which builds environments: found and run, its progress passed on, its failure put into a sentence."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence

from vlassess_link.errors import PluginError

PROGRESS = re.compile(r"(Resolved|Prepared|Installed|Downloading|Downloaded|Building|Built)\b")
NETWORK = re.compile(r"dns error|connect|timed? ?out|network|failed to fetch|offline", re.IGNORECASE)


class UvFailedError(PluginError):
    """uv ended with an error; the message quotes its last lines."""


def find_uv() -> tuple[str, ...]:
    """Return the command line that starts uv: the one on the path, else the one installed beside this harness.

    Raises:
        PluginError: there is none.
    """
    found = shutil.which("uv")
    if found is not None:
        return (found,)
    if importlib.util.find_spec("uv") is not None:
        return (sys.executable, "-m", "uv")
    raise PluginError(
        "uv is not installed, and it is what builds a benchmark's environment; install it (pip install uv), or make "
        "the environment yourself and name its interpreter: --set benchmark.interpreter=/path/to/bin/python"
    )


def run_uv(uv: Sequence[str], arguments: Sequence[str], note: Callable[[str], None]) -> str:
    """Run uv to its end, pass on each line that tells of progress, and return everything that it said.

    Raises:
        UvFailedError: it ended with an error.
    """
    env = {"UV_PYTHON_DOWNLOADS": "never", **os.environ, "NO_COLOR": "1"}
    env.pop("VIRTUAL_ENV", None)
    process = subprocess.Popen(
        [*uv, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env
    )
    assert process.stdout is not None
    last: deque[str] = deque(maxlen=200)
    try:
        for line in process.stdout:
            last.append(line.rstrip())
            if PROGRESS.match(line.strip()):
                note(line.strip())
        code = process.wait()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    if code != 0:
        raise UvFailedError(_sentence(arguments, code, [line for line in last if line]))
    return "\n".join(last)


def _sentence(arguments: Sequence[str], code: int, lines: Sequence[str]) -> str:
    quoted = " ".join(line.strip() for line in lines[-6:])
    text = f"uv {arguments[0]} failed ({code}): {quoted}"
    if "No space left" in text:
        return f"{text}; free disk space, or move the cache with VLASSESS_CACHE=/path and UV_CACHE_DIR=/path"
    if NETWORK.search(text):
        return f"{text}; is the package index reachable? Another one is named with UV_DEFAULT_INDEX=https://..."
    return text
