"""Bundled benchmarks and policies are data for the harness: neither side imports the other.

They have no ``__init__.py`` above them, so the import contracts do not see them; this test does.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "vlassess"
DATA = ("benchmarks", "policies")


def imported_modules(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def files(*, data: bool) -> list[Path]:
    every = sorted(SOURCE.rglob("*.py"))
    return [path for path in every if (path.relative_to(SOURCE).parts[0] in DATA) is data]


@pytest.mark.parametrize("path", files(data=True), ids=lambda path: str(path.relative_to(SOURCE)))
def test_data_import_nothing_of_the_harness(path: Path) -> None:
    assert [name for name in imported_modules(path.read_text(encoding="utf-8")) if is_within(name, "vlassess")] == []


def test_the_harness_imports_no_data() -> None:
    broken = [
        (path.name, module)
        for path in files(data=False)
        for module in imported_modules(path.read_text(encoding="utf-8"))
        if any(is_within(module, f"vlassess.{folder}") for folder in DATA)
    ]
    assert broken == []


@pytest.mark.parametrize(
    "line", ["import vlassess.benchmarks.x", "from vlassess import benchmarks", "from vlassess.benchmarks.x import y"]
)
def test_each_form_of_import_is_seen(line: str) -> None:
    assert any(is_within(module, "vlassess.benchmarks") for module in imported_modules(line))
