"""Fills the command-line page of the documentation from the program itself, so that they cannot differ."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

MARK = "<!-- the program's own help stands here -->"


def command_line_help() -> str:
    """Return the help of every command as Markdown.

    Raises:
        subprocess.CalledProcessError: the command line cannot be imported.
    """
    command = [sys.executable, "-m", "typer", "vlassess.cli", "utils", "docs", "--name", "vlassess"]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return "\n".join(line for line in text.splitlines() if not line.startswith("# "))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark of a page, as mkdocs calls it for each page."""
    return markdown.replace(MARK, command_line_help()) if MARK in markdown else markdown
