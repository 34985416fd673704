from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.unit.report import build
from vlassess.report import render_table, summarise
from vlassess.schema.summary import Summary


def shown(summary: Summary, width: int = 120) -> str:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False).print(render_table(summary))
    return out.getvalue()


def cells(text: str) -> list[str]:
    return text.split()


def row(text: str, start: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.strip().startswith(start)]
    return line.split()


def test_a_rate_stands_beside_its_n_intervals_and_what_is_missing() -> None:
    items = build.plan()
    records = [build.record(items[0]), build.failed(items[1]), build.broken(items[2], "policy")]
    text = shown(summarise(items, records, build.manifest(items)))
    assert row(text, "pick/red") == [
        "pick/red",
        "1/3",
        "33.3",
        "%",
        "1",
        "0.8–90.6",
        "6.1–79.2",
        "2",
        "1",
        "75.0",
        "%",
        "80",
    ]
    assert row(text, "place/bowl") == cells("place/bowl 0/0 – 4 – – 0 0 – –")
    assert row(text, "overall") == [
        "overall",
        "(pooled)",
        "1/3",
        "33.3",
        "%",
        "9",
        "0.8–90.6",
        "6.1–79.2",
        "2",
        "1",
        "75.0",
        "%",
        "80",
    ]
    assert "warning: main: 9 of 12 planned episodes are not run" in text


def test_columns_with_nothing_to_say_are_left_out() -> None:
    items = build.plan()
    text = shown(summarise(items, [build.record(item) for item in items], build.manifest(items)), width=80)
    assert row(text, "pick/red") == [
        "pick/red",
        "4/4",
        "100.0",
        "%",
        "39.8–100.0",
        "51.0–100.0",
        "0",
        "100.0",
        "%",
        "40",
    ]
    assert "missing" not in text
    assert "…" not in text


def test_bounds_are_said_where_there_are_errors() -> None:
    items = build.plan(tasks=[("pick", "red")])
    records = [build.record(items[0]), *(build.broken(item, "benchmark") for item in items[1:])]
    text = shown(summarise(items, records, build.manifest(items)))
    assert "If errors fail: 25.0 %; if they succeed: 100.0 %." in text


def test_cells_stand_below_their_control() -> None:
    items = build.plan(cells=({}, {"camera": "far"}))
    records = [build.failed(item) if item.episode.perturbation else build.record(item) for item in items]
    text = shown(summarise(items, records, build.manifest(items)))
    assert row(text, "control")[2:5] == ["12/12", "100.0", "%"]
    assert row(text, "camera=far")[2:5] == ["0/12", "0.0", "%"]


def test_the_primary_metric_has_its_column() -> None:
    items = build.plan(tasks=[("pick", "red")])
    records = [build.record(item, outcome=build.success(length=4.5)) for item in items]
    text = shown(summarise(items, records, build.manifest(items, primary="length")))
    assert "length" in text
    assert row(text, "pick/red")[-1] == "4.5"


@pytest.mark.parametrize("task", ["[red]x[/red]", "[/]", "x\x1b[2Jy", "\ud800"])
def test_texts_are_shown_and_never_act(task: str) -> None:
    items = build.plan((task,), tasks=[("s", task)])
    text = shown(summarise(items, [], build.manifest(items)))
    assert "\x1b" not in text
    assert ascii(task)[1:-1] in text
    assert text.encode()
