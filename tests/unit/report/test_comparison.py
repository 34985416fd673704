"""A comparison as people see it: nothing of what records say can act on a terminal or a page."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.unit.comparison.build import arm_of, arms_with, design, trial_of
from vlassess.comparison.compare import compare
from vlassess.report import render_comparison, write_comparison
from vlassess.report.comparison_page import forest
from vlassess.schema.comparison import Comparison

HOSTILE = "<script>alert(1)</script>[bold]\x1b[2J"


def hostile() -> Comparison:
    a, b = arms_with((5, 3, 1, 1), ("to-4", "to-5"))
    tasks = tuple(dataclasses.replace(trial, task=HOSTILE + trial.task) for trial in a.trials)
    theirs = tuple(
        dataclasses.replace(trial, task=HOSTILE + trial.task, video="/x/a b'\"><i>.mp4") for trial in b.trials
    )
    arms = (
        dataclasses.replace(a, label=HOSTILE, trials=tasks, notes=(HOSTILE,)),
        dataclasses.replace(b, trials=theirs, source=HOSTILE),
    )
    return compare(arms, design(arms))


def test_a_page_shows_texts_as_they_are(tmp_path: Path) -> None:
    write_comparison(tmp_path / "x.html", hostile())
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
    assert "<i>" not in page
    assert "a%20b%27%22%3E%3Ci%3E.mp4" in page
    assert list(tmp_path.iterdir()) == [tmp_path / "x.html"]


def test_a_terminal_shows_texts_as_they_are() -> None:
    console = Console(width=200, record=True, force_terminal=False)
    with console.capture() as capture:
        console.print(render_comparison(hostile()))
    assert "\x1b" not in capture.get()
    assert "[bold]" in capture.get()
    assert "\\x1b[2J" in capture.get()


@pytest.mark.parametrize("table", [(5, 3, 1, 1), (10, 0, 0, 0), (0, 9, 0, 1), (2000, 3, 1, 1)])
def test_a_forest_plot_holds_every_interval(table: tuple[int, int, int, int]) -> None:
    arms = arms_with(table, ("to-4", "to-5"))
    (two,) = compare(arms, design(arms)).comparisons
    plot = forest(two)
    left, right = plot.ticks[0][0], plot.ticks[-1][0]
    assert [row.name for row in plot.rows] == ["walk/to-4", "walk/to-5", "overall"]
    for row, effect in zip(plot.rows, [*(group.effect for group in two.tasks), two.overall], strict=True):
        assert row.low is not None
        assert row.high is not None
        assert row.point is not None
        assert left - 0.1 <= row.low <= row.high <= right + 0.1
        assert (row.point > plot.zero) == ((effect.difference or 0) > 0)


def test_an_arm_without_a_partner_is_shown_undefined(tmp_path: Path) -> None:
    arms = arm_of("A", [trial_of(0)]), arm_of("B", [trial_of(0, task="to-9")])
    found = compare(arms, design(arms))
    write_comparison(tmp_path / "x.html", found)
    assert "cannot be compared" in found.verdict
    assert not re.search(r"nan|None", (tmp_path / "x.html").read_text(encoding="utf-8").partition("</style>")[2])
