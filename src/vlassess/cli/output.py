"""Where results go: stdout, for people or for programs."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

from rich.console import Console

PIPED_WIDTH = 120
"""Columns of a table that is not printed in a terminal, where COLUMNS does not say otherwise."""


LEAST_WIDTH = 80
"""Columns that tables need: in a narrower terminal lines are wrapped by it, where columns would be cut off."""


def console() -> Console:
    """Return a console on stdout, as wide as the terminal, or wide enough for a table in a file; never too narrow."""
    width = Console().width if sys.stdout.isatty() else shutil.get_terminal_size((PIPED_WIDTH, 40)).columns
    return Console(width=max(width, LEAST_WIDTH), highlight=False)


def print_json(value: Any) -> None:
    """Print strict JSON and nothing else.

    Raises:
        ValueError: ``value`` holds NaN or an infinity.
    """
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def say(text: str) -> None:
    """Tell people one thing on stderr, where it is in no program's way."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
