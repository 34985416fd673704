"""Fail when a function, a file or a use of ``global`` breaks the size budgets.

The linter has no rule for these. It is the longest function that tells clean code from unclean, not the
average one, so the budget is a maximum.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 400


def violations(source: str, name: str) -> Iterator[str]:
    """Yield one sentence per broken budget in a module's text; a function counts its docstring, not its decorators."""
    lines = len(source.splitlines())
    if lines > MAX_FILE_LINES:
        yield f"{name}: {lines} lines; a file has at most {MAX_FILE_LINES}: split it by purpose"
    for node in ast.walk(ast.parse(source, filename=name)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield (
                    f"{name}:{node.lineno}: {node.name} has {length} lines; "
                    f"a function has at most {MAX_FUNCTION_LINES}: take a step out of it"
                )
        elif isinstance(node, ast.Global):
            yield f"{name}:{node.lineno}: global {', '.join(node.names)}; pass the value or keep it in an object"


def python_files(roots: list[Path]) -> list[Path]:
    """Return every Python file below the given folders, sorted."""
    return sorted(path for root in roots for path in root.rglob("*.py"))


def main(arguments: list[str] | None = None) -> int:
    """Check the given folders, print what is broken, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roots", nargs="+", type=Path, help="folders to check")
    files = python_files(parser.parse_args(arguments).roots)
    if not files:
        print("No Python file was found: check the folders' names.")
        return 2
    broken = [text for path in files for text in violations(path.read_text(encoding="utf-8"), str(path))]
    print("\n".join(broken) or f"{len(files)} files are within the size budgets.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
