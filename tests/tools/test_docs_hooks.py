"""The command-line page holds the program's own help, as Markdown."""

from __future__ import annotations

import pytest

from tools.docs_hooks import MARK, on_page_markdown


@pytest.fixture(scope="module")
def page() -> str:
    return on_page_markdown(f"before\n\n{MARK}\n\nafter")


@pytest.mark.parametrize("command", ["run", "plan", "serve", "report", "list"])
def test_every_command_has_its_section(page: str, command: str) -> None:
    assert f"\n### `vlassess {command}`\n" in page


def test_nothing_of_the_terminal_is_left(page: str) -> None:
    assert "[bold]" not in page
    assert MARK not in page


def test_examples_are_code(page: str) -> None:
    assert "```shell\nvlassess run tabletop-quick\n" in page


def test_a_page_without_the_mark_stays_as_it_is() -> None:
    assert on_page_markdown("text") == "text"
