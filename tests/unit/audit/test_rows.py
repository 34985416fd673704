"""What people are shown of cells: rows, notices, the page, and what the exit code makes of them."""

from __future__ import annotations

import io
from html import escape

import pytest
from rich.console import Console

from tests.factors import Sighted
from tests.unit.audit.runs import Planned, cell, summary_from
from vlassess.exit_codes import COMPLETE, GATE_FAILED, INTERRUPTED, INVALID, exit_code
from vlassess.report import render_table, summary_csv
from vlassess.report.cell_plots import gaps_plot
from vlassess.report.cells import CellsTable
from vlassess.schema.config import Gates
from vlassess.schema.summary import Counts, Summary
from vlassess_link.policies.model import InProcessPolicy

CELLS = (
    cell("light", "dark"),
    cell("language", "paraphrase"),
    cell("start", "far"),
    cell("camera_pose", "near", light="dim"),
)


@pytest.fixture(scope="module")
def good() -> Summary:
    return summary_from(Planned(CELLS, config={"episodes": 12}))


@pytest.fixture(scope="module")
def bad() -> Summary:
    return summary_from(Planned(CELLS, "moves_too"))


def shown(summary: Summary, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(CellsTable(summary.policies[0]))
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_every_row_has_everything_however_narrow(good: Summary, width: int) -> None:
    text = shown(good, width)
    words = text.split()
    assert all(len(line) <= width for line in text.splitlines())
    assert [word for word in words if word in ("worse", "invalid")] == ["worse"]
    assert words.count("ok") == 4
    for number in ("0.0–26.5", "73.5–100.0", "-100.0", "+0.0*", "light=dim"):
        assert number in words, (number, text)


@pytest.mark.parametrize("width", range(75, 126))
def test_no_column_is_cut_off_at_any_width(good: Summary, width: int) -> None:
    pairs = [[word for word in shown(good, columns).split() if "/" in word] for columns in (width, 300)]
    assert len(pairs[1]) == 4
    assert pairs[0] == pairs[1]


def test_nothing_is_said_of_an_invalid_cell(bad: Summary) -> None:
    found = {one.name: one for one in bad.policies[0].factors}
    dark = found["light=dark"]
    assert (dark.verdict, dark.adjusted_p, dark.gap) == ("invalid", None, None)
    assert dark.rate.value == 0.0
    assert dark.dropped == {"initial states differ": 6}
    assert found["camera_pose=near within light=dim"].audit.verdict == "ok"
    text = shown(bad, 160)
    assert "0 of 6" in text
    assert "VIOLATED 6/6" in text
    assert "over 3 valid cells" in " ".join(text.split())


def test_terminal_tables_show_cells_once(good: Summary) -> None:
    out = io.StringIO()
    Console(file=out, width=140).print(render_table(good))
    assert out.getvalue().count("light=dark") == 1


def test_notices_tell_violations_first_and_group_what_nobody_saw(bad: Summary) -> None:
    told = [notice for notice in bad.notices if notice.code.startswith("cell")]
    assert [notice.code for notice in told] == ["cell_violated", "cells_unpaired"]
    assert "The cell light=dark is invalid" in told[0].message
    blind = summary_from(Planned(CELLS[:1] + CELLS[3:], policy=InProcessPolicy(Sighted(()))))
    unseen = [notice.message for notice in blind.notices if notice.code == "cell_not_witnessed"]
    assert ["1 cell (light=dark)" in unseen[0], "1 cell (camera_pose=near within light=dim)" in unseen[1]] == [
        True,
        True,
    ]
    alike = summary_from(Planned((cell("light", "dark"), cell("light", "dim")), policy=InProcessPolicy(Sighted(()))))
    (together,) = [notice.message for notice in alike.notices if notice.code == "cell_not_witnessed"]
    assert "2 cells (light=dark, light=dim)" in together


def test_the_csv_marks_a_cell_and_its_tasks(bad: Summary) -> None:
    header, *rows = [line.split(",") for line in summary_csv(bad).splitlines()]
    marks = [dict(zip(header, row, strict=True)) for row in rows if "light=dark" in row]
    assert [(row["level"], row["audit"], row["verdict"]) for row in marks] == [
        ("cell", "violated", "invalid"),
        ("task", "violated", ""),
    ]


def test_the_plot_crosses_out_what_is_invalid(good: Summary, bad: Summary) -> None:
    assert "camera_pose=near within light=dim" in gaps_plot(good.policies)
    assert gaps_plot(good.policies) != gaps_plot(bad.policies)
    assert gaps_plot(bad.policies) == gaps_plot(bad.policies)
    assert escape("<") not in gaps_plot(good.policies)


def test_an_invalid_cell_comes_before_everything_but_an_interruption(good: Summary, bad: Summary) -> None:
    gate = Gates(min_success=1.0)
    assert exit_code(good, Gates(), False, None)[0] == COMPLETE
    assert exit_code(bad, gate, False, None)[0] == INVALID
    lacking = bad.model_copy(update={"counts": Counts(planned=9, success=8, missing=1)})
    code, reasons = exit_code(lacking, gate, False, None)
    assert code == INVALID
    assert reasons[0].startswith("cell light=dark of policy 'main' is invalid: second factor")
    assert "1 of 9 episodes are missing" in reasons[1]
    assert exit_code(lacking, gate, True, None)[0] == INTERRUPTED
    failing = summary_from(Planned((), policy=InProcessPolicy(Sighted(()))))
    assert exit_code(failing, gate, False, None)[0] in (COMPLETE, GATE_FAILED)
