"""The size budgets are exact, and the command says what broke."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_sizes import MAX_FILE_LINES, MAX_FUNCTION_LINES, main, violations


def function(lines: int, keyword: str = "def") -> str:
    return f"{keyword} f():\n" + "    pass\n" * (lines - 1)


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_function_may_fill_the_budget_but_not_pass_it(keyword: str) -> None:
    assert list(violations(function(MAX_FUNCTION_LINES, keyword), "m.py")) == []
    (found,) = violations(function(MAX_FUNCTION_LINES + 1, keyword), "m.py")
    assert found.startswith(f"m.py:1: f has {MAX_FUNCTION_LINES + 1} lines")


def test_a_nested_function_is_found() -> None:
    nested = "\n".join("    " + line for line in function(MAX_FUNCTION_LINES + 1).splitlines())
    assert any("m.py:2: f has" in text for text in violations("class C:\n" + nested, "m.py"))


def test_a_file_may_fill_the_budget_but_not_pass_it() -> None:
    assert list(violations("x = 1\n" * MAX_FILE_LINES, "m.py")) == []
    (found,) = violations("x = 1\n" * (MAX_FILE_LINES + 1), "m.py")
    assert "split it" in found


def test_global_is_refused() -> None:
    (found,) = violations("def f():\n    global a, b\n", "m.py")
    assert found.startswith("m.py:2: global a, b")


def test_the_command_names_the_file_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.py").write_text("x = 1\n")
    assert main([str(tmp_path)]) == 0
    (tmp_path / "bad.py").write_text("def f():\n    global a\n")
    assert main([str(tmp_path)]) == 1
    assert "bad.py:2" in capsys.readouterr().out


def test_no_file_at_all_is_an_error(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 2
