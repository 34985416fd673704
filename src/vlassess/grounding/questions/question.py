"""One question with one right answer, and when two texts say the same."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

from vlassess_link.errors import VlassessError

Split = Literal["train", "evaluation"]

_NUMBER = re.compile(r"([-+\u2212]?)\s*(?:\$|€|£)?\s*(\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s*/\s*(\d+))?\s*%?\.?")
_ARTICLE = re.compile(r"^(?:a|an|the)\s+")
_NOT_WORD = re.compile(r"[^a-z0-9.+\-*/=<>%°]+")


class QuestionError(VlassessError):
    """A question, a file of questions or a pool cannot be used; says why."""


@dataclass(frozen=True)
class Question:
    """A question with one right answer.

    Attributes:
        text: What is asked, without options.
        answer: The right answer, as an option shows it.
        distractors: Wrong answers that were prepared for it, the nearest first; may be too few for a suite.
        source: Where it is from: "math", "word-problems", "bank", "gsm8k", "mmlu", "commonsenseqa".
        topic: Only questions of one topic lend each other answers as wrong options.
        form: What kind of question it is within its source ("addition", "bakery"); for tables.
        also: Answers of the pool that are right too and must not be shown as wrong ones.
    """

    text: str
    answer: str
    distractors: tuple[str, ...]
    source: str
    topic: str = ""
    form: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.text.strip() or not self.answer.strip():
            raise QuestionError(f"question {self.text!r} has the answer {self.answer!r}; neither may be empty")
        wrong = [option for option in self.distractors if same(option, self.answer)]
        if wrong:
            raise QuestionError(
                f"question {self.text!r} has the distractor {wrong[0]!r}, which says the same as its answer "
                f"{self.answer!r}; leave it out"
            )

    @cached_property
    def key(self) -> str:
        """Its text normalised: pools are disjoint by it."""
        return normalised(self.text)


@lru_cache(maxsize=1 << 16)
def number(text: str) -> Fraction | None:
    """Return the number that a text is, as in "1,200", "$3.50", "-4", "1/2"; None for anything else."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    sign, digits, below = found.groups()
    value = Fraction(digits.replace(",", ""))
    if below is not None:
        if int(below) == 0:
            return None
        value /= int(below)
    return -value if sign in ("-", "\u2212") else value


@lru_cache(maxsize=1 << 16)
def normalised(text: str) -> str:
    """Return a text so that two that differ in case, accents, spaces, articles and punctuation alone are equal."""
    plain = unicodedata.normalize("NFKD", text.casefold()).replace("\u2212", "-")
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = " ".join(_NOT_WORD.sub(" ", plain).split()).strip(" .")
    return _ARTICLE.sub("", words)


def same(one: str, other: str) -> bool:
    """Return whether two options say the same: equal numbers, or texts that are equal once normalised."""
    a, b = number(one), number(other)
    if a is not None and b is not None:
        return a == b
    return _folded(one) == _folded(other)


def _folded(text: str) -> str:
    """Return a normalised text; one of signs alone, which normalising would empty, as it is."""
    return normalised(text) or text.strip()
