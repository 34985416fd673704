"""The section of semantic grounding in a real browser: whole on a desk and on a phone, pictures in their column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import PROGRAM, browser
from tests.unit.grounding.test_results import run
from tests.unit.report import build
from vlassess.pipeline.grounded import with_grounding
from vlassess.report import summarise, write_report
from vlassess.schema.attempts import entries

pytestmark = [
    pytest.mark.skipif(
        PROGRAM is None, reason="NO BROWSER: install chromium (make test-browser does) to test the page"
    ),
    pytest.mark.xdist_group("browser"),
]
SVG = "[...document.querySelectorAll('#grounding svg')]"


def test_it_is_shown_whole_on_a_desk_and_on_a_phone(tmp_path: Path) -> None:
    items, records = run()
    manifest = build.manifest(items)
    summary = with_grounding(summarise(items, records, manifest), entries(items, records), None)
    write_report(tmp_path / "report.html", manifest, summary, records, items)
    with browser(tmp_path / "profile") as tab:
        for width, dark in ((1200, False), (390, True)):
            tab.resize(width, 800, dark)
            tab.open(tmp_path / "report.html", "#grounding")
            assert tab.ask("document.documentElement.scrollWidth") <= width
            assert tab.ask(f"{SVG}.length") == 2
            assert tab.ask(f"{SVG}.every(one => one.getBoundingClientRect().height > 100)")
            # Nothing of a picture has to be scrolled to.
            assert tab.ask(f"{SVG}.every(one => one.parentElement.scrollWidth <= one.parentElement.clientWidth)")
            bars = tab.ask("[...document.querySelectorAll('#grounding .bar')].map(one => one.offsetWidth)")
            assert max(bars) > 60
        assert tab.complaints == []
