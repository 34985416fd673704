"""Questions: one right answer, wrong options that are wrong, pools that do not overlap, nothing left out silently."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vlassess.grounding.questions import (
    Pool,
    Question,
    QuestionError,
    arithmetic,
    bank,
    normalised,
    number,
    read_commonsenseqa,
    read_gsm8k,
    read_mmlu,
    same,
    shared,
    word_problems,
    wrong_options,
)
from vlassess.grounding.questions.word_problems import STORIES

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the real question files are not here")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,200", 1200),
        ("$3.50", Fraction(7, 2)),
        ("-4", -4),
        ("\u22124", -4),
        ("1/2", Fraction(1, 2)),
        ("18.", 18),
        ("20%", 20),
        ("seven", None),
        ("1/0", None),
        ("3 apples", None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, value: int | Fraction | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("one", "other"), [("1,000", "1000.0"), ("The hammer", "hammer"), ("Café", "cafe!"), ("$5", "5"), ("A  B", "a b")]
)
def test_aliases_are_found(one: str, other: str) -> None:
    assert same(one, other)


def test_signs_alone_are_not_all_alike() -> None:
    assert not same("?", "!")
    assert normalised("The Answer.") == "answer"


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["train", "evaluation"]), st.integers(0, 10_000))
def test_arithmetic_is_right_and_its_distractors_are_not(split: str, seed: int) -> None:
    for question in arithmetic(split, 6, rng(seed)):  # type: ignore[arg-type]
        found = re.fullmatch(r"what is (\d+) (plus|minus|times) (\d+)\?", question.text)
        assert found is not None
        a, b = int(found[1]), int(found[3])
        right = {"plus": a + b, "minus": a - b, "times": a * b}[found[2]]
        assert int(question.answer) == right
        assert len(set(question.distractors)) == len(question.distractors) >= 9
        assert question.answer not in question.distractors
        assert min(map(int, question.distractors)) >= 0


def test_arithmetic_pools_share_no_problem_in_either_order() -> None:
    def problems(split: str) -> set[tuple[str, tuple[str, ...]]]:
        found = set()
        for question in arithmetic(split, 540, rng(3)):  # type: ignore[arg-type]
            _, _, a, word, b = question.text.rstrip("?").split()
            found.add((word, (a, b) if word == "minus" else tuple(sorted((a, b)))))
        return found

    assert len(problems("train")) == 540
    assert not problems("train") & problems("evaluation")


def test_arithmetic_is_deterministic_and_has_an_end() -> None:
    assert arithmetic("train", 9, rng(1)) == arithmetic("train", 9, rng(1)) != arithmetic("train", 9, rng(2))
    with pytest.raises(QuestionError, match=r"problems of subtraction .* pool has \d+"):
        arithmetic("evaluation", 3000, rng())


def test_the_right_answer_is_neither_least_nor_greatest_too_often() -> None:
    """The rank of the right answer among four options is no clue."""
    draw = rng(6)
    for choices in (4, 10):
        ranks = np.zeros(choices)
        for question in arithmetic("train", 600, rng(5)):
            options = [question.answer, *wrong_options(question, choices - 1, (), draw)]
            ranks[sorted(map(int, options)).index(int(question.answer))] += 1
        assert stats.chisquare(ranks).pvalue > 1e-3


def test_word_problems_come_out_as_told() -> None:
    found = word_problems("train", 2 * len(STORIES), rng(0))
    assert len({question.form for question in found}) == len(STORIES) >= 12
    by_form = {question.form: question for question in found}
    bakery = by_form["bakery"]
    trays, each, _, burnt, price = map(int, re.findall(r"\d+", bakery.text))
    assert int(bakery.answer) == (trays * each - burnt) * price
    eggs = by_form["eggs"]
    hens, laid, _, eaten = map(int, re.findall(r"\d+", eggs.text))
    assert int(eggs.answer) * 12 == 7 * hens * laid - eaten
    assert not shared(found, word_problems("evaluation", 60, rng(0)))
    assert all(len(question.distractors) >= 9 for question in found)
    assert all("{" not in question.text for question in found)


def test_the_bank_has_one_right_answer_a_question() -> None:
    pool = bank()
    assert len(pool.questions) >= 200
    for question in pool.questions:
        options = wrong_options(question, 9, pool.questions, rng(1))
        assert len({normalised(option) for option in [*options, question.answer]}) == 10
        assert not set(options) & set(question.also)


def test_halves_are_disjoint_and_whole() -> None:
    pool = bank()
    train, evaluation = pool.half("train"), pool.half("evaluation")
    assert not shared(train.questions, evaluation.questions)
    assert len(train.questions) + len(evaluation.questions) == len(pool.questions)
    assert min(len(train.questions), len(evaluation.questions)) > 80


def test_options_are_lent_within_a_topic_and_kind() -> None:
    asked = Question("q?", "4", ("5",), "s", "t")
    pool = [asked, Question("r?", "6", (), "s", "t"), Question("s?", "six", (), "s", "t"), Question("u?", "7", (), "s")]
    assert set(wrong_options(asked, 2, pool, rng())) == {"5", "6"}
    with pytest.raises(QuestionError, match=r"has 2 wrong options, .*; a suite of 4 choices needs 3: enlarge"):
        wrong_options(asked, 3, pool, rng())


def test_pools_refuse_what_is_asked_twice_and_answers_among_the_wrong() -> None:
    with pytest.raises(QuestionError, match="twice"):
        Pool("p", (Question("What?", "a", (), "s"), Question("what", "b", (), "s")))
    with pytest.raises(QuestionError, match="says the same as its answer"):
        Question("q?", "1,000", ("1000",), "s")


@needs_data
def test_gsm8k_loads_whole() -> None:
    pool = read_gsm8k(DATA / "gsm8k_test.jsonl")
    assert len(pool.questions) + sum(pool.dropped.values()) == 1319
    assert (len(pool.questions), pool.dropped) == (1314, {"too long": 5})
    robe = next(question for question in pool.questions if question.text.startswith("A robe takes 2 bolts"))
    assert robe.answer == "3"
    assert all(len(wrong_options(question, 9, pool.questions, rng())) == 9 for question in pool.questions[:200])


@needs_data
def test_mmlu_loads_whole() -> None:
    pool = read_mmlu(DATA / "mmlu" / "test")
    assert len(pool.questions) + sum(pool.dropped.values()) == 14042
    assert (len(pool.questions), pool.dropped) == (
        9149,
        {"asked twice": 126, "option about options": 568, "repeated option": 81, "too long": 4118},
    )
    genetics = next(question for question in pool.questions if question.topic == "medical_genetics")
    assert len(genetics.distractors) == 3


@needs_data
def test_commonsenseqa_loads_whole_in_both_layouts(tmp_path: Path) -> None:
    file = DATA / "commonsenseqa_200_samples.jsonl"
    pool = read_commonsenseqa(file)
    assert (len(pool.questions), pool.dropped) == (194, {"repeated option": 6})
    hub = tmp_path / "hub.jsonl"
    with hub.open("w") as out:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            choices = row["question"]["choices"]
            flat = {"label": [each["label"] for each in choices], "text": [each["text"] for each in choices]}
            out.write(json.dumps({"question": row["question"]["stem"], "choices": flat, "answerKey": row["answerKey"]}))
            out.write("\n")
    assert read_commonsenseqa(hub).questions == pool.questions


def test_rows_that_cannot_be_asked_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "anatomy_test.csv"
    file.write_text(
        "question,choice0,choice1,choice2,choice3,answer\n"
        "Which?,a,b,c,d,1\n"
        "which,a,b,c,e,1\n"
        "Alike?,a,A.,c,d,1\n"
        "Above?,a,b,c,All of the above,0\n"
        "Pair?,a,b,c,Both A and B,0\n"
        f"{'long ' * 200},a,b,c,d,0\n"
        "Hole?,a,,c,d,0\n"
        "Index?,a,b,c,d,9\n"
        "Short,1\n"
    )
    pool = read_mmlu(file)
    assert [question.answer for question in pool.questions] == ["b"]
    assert pool.questions[0].topic == "anatomy"
    assert pool.dropped == {
        "asked twice": 1,
        "empty": 1,
        "no answer": 2,
        "option about options": 2,
        "repeated option": 1,
        "too long": 1,
    }


@pytest.mark.parametrize(
    ("text", "says"), [("{", "line 1 is not JSON"), ("[1]", "line 1 is list"), ("", "no question left")]
)
def test_files_that_hold_no_questions_end_in_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(text)
    with pytest.raises(QuestionError, match=says):
        read_gsm8k(file)
    with pytest.raises(QuestionError, match="cannot be read"):
        read_commonsenseqa(tmp_path / "nowhere.jsonl")


def test_numbers_with_commas_and_signs_keep_their_form(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    rows = [
        {"question": "How much?", "answer": "It is <<3*400=1200>>.\n#### 1,200"},
        {"question": "How cold?", "answer": "#### -7"},
        {"question": "Prepared?", "answer": "#### 5", "distractors": ["6", "5.0", "7"]},
        {"question": "Nothing?", "answer": "no number"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    big, cold, prepared = read_gsm8k(file).questions
    assert big.answer == "1,200"
    assert any("," in option for option in big.distractors)
    assert cold.answer == "-7"
    assert prepared.distractors == ("6", "7")
