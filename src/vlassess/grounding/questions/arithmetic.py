"""Math: two-digit addition, two-digit subtraction, one digit times two digits (RoboSemanticBench, section 3.2).

Which of the two pools a problem is in is a property of the problem: a hash of its operands, in either order. So the
pools are disjoint whatever is drawn, and 27 + 35 is never trained where 35 + 27 is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vlassess.grounding.questions.question import Question, QuestionError, Split
from vlassess_link.digest import content_hash

EVALUATION_SHARE = 4
"""One problem of so many is in the evaluation pool."""

_SIDE = 9
"""Wrong answers on each side of the right one: with ten choices it may be the least or the greatest."""


@dataclass(frozen=True)
class _Form:
    """One of the three forms.

    Attributes:
        name: For tables.
        word: What stands between the operands.
        low, high: Ranges of both operands, ends included.
        result: Of two operands; below 0 where they are not allowed together.
        commutes: The order of the operands makes no difference.
    """

    name: str
    word: str
    low: tuple[int, int]
    high: tuple[int, int]
    result: Callable[[int, int], int]
    commutes: bool

    def problems(self) -> list[tuple[int, int]]:
        """Return every pair of operands."""
        (a_low, b_low), (a_high, b_high) = self.low, self.high
        pairs = [(a, b) for a in range(a_low, a_high + 1) for b in range(b_low, b_high + 1)]
        return [(a, b) for a, b in pairs if self.result(a, b) >= 0]

    def split(self, a: int, b: int) -> Split:
        """Return the pool of a problem."""
        operands = sorted((a, b)) if self.commutes else [a, b]
        digest = int(content_hash([self.name, operands])[:8], 16)
        return "evaluation" if digest % EVALUATION_SHARE == 0 else "train"


FORMS = (
    _Form("addition", "plus", (10, 10), (99, 99), lambda a, b: a + b, True),
    _Form("subtraction", "minus", (10, 10), (99, 99), lambda a, b: a - b, False),
    _Form("multiplication", "times", (2, 10), (9, 99), lambda a, b: a * b, True),
)


def arithmetic(split: Split, count: int, rng: np.random.Generator) -> tuple[Question, ...]:
    """Return different problems of a pool, the three forms in turn.

    Args:
        split: Which pool.
        count: How many.
        rng: Draws them.

    Raises:
        QuestionError: a form has fewer problems in that pool.
    """
    chosen = [_drawn(form, split, -(-(count - place) // len(FORMS)), rng) for place, form in enumerate(FORMS)]
    return tuple(chosen[place % len(FORMS)][place // len(FORMS)] for place in range(count))


def _drawn(form: _Form, split: Split, count: int, rng: np.random.Generator) -> list[Question]:
    there = [pair for pair in form.problems() if form.split(*pair) == split]
    if form.commutes and form.low[0] == form.low[1]:
        # 27 + 35 and 35 + 27 are one problem: only one of them is drawn.
        there = [pair for pair in there if pair[0] <= pair[1]]
    if max(count, 0) > len(there):
        raise QuestionError(f"{count} problems of {form.name} are asked for; the {split} pool has {len(there)}")
    places = rng.permutation(len(there))[: max(count, 0)]
    return [_question(form, there[place], rng) for place in places]


def _question(form: _Form, operands: tuple[int, int], rng: np.random.Generator) -> Question:
    a, b = operands
    if form.commutes and form.low[0] == form.low[1] and rng.integers(2):
        a, b = b, a
    value = form.result(a, b)
    slips = {"addition": _addition_slips, "subtraction": _subtraction_slips, "multiplication": _product_slips}
    wrong = near(value, slips[form.name](a, b), rng)
    return Question(
        f"what is {a} {form.word} {b}?", str(value), tuple(map(str, wrong)), "math", topic="math", form=form.name
    )


def _addition_slips(a: int, b: int) -> list[int]:
    return [a + b - 10, a + b + 10, abs(a - b), a + b + 1, a + b - 1]


def _subtraction_slips(a: int, b: int) -> list[int]:
    units = abs(a % 10 - b % 10) + 10 * (a // 10 - b // 10)
    return [a - b + 10, a - b - 10, units, a + b, a - b + 1]


def _product_slips(a: int, b: int) -> list[int]:
    return [(a - 1) * b, (a + 1) * b, a * (b - 1), a * (b + 1), a * b + 10, a + b]


def near(value: int, slips: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return wrong answers near the right one: slips of a person first, in random order, then neighbours.

    There are enough on both sides of the right one for ten choices, however it is to rank among them; but none is below
    0 unless the right one is.
    """
    # Neighbours of 70 are 66 or 75; those of 70,000 are 66,000 or 75,000.
    unit = 10 ** max(len(str(abs(value))) - 3, 0)
    reach = max(_SIDE, abs(value) // unit // 8)
    around = [value + unit * step for step in range(-reach, reach + 1)]
    mixed = [*rng.permutation(list(dict.fromkeys(slips))).tolist(), *rng.permutation(around).tolist()]
    wrong = [each for each in dict.fromkeys(map(int, mixed)) if each != value and (each >= 0 or value < 0)]
    low, high = [each for each in wrong if each < value], [each for each in wrong if each > value]
    kept = {*low[:_SIDE], *high[:_SIDE]}
    return [each for each in wrong if each in kept]
