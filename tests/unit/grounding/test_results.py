"""From records to results: errors, funnel, biases, controls, reasoning."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import chisquare

from tests.unit.report import build
from vlassess.grounding.biases import biases, strongest
from vlassess.grounding.results import error_of, results
from vlassess.grounding.suites import Suite
from vlassess.grounding.trials import Candidate, Trial, named_in, trial
from vlassess.pipeline.grounded import with_grounding
from vlassess.report import render_table, summarise
from vlassess.report.html import render_report
from vlassess.schema.attempts import entries
from vlassess.schema.grounding import Asked, Control
from vlassess.schema.items import episode_item
from vlassess_link.data import Episode, EpisodeRecord, ErrorInfo, Outcome

NAMES = ("A", "B", "C", "D")
MATH = Suite("rsb-math-4", False, "math", 4)


def tried(index: int, target: str, chosen: str | None, placed: bool = False, **fields: Any) -> Trial:
    """Return a trial whose candidates are ranked anew in every episode, by its index."""
    rng = np.random.default_rng(index)
    colours = rng.permutation(("red", "green", "blue", "yellow"))
    ranks = {by: rng.permutation(4) + 1 for by in ("place", "distance", "listed")}
    candidates = tuple(
        Candidate(
            name,
            str(colours[place]),
            int(ranks["place"][place]),
            "left" if ranks["place"][place] <= 2 else "right",
            int(ranks["distance"][place]),
            int(ranks["listed"][place]),
        )
        for place, name in enumerate(NAMES)
    )
    control: Control = fields.pop("control", "none")
    asked = Asked(
        target, NAMES, ("1", "2", "3", "4"), "q?", "1", control, fields.pop("named", ""), original=fields.pop("own", "")
    )
    reached = {name: 0 for name in NAMES} | ({} if chosen is None else {chosen: 6 if placed else 4})
    return Trial(
        f"{index:x}",
        MATH,
        index,
        asked,
        candidates,
        chosen,
        fields.pop("regrasps", 0),
        placed,
        reached,
        fields.pop("said", None),
        0,
    )


def test_errors_are_those_of_the_paper_and_no_grasp() -> None:
    found = [
        (tried(0, "A", "A", True), None),
        (tried(0, "A", None), "no grasp"),
        (tried(0, "A", "A"), "right target, not placed"),
        (tried(0, "A", "B"), "wrong target after grasp"),
        (tried(0, "A", "B", said="A"), "correct reasoning, wrong target"),
        (tried(0, "A", "B", said="B"), "incorrect reasoning, wrong target"),
        (tried(0, "A", "B", True), None),
    ]
    assert [error_of(each) for each, _ in found] == [error for _, error in found]
    (suite,) = results([each for each, _ in found], filmed={"0"})
    assert next((error.kind, error.n) for error in suite.errors) == ("no grasp", 1)
    assert (suite.gsr.times, suite.tsr_grasp.times, suite.tsr_place.times) == (6, 2, 2)
    assert [(one.stage, one.any, one.right) for one in suite.funnel][-1] == ("place", 2, 1)
    assert suite.said is not None
    assert suite.said_and_done is not None
    assert (suite.said.times, suite.said.n, suite.said_and_done.times) == (1, 2, 1)


def choosing(by: str) -> list[Trial]:
    found = []
    for index in range(120):
        one = tried(index, NAMES[index % 4], None)
        wanted = {"candidate": "A", "colour": "red", "arm": "left"}.get(by, 1)
        attribute = "name" if by == "candidate" else by
        chosen = next(each.name for each in one.candidates if getattr(each, attribute) == wanted)
        found.append(tried(index, one.asked.target, chosen))
    return found


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("candidate", "takes A in 100% of its grasps, where blind choices would in 25%"),
        ("distance", "takes the nearest candidate in 100%"),
        ("listed", "takes the option listed first in 100%"),
        ("place", "takes the leftmost candidate in 100%"),
        ("colour", "takes a red candidate in 100%"),
        ("arm", "takes a candidate on the left arm's side in 100% of its grasps, where blind choices would in 50%"),
    ],
)
def test_a_shortcut_is_named(by: str, says: str) -> None:
    named = strongest(biases(choosing(by)))
    assert named is not None
    assert named.startswith(says)


def test_blind_choices_and_a_perfect_policy_have_no_bias() -> None:
    rng = np.random.default_rng(5)
    blind = [tried(index, NAMES[index % 4], NAMES[rng.integers(4)]) for index in range(400)]
    perfect = [tried(index, NAMES[index % 4], NAMES[index % 4], True) for index in range(400)]
    assert strongest(biases(blind)) is strongest(biases(perfect)) is None
    assert all(bias.adjusted_p is None or bias.adjusted_p > 0.01 for bias in biases(blind))


def test_with_one_candidate_of_each_kind_the_test_is_pearsons() -> None:
    rng = np.random.default_rng(2)
    trials = [tried(index, "A", NAMES[rng.choice(4, p=(0.4, 0.2, 0.2, 0.2))]) for index in range(200)]
    (letter,) = [bias for bias in biases(trials) if bias.by == "candidate"]
    assert letter.p_value == pytest.approx(chisquare([one.times for one in letter.chosen]).pvalue, rel=1e-6)


def test_the_test_of_biases_holds_its_level() -> None:
    """With kinds that share candidates unevenly, p-values of blind choices are uniform."""
    rng = np.random.default_rng(1)
    low = 0
    for draw in range(200):
        trials = [tried(100 * draw + index, "A", NAMES[rng.integers(4)]) for index in range(60)]
        (arm,) = [bias for bias in biases(trials) if bias.by == "arm"]
        assert arm.p_value is not None
        low += arm.p_value < 0.1
    assert 5 <= low <= 36


def test_controls_say_what_was_followed() -> None:
    trials = [tried(index, "A", "B" if index < 30 else "A", control="contradictory", named="B") for index in range(40)]
    (suite,) = results(trials)
    assert suite.followed_sentence == "the named candidate was taken in 30 of 40 grasps"
    swapped = [tried(index, "A", "C", control="swapped", own="C") for index in range(10)]
    (other,) = results(swapped)
    assert other.followed is not None
    assert (other.followed.times, other.choice.times, other.verdict) == (10, 0, "not distinguishable from chance")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("27 minus 17 is 10, which matches option (B).", "B"),
        ("First I thought the answer is A, but no: the answer is C.", "C"),
        ("Pick block D and place it.", "D"),
        ("The right one is (A)", "A"),
        ("(A) or (B)? hard to say", None),
        ("A block lies there.", None),
        ("the answer is Z", None),
    ],
)
def test_what_reasoning_settles_on(text: str, named: str | None) -> None:
    assert named_in(text, NAMES) == named


def test_objects_are_found_in_reasoning_too() -> None:
    assert named_in("It is not the shoe, it is the toy car.", ("toy_car", "shoe", "mug", "die")) == "toy_car"


def run() -> tuple[list[Any], list[EpisodeRecord]]:
    """Return plan and records of 12 episodes: grasps of B always; one raised, one broke, one has reasoning."""
    items, records = [], []
    for index in range(12):
        asked = Asked(NAMES[index % 4], ("C", "A", "B", "D"), ("1", "2", "3", "4"), "what is 1?", "1")
        episode = Episode(
            f"{index:020x}",
            f"{index:020x}",
            "tabletop-answers@1",
            "rsb-math-4",
            "answer",
            index,
            index,
            index,
            200,
            instruction="what is 1? (C) 1 (A) 2 (B) 3 (D) 4",
            scene={"kind": "letters", "names": list(NAMES), "colours": dict(zip(NAMES, "rgby", strict=True))},
            private=asked.kept(),
        )
        item = episode_item("octo", episode)
        items.append(item)
        metrics = {"first_grasp": 2.0, "regrasps": 1.0, "placed": 2.0, "layouts_excluded": 3.0}
        metrics |= {f"stage_{name}": 6.0 if name == "B" else 0.0 for name in NAMES}
        metrics |= {f"distance_{name}": 0.1 * place for place, name in enumerate(NAMES, 1)}
        outcome = Outcome(asked.target == "B", "ended", 0.5, 0.5, {"reach": 3, "grasp": 9}, metrics)
        error = ErrorInfo("policy" if index == 0 else "benchmark", "inference", "ValueError", "no")
        ending: dict[str, Any] = {"error": error} if index < 2 else {"outcome": outcome}
        records.append(
            EpisodeRecord(
                item.item_id,
                1,
                "octo",
                episode.episode_id,
                episode.pair_key,
                episode.suite,
                episode.task,
                index,
                index,
                index,
                steps=80,
                initial_state={name: [0.5, 0.1 * place - 0.2] for place, name in enumerate(NAMES)} | {"zone": [0.3, 0]},
                reasoning="the answer is B" if index == 5 else "",
                **ending,
            )
        )
    return items, records


def test_a_run_s_records_come_out_as_scores_on_the_page_and_in_the_terminal() -> None:
    items, records = run()
    manifest = build.manifest(items)
    summary = with_grounding(summarise(items, records, manifest), entries(items, records), None)
    (suite,) = summary.policies[0].grounding
    # Of 12 one is in error and out; the policy's own error is an episode without a grasp.
    assert (suite.episodes, suite.gsr.times, suite.choice.times, suite.choice.n) == (11, 10, 2, 10)
    assert {row.right: sum(row.chosen.values()) for row in suite.confusion} == {"A": 3, "B": 2, "C": 3, "D": 3}
    assert suite.bias is not None
    assert suite.bias.startswith("takes B in 100% of its grasps")
    assert (suite.regrasps, suite.layouts_excluded) == (1.0, 30)
    assert next(error.kind for error in suite.errors) == "no grasp"
    page = render_report(manifest, summary, records, items)
    for text in ("Semantic grounding", "not distinguishable from chance", "takes B in 100% of its grasps", "<svg"):
        assert text in page
    out = Console(width=120, record=True, file=io.StringIO())
    out.print(render_table(summary))
    shown = out.export_text()
    assert "semantic grounding" in shown
    assert "2/10" in shown


def test_other_runs_have_no_section() -> None:
    items, records = run()
    plain = [
        (item, record)
        for item, record in zip(items, records, strict=True)
        if trial(item.item_id, Episode("0", "0", "b", "pick", "t", 0, 0, 0, 9), record) is None
    ]
    assert len(plain) == 12
    manifest = build.manifest(items)
    summary = summarise(items, records, manifest)
    assert "Semantic grounding" not in render_report(manifest, summary, records, items)
