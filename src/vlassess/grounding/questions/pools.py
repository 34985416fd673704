"""Pools of questions, their two disjoint halves, and the options of one question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vlassess.grounding.questions.question import Question, QuestionError, Split, number, same
from vlassess_link.digest import content_hash

EVALUATION_SHARE = 2
"""One question of so many is in the evaluation half of a pool that has no split of its own."""


@dataclass(frozen=True)
class Pool:
    """Questions that serve suites of any number of choices.

    Attributes:
        name: For messages and tables.
        questions: No two with the same normalised text.
        dropped: Why how many rows of a file were left out; nothing is left out silently.
    """

    name: str
    questions: tuple[Question, ...]
    dropped: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.questions:
            raise QuestionError(f"the pool {self.name!r} has no question left; dropped: {self.dropped or 'none'}")
        keys = [question.key for question in self.questions]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise QuestionError(f"the pool {self.name!r} has the question {twice!r} twice; keep one of them")

    def half(self, split: Split) -> Pool:
        """Return the questions of one half; which it is depends on the question's normalised text alone."""
        chosen = tuple(question for question in self.questions if split_of(question) == split)
        return Pool(f"{self.name}, {split}", chosen, self.dropped)


def split_of(question: Question) -> Split:
    """Return the half that a question is in, by a hash of its normalised text."""
    digest = int(content_hash(["split", question.key])[:8], 16)
    return "evaluation" if digest % EVALUATION_SHARE == 0 else "train"


def shared(one: Iterable[Question], other: Iterable[Question]) -> list[str]:
    """Return the normalised texts that two pools have in common: none where they are disjoint."""
    return sorted({question.key for question in one} & {question.key for question in other})


def wrong_options(question: Question, count: int, pool: Sequence[Question], rng: np.random.Generator) -> list[str]:
    """Return wrong options: those prepared for the question, then answers to other questions of its topic.

    None says the same as the right answer, as another one, or as an answer that is right too. Numbers are lent to
    questions whose answer is a number, texts to the others.

    Raises:
        QuestionError: there are not so many.
    """
    chosen = _different(_prepared(question, count, rng), question, [])
    short = len(chosen) < count
    lenders = [each for each in pool if short and each.topic == question.topic and each.key != question.key]
    for place in rng.permutation(len(lenders)):
        if len(chosen) >= count:
            break
        option = lenders[place].answer
        if (number(option) is None) == (number(question.answer) is None):
            chosen += _different([option], question, chosen)
    if len(chosen) < count:
        raise QuestionError(
            f"question {question.text!r} has {len(chosen)} wrong options, its own and those of the pool's topic "
            f"{question.topic!r}; a suite of {count + 1} choices needs {count}: enlarge the pool or take fewer choices"
        )
    return chosen[:count]


def _prepared(question: Question, count: int, rng: np.random.Generator) -> list[str]:
    """Return at most ``count`` of a question's own wrong options.

    Where all are numbers, the right one is as likely to be the least, the greatest or any between as there are
    numbers on both sides: else whoever always takes the middle one would be right too often.
    """
    own, value = question.distractors, number(question.answer)
    numbers = [number(option) for option in own]
    if value is None or len(own) <= count or any(each is None for each in numbers):
        return [own[place] for place in rng.permutation(len(own))[:count]]
    low = [option for option, each in zip(own, numbers, strict=True) if each is not None and each < value]
    high = [option for option in own if option not in low]
    below = min(max(int(rng.integers(count + 1)), count - len(high)), len(low))
    return [*low[:below], *high[: count - below]]


def _different(options: Iterable[str], question: Question, before: Sequence[str]) -> list[str]:
    taken = [question.answer, *question.also, *before]
    found: list[str] = []
    for option in options:
        if not any(same(option, other) for other in (*taken, *found)):
            found.append(option)
    return found
