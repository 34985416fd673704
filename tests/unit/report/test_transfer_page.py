"""The page of a transfer study: it stands alone, says of each figure what it is, and refuses what is not supported."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tests.transfer_studies import Truth, simulated
from vlassess.report.transfer_page import render_transfer_page, write_transfer
from vlassess.report.transfer_text import cell_sentences, curve_sentence, ranking_sentences, retention_sentences
from vlassess.schema.transfer import AuditLine, Rules, StudyFacts, TransferAnalysis, Trial
from vlassess.stats.curves import Curve
from vlassess.transfer.analysis import analyse_study

RULES = Rules(draws=100, margin=0.1)
FACTS = StudyFacts("words", "tabletop-v1", 40)
CELLS = {"camera=far": -0.6, "camera=near": -0.1, "words=other": 0.0}
SMALL = Truth({"strong": 0.9, "weak": 0.7}, CELLS, {"full": Curve(0.2, 0.9, 4.0)}, loss={"full": 0.5}, n=40)
CELLS_ONLY = replace(SMALL, curves={}, gaps={"camera=far": -0.6}, control={"strong": 0.9})


def study(truth: Truth = SMALL, seed: int = 1) -> list[Trial]:
    return simulated(truth, np.random.default_rng(seed))


def analysed(trials: list[Trial], real: list[Trial] | None = None) -> TransferAnalysis:
    return analyse_study(trials, RULES, real or [])


class Seen(HTMLParser):
    """What a page holds."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br", "use", "path", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def seen(page: str) -> Seen:
    found = Seen()
    found.feed(re.sub(r"</path>|</use>", "", page))
    return found


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.fixture(scope="module")
def whole() -> str:
    """A page with every figure."""
    robot = study(replace(SMALL, curves={}, n=20), 2)
    robot = [replace(trial, interventions=int(trial.start_key < "start-0004")) for trial in robot]
    robot = [replace(trial, flagged=trial.start_key == "start-0001") for trial in robot]
    return render_transfer_page(analysed(study(), robot), FACTS)


def test_it_stands_alone_and_is_well_formed(whole: str) -> None:
    found = seen(whole)
    assert found.open == []
    assert "script" not in found.tags
    assert [link for link in found.links if not link.startswith("#")] == []
    assert len(whole) < 1_000_000


def test_every_figure_says_what_it_is(whole: str) -> None:
    figures = whole.count("<svg")
    captions = whole.count("<dt>Varied</dt>")
    assert (figures, captions) == (8, 6)
    for part in ("Varied", "Against", "Trials", "How to read it", "May be concluded"):
        assert whole.count(f"<dt>{part}</dt>") == captions
    told = words(whole)
    assert "one factor a cell, camera, words" in told
    assert "the control, the seen task in the same scene (control), from the same starts" in told
    assert "K = 0, 2, 5, 10, 20" in told
    assert "Simulation and robot rank 2 policies" in told


def test_a_ranking_that_is_not_supported_is_refused(whole: str) -> None:
    assert "not locked before the first trial" in words(whole)
    assert "not supported" in words(whole)
    assert "40 matched starts" in words(whole)
    few = analysed(study())
    assert all("not supported" in line for line in ranking_sentences(few.every.rankings))


def test_a_ranking_that_is_supported_is_given() -> None:
    truth = Truth({"strong": 0.9, "weak": 0.4}, {"camera=far": -0.2}, n=450)
    page = words(render_transfer_page(analysed(study(truth)), FACTS))
    assert "A ranking of policies in a cell is supported in 1 of 1." in page
    assert re.search(r"1\. strong \(\d+\.\d %\) 2\. weak", page)


def test_tau_that_is_not_identified_is_not_a_number() -> None:
    flat = replace(SMALL, control={"one": 0.8}, curves={"full": Curve(0.4, 0.4, 4)})
    found = analysed(study(flat))
    assert "tau is not identified (success is not shown to depend on K)" in curve_sentence(found.every.curves[0])


def test_what_may_be_concluded_is_told_of_cells_and_retention() -> None:
    found = analysed(study()).every
    cells = list(cell_sentences(found.cells, frozenset()))
    assert cells[0].startswith("strong: success is lowered by camera=far (-")
    assert "no difference is found for" in cells[1]
    assert "may be there" in cells[1]
    retention = " ".join(retention_sentences(found.retention))
    assert "forgotten (a loss above 10 points is shown)" in retention


def test_a_cell_whose_audit_is_violated_says_nothing() -> None:
    audits = (AuditLine("strong", "camera=far", "violated", "the light changed too"),)
    page = render_transfer_page(analysed(study(CELLS_ONLY)), replace(FACTS, audits=audits))
    told = words(page)
    assert "camera=far with strong is invalid: the light changed too" in told
    assert "invalid: something else changed too" in told
    assert "strong: success is lowered by camera=far" not in told
    assert '<tr class="invalid">' in page


def test_what_could_not_be_audited_is_told() -> None:
    audits = (AuditLine("strong", "camera=far", "cannot be audited", "a suite is no factor"),)
    told = words(render_transfer_page(analysed(study(CELLS_ONLY)), replace(FACTS, audits=audits)))
    assert "is not audited (cannot be audited) of camera=far: a suite is no factor" in told


def test_lock_amendments_and_blindness_are_told() -> None:
    facts = replace(FACTS, lock="abcdef0123456789", locked_at="2026-01-02", amendments=("more starts",), blind=True)
    told = words(render_transfer_page(analysed(study(CELLS_ONLY)), facts))
    assert "Amended after the lock: more starts" in told
    assert "policies are blind codes" in told
    assert "abcdef012345" in told


def test_flagged_trials_have_a_table_of_their_own(whole: str) -> None:
    assert "With and without the" in words(whole)


def test_names_from_outside_cannot_act() -> None:
    hostile = '"><script>alert(1)</script>\u202e'
    trials = [replace(trial, policy=hostile, level=hostile) for trial in study(CELLS_ONLY)]
    page = render_transfer_page(analysed(trials), replace(FACTS, name=hostile, amendments=(hostile,)))
    assert "script" not in seen(page).tags
    assert "\u202e" not in page


def test_no_trial_is_a_page_too() -> None:
    told = words(render_transfer_page(analysed([]), FACTS))
    assert "No trial has a result yet." in told


def test_the_same_study_is_the_same_page_on_disk(tmp_path: Path) -> None:
    write_transfer(tmp_path / "a.html", analysed(study(CELLS_ONLY)), FACTS)
    write_transfer(tmp_path / "b.html", analysed(study(CELLS_ONLY)[::-1]), FACTS)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "b.html"]
