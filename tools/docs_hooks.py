"""Fills the command-line page of the documentation from the program itself, so that they cannot differ."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

MARK = "<!-- the program's own help stands here -->"


def command_line_help() -> str:
    """Return the help of every command as Markdown.

    Raises:
        subprocess.CalledProcessError: the command line cannot be imported.
    """
    command = [sys.executable, "-m", "typer", "vlassess.cli.app", "utils", "docs", "--name", "vlassess"]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    text = text.split("\n", 1)[1].replace("\n## ", "\n### ")
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"**\1**", text).replace("\\[", "[")
    # The examples' lines are paragraphs of their own in the terminal; here they are one block of code.
    return re.sub(r"(?:^  vlassess .*\n\n?)+", _code_block, text, flags=re.MULTILINE)


def _code_block(match: re.Match[str]) -> str:
    lines = [line.strip() for line in match[0].splitlines() if line.strip()]
    return "\n".join(["```shell", *lines, "```", "", ""])


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark of a page, as mkdocs calls it for each page."""
    return markdown.replace(MARK, command_line_help()) if MARK in markdown else markdown
