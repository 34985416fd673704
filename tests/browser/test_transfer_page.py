"""The page of a transfer study in a real browser: nothing is missing or refused, and it fits a phone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.browser.chromium import PROGRAM, browser
from tests.transfer_studies import Truth, simulated
from vlassess.report.transfer_page import write_transfer
from vlassess.schema.transfer import Rules, StudyFacts
from vlassess.stats.curves import Curve
from vlassess.transfer.analysis import analyse_study

pytestmark = [
    pytest.mark.skipif(
        PROGRAM is None, reason="NO BROWSER: install chromium (make test-browser does) to test the page"
    ),
    pytest.mark.xdist_group("browser"),
]
TRUTH = Truth({"a": 0.9, "b" * 60: 0.5}, {"camera_pose=far": -0.4}, {"full": Curve(0.2, 0.9, 4.0)}, n=20)


def test_it_is_shown_whole_on_a_desk_and_on_a_phone(tmp_path: Path) -> None:
    trials = simulated(TRUTH, np.random.default_rng(0))
    robot = [replace(one, interventions=1, flagged=True) for one in trials if one.role in ("cell", "control")]
    found = analyse_study(trials, Rules(draws=50), robot)
    write_transfer(tmp_path / "report.html", found, StudyFacts("words" * 30, amendments=("x" * 300,)))
    with browser(tmp_path / "profile") as tab:
        for width, dark in ((1200, False), (390, True)):
            tab.resize(width, 800, dark)
            tab.open(tmp_path / "report.html")
            assert tab.ask("document.documentElement.scrollWidth") <= width
            assert tab.ask("document.querySelectorAll('svg').length") == 8
            assert tab.ask(
                "[...document.querySelectorAll('svg')].every(one => one.getBoundingClientRect().height > 50)"
            )
        assert tab.complaints == []
