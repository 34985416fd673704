"""The report in a real browser: it opens quickly, filters, shows hostile texts, and fits a phone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser.chromium import PROGRAM, Tab, browser
from tests.unit.artifacts.support import spool
from tests.unit.report import build
from vlassess.artifacts.pictures import WIDTH
from vlassess.artifacts.writing import Kept, Shelf, put_away
from vlassess.report import summarise, write_report
from vlassess_link.data import ErrorInfo

pytestmark = [
    pytest.mark.skipif(
        PROGRAM is None, reason="NO BROWSER: install chromium (make test-browser does) to test the report"
    ),
    pytest.mark.xdist_group("browser"),
]

HOSTILE = [
    "<script>window.owned = 1</script>",
    '"><img src=x onerror="window.owned = 1">',
    "</script><script>window.owned = 1</script><!--",
    "lone \ud800 surrogate",
    "\u202egnorw si txet siht",
    "把红色方块放进碗里 🦾",
    "<b>" * 3400,
]
ROWS = "document.querySelectorAll('#episodes-body > tr')"
COUNT = "document.getElementById('episodes-count').textContent"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 2,000 episodes with every kind of text and ending; two have a video."""
    folder = tmp_path_factory.mktemp("run")
    items = build.plan(("octo", "expert"), tasks=[(f"suite{n % 4}", f"task {n}") for n in range(40)], episodes=25)
    records = []
    for number, record in enumerate(build.realistic(items)):
        text = HOSTILE[number % len(HOSTILE)]
        error = ErrorInfo("benchmark", "step", "Kind", f"{text} {number}", text) if record.error is not None else None
        records.append(replace(record, instruction=text, error=error))
    for item, record in list(zip(items, records, strict=False))[:2]:
        where, kept = folder / "artifacts" / item.item_id, Kept(video=True, fps=10.0)
        shelf = Shelf(spool(folder / "spool"), where, item, record, kept)
        assert put_away(shelf) is None
    manifest = build.manifest(items)
    write_report(folder / "report.html", manifest, summarise(items, records, manifest), records, items)
    return folder


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """One browser for all tests of this file."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_two_thousand_episodes_open_quickly_and_are_small(tab: Tab, run: Path) -> None:
    tab.resize(1200, 900, dark=False)
    tab.open(run / "report.html")

    took = tab.ask("performance.getEntriesByType('navigation')[0].loadEventEnd")

    assert 0 < took < 2000
    assert (run / "report.html").stat().st_size < 5_000_000
    assert tab.ask(COUNT) == "2000 of 2000 episodes"
    assert tab.ask(f"{ROWS}.length") == 30
    assert tab.complaints == []


def test_texts_do_nothing_but_stand_there(tab: Tab, run: Path) -> None:
    tab.open(run / "report.html", "#end=error")
    tab.ask("document.querySelectorAll('button.open').forEach((button) => button.click())")

    assert tab.ask("window.owned ?? null") is None
    assert tab.ask("document.querySelectorAll('main img, main b, main script').length") == 0
    assert tab.ask("document.querySelectorAll('script').length") == 2
    assert "<script>window.owned = 1</script>" in tab.ask("document.getElementById('episodes').innerText")
    assert tab.complaints == []


def test_a_reader_filters_by_typing_and_choosing(tab: Tab, run: Path) -> None:
    tab.open(run / "report.html")
    tab.type("#filter", "TASK suite3/")
    everything = int(tab.ask(COUNT).split()[0])
    assert everything == 500
    assert all("suite3/task" in text for text in tab.ask(f"[...{ROWS}].map((row) => row.innerText)"))

    tab.ask("Object.assign(document.getElementById('policy'), {value: 'expert'}).dispatchEvent(new Event('input'))")
    assert int(tab.ask(COUNT).split()[0]) == everything // 2
    tab.ask("Object.assign(document.getElementById('end'), {value: 'failure'}).dispatchEvent(new Event('input'))")
    assert 0 < int(tab.ask(COUNT).split()[0]) < everything // 2
    assert set(tab.ask("[...document.querySelectorAll('.end')].map((end) => end.textContent)")) == {"failure"}
    assert tab.ask("location.hash") == "#filter=TASK+suite3%2F&policy=expert&end=failure"

    tab.type("#filter", "no such episode")
    assert tab.ask(f"{ROWS}.length") == 0
    assert tab.complaints == []


def test_an_address_can_name_what_is_looked_at(tab: Tab, run: Path) -> None:
    item = build.plan(("octo", "expert"), tasks=[(f"suite{n % 4}", f"task {n}") for n in range(40)], episodes=25)[0]
    tab.open(run / "report.html", f"#filter={item.item_id[:12]}&open={item.item_id[:12]}")

    assert tab.ask(COUNT) == "1 of 2000 episodes"
    text = tab.ask("document.querySelector('tr.more').innerText")
    assert f"vlassess rerun {run} {item.item_id[:12]} --video" in text
    playable = (
        "new Promise((done) => { const film = document.querySelector('video'); film.preload = 'auto'; "
        "film.onloadeddata = () => done(film.videoWidth + 0.1 * film.duration); "
        "film.onerror = () => done(-1); film.load(); })"
    )
    assert tab.ask(playable) == pytest.approx(WIDTH + 0.05), "the browser plays what the encoder made"
    assert tab.ask("document.querySelector('#video').checked") is False
    assert tab.complaints == []


def test_rows_are_sorted_and_more_are_shown_on_request(tab: Tab, run: Path) -> None:
    tab.open(run / "report.html")
    tab.ask("document.querySelector('th button[data-sort=steps]').click()")
    tab.ask("document.querySelector('th button[data-sort=steps]').click()")
    tab.ask("document.getElementById('episodes-more').click()")

    steps = tab.ask(f"[...{ROWS}].map((row) => Number(row.cells[3].textContent))")

    assert len(steps) == 60
    assert steps == sorted(steps, reverse=True)
    assert tab.ask("document.querySelector('th[aria-sort=descending]').textContent") == "steps"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_the_screen_and_can_be_read(tab: Tab, run: Path, width: int, dark: bool) -> None:
    tab.resize(width, 800, dark)
    tab.open(run / "report.html", "#end=error")
    tab.ask("document.querySelector('button.open').click()")

    assert tab.ask("document.documentElement.scrollWidth") <= width
    shades = (
        "['color', 'backgroundColor'].map((name) => getComputedStyle(document.body)[name].match(/\\d+/g).map(Number))"
    )
    ink, paper = (sum(shade[:3]) for shade in tab.ask(shades))
    assert (paper < 120, ink > 600) if dark else (paper > 700, ink < 120)
    assert (ink - paper > 450) if dark else (paper - ink > 450)
    assert tab.complaints == []
