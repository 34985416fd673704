"""Episodes of grounding suites: what they tell, what they keep to themselves, and that the two never meet."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from vlassess.grounding.instructions import ASK, ASK_FOUR, OBJECTS, Told, instruction
from vlassess.grounding.suites import COLOURS, LETTERS, course, suite_of
from vlassess.pipeline import planned
from vlassess.plan import PlanError
from vlassess.schema.config import BenchmarkSource, PolicySource, RunConfig
from vlassess.schema.grounding import Asked, GroundingConfig, QuestionFiles
from vlassess_link.data import Episode
from vlassess_link.jsonable import from_json
from vlassess_link.specs import BenchmarkSpec

BENCHMARKS = Path(__file__).parents[3] / "src" / "vlassess" / "benchmarks"
DATA = Path(__file__).parents[4] / "shared" / "data"
SEED = 20


@cache
def spec(folder: str = "tabletop_answers") -> BenchmarkSpec:
    return from_json(BenchmarkSpec, json.loads((BENCHMARKS / folder / "spec.json").read_text(encoding="utf-8")))


def config(suite: str, episodes: int, **fields: Any) -> RunConfig:
    return RunConfig(
        benchmark=BenchmarkSource(name="tabletop-answers-v1"),
        suites=(suite,),
        episodes=episodes,
        policies={"a": PolicySource(name="a")},
        seed=fields.pop("seed", SEED),
        grounding=GroundingConfig(**fields),
    )


def episodes(suite: str, count: int, **fields: Any) -> list[Episode]:
    return [item.episode for item in planned(config(suite, count, **fields), spec())]


def asked(episode: Episode) -> Asked:
    found = Asked.of(episode.private)
    assert found is not None
    return found


@cache
def many(suite: str) -> tuple[Episode, ...]:
    return tuple(episodes(suite, 5000 if suite == "rsb-math-4" else 1500))


def p_of(counts: Sequence[int]) -> float:
    return float(chisquare(counts).pvalue)


@pytest.mark.parametrize("suite", ["rsb-math-4", "rsb-math-10"])
def test_the_target_goes_with_nothing_that_is_planned(suite: str) -> None:
    every = many(suite)
    told = [asked(episode) for episode in every]
    letters = LETTERS[: len(told[0].listed)]
    targets = [letters.index(each.target) for each in told]
    p_values = {
        "letter": p_of([targets.count(place) for place in range(len(letters))]),
        "option order": p_of(
            [[each.listed.index(each.target) for each in told].count(place) for place in range(len(letters))]
        ),
    }
    channels = {
        "the start's index": [episode.index % len(letters) for episode in every],
        "the half of the run": [2 * episode.index // len(every) for episode in every],
        "the episode's id": [int(episode.episode_id[0], 16) // 4 for episode in every],
        "the id's last digit": [int(episode.episode_id[-1], 16) // 4 for episode in every],
        "the noise seed": [episode.policy_seed % 4 for episode in every],
        "the noise seed's size": [episode.policy_seed >> 61 for episode in every],
        "the length of the instruction": [len(episode.instruction or "") % 4 for episode in every],
        "the wording": [hash_of(episode) for episode in every],
    }
    if len(letters) == 4:
        colours = [str(episode.scene["colours"][each.target]) for episode, each in zip(every, told, strict=True)]
        p_values["colour"] = p_of([colours.count(colour) for colour in COLOURS])
    for name, values in channels.items():
        table = np.zeros((max(values) + 1, len(letters)))
        for value, target in zip(values, targets, strict=True):
            table[value, target] += 1
        p_values[name] = float(chi2_contingency(table[table.sum(1) > 0]).pvalue)
    # Corrected: the seed is fixed, so that this holds or fails for good.
    least = min(p_values, key=lambda name: p_values[name])
    assert p_values[least] * len(p_values) > 0.05, f"{least}: p = {p_values[least]:.2g}"


def hash_of(episode: Episode) -> int:
    """Return which of the templates was used, by its last word."""
    return sum(map(ord, (episode.instruction or "").rpartition(" ")[2])) % 3


def test_a_leak_would_be_found() -> None:
    """The test above is no test if it cannot fail: always listing the right one first is caught."""
    told = [asked(episode) for episode in many("rsb-math-4")]
    first = [0 if place % 10 == 0 else each.listed.index(each.target) for place, each in enumerate(told)]
    assert p_of([first.count(place) for place in range(4)]) < 1e-6


def test_the_right_one_is_as_often_the_least_as_the_greatest_of_the_options() -> None:
    ranks = Counter(
        sorted(map(float, each.options)).index(float(each.answer)) for each in map(asked, many("rsb-math-4"))
    )
    assert max(ranks.values()) < 0.40 * 5000
    assert min(ranks.values()) > 0.12 * 5000


@pytest.mark.parametrize("suite", spec().suites)
def test_every_suite_asks(suite: str) -> None:
    known = suite_of(suite)
    assert known is not None
    for episode in episodes(suite, 30):
        told, text = asked(episode), episode.instruction
        assert text is not None
        assert len(told.listed) == len(told.options) == known.choices == len(set(told.options))
        assert told.options[told.listed.index(told.target)] == told.answer
        assert told.question in text
        assert "{" not in text
        for name, option in zip(told.listed, told.options, strict=True):
            assert f"({OBJECTS[name] if known.objects else name}) {option}" in text
        assert set(episode.scene) == {"kind", "names", "colours"}
        assert sorted(episode.scene["names"]) == sorted(told.listed)
        assert list(episode.scene["names"]) != list(told.listed) or known.choices == 4


def test_more_episodes_never_change_earlier_ones_and_suites_share_their_questions() -> None:
    few, more = episodes("rsb-general-4", 10), episodes("rsb-general-4", 40)
    assert more[:10] == few
    ten = episodes("rsb-general-10", 40)
    assert [asked(each).question for each in more] == [asked(each).question for each in ten]
    assert len({asked(each).question for each in more}) == 40


def test_controls_differ_in_what_they_are_about_alone() -> None:
    plain = episodes("rsb-math-4", 40)
    for control in ("blank", "swapped", "direct", "contradictory"):
        other = episodes("rsb-math-4", 40, control=control)
        for one, two in zip(plain, other, strict=True):
            assert (one.pair_key, one.seed, one.policy_seed, one.scene) == (
                two.pair_key,
                two.seed,
                two.policy_seed,
                two.scene,
            )
            assert one.episode_id != two.episode_id
            check_control(control, one, two)


def check_control(control: str, one: Episode, two: Episode) -> None:
    mine, other, text = asked(one), asked(two), two.instruction or ""
    assert other.control == control
    if control == "blank":
        assert mine.question not in text
        assert (other.target, other.options) == (mine.target, mine.options)
        assert all(f"({name}) {option}" in text for name, option in zip(mine.listed, mine.options, strict=True))
    elif control == "swapped":
        assert other.question != mine.question
        assert other.question in text
        assert other.original == mine.target
    elif control == "direct":
        assert f"block {mine.target}" in text
        assert mine.question not in text
        assert other.named == other.target == mine.target
    else:
        assert mine.question in text
        assert other.target == mine.target != other.named
        assert f"block {other.named}" in text


def test_unseen_wordings_are_other_sentences() -> None:
    for wordings in (ASK, ASK_FOUR):
        assert not set(wordings["seen"]) & set(wordings["unseen"])
    seen = {each.instruction for each in episodes("rsb-math-4", 60)}
    unseen = {each.instruction for each in episodes("rsb-math-4", 60, templates="unseen")}
    assert not seen & unseen


def test_what_is_filled_in_is_never_searched_again() -> None:
    told = Told("what is {OPTIONS}?", ("A", "B"), ("{Q}", "{NAMED}"))
    text = instruction(told, "none", "seen", np.random.default_rng(0))
    assert "what is {OPTIONS}?" in text
    assert "(A) {Q} (B) {NAMED}" in text


@pytest.mark.parametrize("domain", ["math", "hardmath", "general"])
def test_train_and_evaluation_ask_different_questions(domain: str) -> None:
    halves = [
        {question.key for question in course(domain, GroundingConfig(split=split), 3, 600).questions}
        for split in ("train", "evaluation")
    ]
    assert halves[0]
    assert halves[1]
    assert not halves[0] & halves[1]


def test_a_question_that_is_in_both_files_is_left_out(tmp_path: Path) -> None:
    rows = [{"question": f"How many are {n} and {n} together?", "answer": f"#### {2 * n}"} for n in range(2, 30)]
    train, evaluation = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    train.write_text("\n".join(map(json.dumps, rows[:10])))
    evaluation.write_text("\n".join(map(json.dumps, rows[5:])))
    files = QuestionFiles(train=str(train), evaluation=str(evaluation))
    asks = {
        split: {each.key for each in course("hardmath", GroundingConfig(split=split, hardmath=files), 0, 99).questions}
        for split in ("train", "evaluation")
    }
    assert (len(asks["train"]), len(asks["evaluation"])) == (10, 18)
    assert not asks["train"] & asks["evaluation"]


@pytest.mark.parametrize(
    ("suite", "files", "source"),
    [
        ("rsb-hardmath-10", {"hardmath": "gsm8k_test.jsonl"}, "gsm8k"),
        ("rsb-general-10", {"general": "mmlu/test"}, "mmlu"),
        ("rsb-general-4", {"general": "commonsenseqa_200_samples.jsonl"}, "commonsenseqa"),
    ],
)
def test_suites_of_files_of_others(suite: str, files: dict[str, str], source: str) -> None:
    paths = {name: str(DATA / path) for name, path in files.items()}
    if not all(Path(path).exists() for path in paths.values()):
        pytest.skip("the files of questions are not here: ../shared/data")
    found = [asked(each) for each in episodes(suite, 40, **paths)]
    assert {each.source for each in found} == {source}
    assert len({each.question for each in found}) == 40


def test_a_run_without_questions_is_planned_as_ever() -> None:
    plain = RunConfig(benchmark=BenchmarkSource(name="t"), episodes=2, policies={"a": PolicySource(name="a")})
    items = planned(plain, spec("tabletop"))
    assert all(item.episode.instruction is None and not item.episode.private for item in items)
    with pytest.raises(PlanError, match="grounding is given, but tabletop-v1 has no suite that asks questions"):
        planned(plain.model_copy(update={"grounding": GroundingConfig()}), spec("tabletop"))


def test_the_whole_seed_space_is_used() -> None:
    """Two base seeds ask in another order."""
    one, two = episodes("rsb-math-4", 20), episodes("rsb-math-4", 20, seed=SEED + 1)
    assert [asked(each).question for each in one] != [asked(each).question for each in two]
    assert math.comb(4, 1) == len({asked(each).target for each in one})
