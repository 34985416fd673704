"""HardMath without a file: word problems of two to five steps, with units and facts that are not needed.

Each story names its quantities and ranges, and works its answer out as a person would, step by step. The steps that
come before the answer are the nearest wrong answers: whoever stops early, or counts what was not asked, lands there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vlassess.grounding.questions.arithmetic import near
from vlassess.grounding.questions.pools import split_of
from vlassess.grounding.questions.question import Question, QuestionError, Split

Numbers = Mapping[str, int]

_TRIES = 400
"""Draws per asked question before giving up."""


@dataclass(frozen=True)
class Story:
    """One kind of word problem.

    Attributes:
        form: For tables.
        text: With {names} of quantities.
        ranges: Least and greatest value of each quantity.
        steps: Works out every step from the quantities; the last one is the answer.
        fits: Whether drawn quantities make a sensible story.
    """

    form: str
    text: str
    ranges: Mapping[str, tuple[int, int]]
    steps: Callable[[Numbers], Sequence[int]]
    fits: Callable[[Numbers], bool] = lambda _: True


def _bakery(n: Numbers) -> Sequence[int]:
    loaves = n["trays"] * n["each"]
    left = loaves - n["burnt"]
    return loaves, left, left * n["price"]


def _orchard(n: Numbers) -> Sequence[int]:
    apples = n["trees"] * n["apples"]
    kept = apples - n["spoiled"]
    return apples, kept, kept // n["crate"]


def _bus(n: Numbers) -> Sequence[int]:
    first = n["start"] - n["off"]
    second = first + n["on"]
    return first, second, second - n["last"]


def _savings(n: Numbers) -> Sequence[int]:
    income = n["weeks"] * n["pay"]
    spent = n["weeks"] * n["lunch"]
    return income, spent, income - spent, income - spent + n["gift"]


def _fence(n: Numbers) -> Sequence[int]:
    half = n["long"] + n["wide"]
    around = 2 * half
    fence = around - n["gate"]
    return half, around, fence, fence * n["price"]


def _reading(n: Numbers) -> Sequence[int]:
    read = n["days"] * n["pages"]
    left = n["book"] - read
    return read, left, left // n["fast"]


def _tank(n: Numbers) -> Sequence[int]:
    gain = n["tap"] - n["leak"]
    water = gain * n["minutes"]
    return gain, water, n["start"] + water


def _classroom(n: Numbers) -> Sequence[int]:
    seats = n["rows"] * n["desks"]
    free = seats - n["pupils"]
    return seats, free, free + n["chairs"], (free + n["chairs"]) // 2


def _train(n: Numbers) -> Sequence[int]:
    first = n["fast"] * n["hours"]
    second = n["slow"] * n["more"]
    return first, second, first + second, n["way"] - first - second


def _paint(n: Numbers) -> Sequence[int]:
    wall = n["wide"] * n["high"]
    walls = 4 * wall
    area = walls - n["windows"]
    return wall, walls, area, area * n["coats"]


def _cinema(n: Numbers) -> Sequence[int]:
    adults = n["adults"] * n["full"]
    children = n["children"] * n["half"]
    both = adults + children
    return adults, children, both, both + n["drinks"] * n["drink"], n["note"] - both - n["drinks"] * n["drink"]


def _eggs(n: Numbers) -> Sequence[int]:
    day = n["hens"] * n["eggs"]
    week = 7 * day
    left = week - n["eaten"]
    return day, week, left, left // 12


def _workshop(n: Numbers) -> Sequence[int]:
    screws = n["chairs"] * n["legs"] + n["tables"] * n["top"]
    return n["chairs"] * n["legs"], n["tables"] * n["top"], screws, n["box"] - screws


def _garden(n: Numbers) -> Sequence[int]:
    bed = n["rows"] * n["plants"]
    plants = n["beds"] * bed
    return bed, plants, plants * n["water"]


STORIES = (
    Story(
        "bakery",
        "A baker fills {trays} trays with {each} loaves each. The oven is {age} years old. {burnt} loaves burn, "
        "and all others are sold for {price} dollars each. How many dollars does the baker take in?",
        {"trays": (3, 12), "each": (4, 12), "age": (2, 30), "burnt": (1, 9), "price": (2, 6)},
        _bakery,
    ),
    Story(
        "orchard",
        "An orchard has {trees} trees, and each gives {apples} apples. {spoiled} apples spoil. The rest is packed"
        " into crates of {crate} apples, which weigh {weight} kilograms when empty. How many crates are filled?",
        {"trees": (4, 15), "apples": (20, 60), "spoiled": (5, 40), "crate": (5, 12), "weight": (1, 4)},
        _orchard,
        lambda n: (n["trees"] * n["apples"] - n["spoiled"]) % n["crate"] == 0,
    ),
    Story(
        "bus",
        "A bus of {seats} seats leaves with {start} passengers. At the first stop {off} get off and {on} get on. "
        "At the second stop {last} get off. How many passengers are on the bus then?",
        {"seats": (50, 80), "start": (20, 45), "off": (3, 15), "on": (2, 18), "last": (2, 15)},
        _bus,
    ),
    Story(
        "savings",
        "A student earns {pay} dollars a week and spends {lunch} dollars a week on lunch. After {weeks} weeks an "
        "aunt, who is {age} years old, adds {gift} dollars. How many dollars does the student have then?",
        {"pay": (40, 95), "lunch": (10, 35), "weeks": (3, 12), "age": (35, 70), "gift": (10, 60)},
        _savings,
    ),
    Story(
        "fence",
        "A meadow is {long} meters long and {wide} meters wide. A fence goes all around it but for a gate of "
        "{gate} meters. The posts are {high} centimeters high. Each meter of fence costs {price} dollars. How "
        "many dollars does the fence cost?",
        {"long": (20, 60), "wide": (10, 40), "gate": (2, 6), "high": (80, 150), "price": (2, 9)},
        _fence,
    ),
    Story(
        "reading",
        "A book has {book} pages and cost {cost} dollars. Somebody reads {pages} pages a day for {days} days, and"
        " then {fast} pages a day until the end. How many more days does the rest take?",
        {"book": (200, 500), "cost": (8, 25), "pages": (10, 30), "days": (3, 9), "fast": (8, 40)},
        _reading,
        lambda n: n["book"] > n["days"] * n["pages"] and (n["book"] - n["days"] * n["pages"]) % n["fast"] == 0,
    ),
    Story(
        "tank",
        "A tank that holds {whole} liters has {start} liters of water in it. A tap adds {tap} liters a minute "
        "while a leak loses {leak} liters a minute. How many liters are in the tank after {minutes} minutes?",
        {"whole": (900, 2000), "start": (20, 120), "tap": (12, 40), "leak": (2, 9), "minutes": (5, 20)},
        _tank,
    ),
    Story(
        "classroom",
        "A room has {rows} rows of {desks} desks, for one pupil each, and {lamps} lamps. {pupils} pupils sit "
        "down. Then {chairs} more places are brought in, and half of all free places are kept for guests. How "
        "many places is that?",
        {"rows": (4, 8), "desks": (5, 9), "lamps": (4, 12), "pupils": (12, 30), "chairs": (2, 12)},
        _classroom,
        lambda n: _classroom(n)[1] > 0 and _classroom(n)[2] % 2 == 0,
    ),
    Story(
        "train",
        "A town is {way} kilometers away. A train of {cars} cars goes {fast} kilometers an hour for {hours} hours"
        " and then {slow} kilometers an hour for {more} hours. How many kilometers are left?",
        {"way": (500, 900), "cars": (4, 12), "fast": (80, 130), "hours": (2, 4), "slow": (30, 70), "more": (1, 3)},
        _train,
        lambda n: _train(n)[-1] > 0,
    ),
    Story(
        "painting",
        "Each of the four walls of a hall is {wide} meters wide and {high} meters high. Together the windows take"
        " {windows} square meters, which are not painted. A painter who is {age} years old paints the walls "
        "{coats} times. How many square meters of paint is that?",
        {"wide": (5, 14), "high": (3, 6), "windows": (8, 30), "age": (25, 60), "coats": (2, 3)},
        _paint,
    ),
    Story(
        "cinema",
        "{adults} adults pay {full} dollars each and {children} children pay {half} dollars each for a film of "
        "{minutes} minutes. They also buy {drinks} drinks for {drink} dollars each and pay with {note} dollars. "
        "How many dollars do they get back?",
        {
            "adults": (1, 4),
            "full": (9, 14),
            "children": (2, 5),
            "half": (4, 8),
            "minutes": (85, 140),
            "drinks": (2, 6),
            "drink": (2, 4),
            "note": (100, 150),
        },
        _cinema,
        lambda n: _cinema(n)[-1] > 0,
    ),
    Story(
        "eggs",
        "Each of {hens} hens lays {eggs} eggs a day and eats {grain} grams of grain. In one week the farmer's "
        "family eats {eaten} of the eggs. The others are sold by the dozen. How many dozens are sold?",
        {"hens": (6, 20), "eggs": (1, 2), "grain": (90, 140), "eaten": (4, 40)},
        _eggs,
        lambda n: _eggs(n)[2] > 0 and _eggs(n)[2] % 12 == 0,
    ),
    Story(
        "workshop",
        "A workshop has a box of {box} screws. A chair takes {legs} screws and a table takes {top}. It builds "
        "{chairs} chairs and {tables} tables in {days} days. How many screws are left?",
        {"box": (200, 400), "legs": (6, 12), "top": (8, 20), "chairs": (4, 12), "tables": (2, 6), "days": (2, 9)},
        _workshop,
        lambda n: _workshop(n)[-1] > 0,
    ),
    Story(
        "garden",
        "A garden of {area} square meters has {beds} beds. In each bed there are {rows} rows of {plants} plants. "
        "Each plant gets {water} liters of water a week. How many liters is that in one week?",
        {"area": (60, 200), "beds": (2, 6), "rows": (3, 7), "plants": (4, 9), "water": (2, 5)},
        _garden,
    ),
)


def word_problems(split: Split, count: int, rng: np.random.Generator) -> tuple[Question, ...]:
    """Return different word problems of one half, every kind in turn.

    The halves are disjoint: which one a problem is in depends on its text.

    Raises:
        QuestionError: no further problem of that half was found.
    """
    found: dict[str, Question] = {}
    tries = 0
    while len(found) < count:
        story = STORIES[len(found) % len(STORIES)]
        question = _told(story, rng)
        if split_of(question) == split:
            found.setdefault(question.key, question)
        tries += 1
        if tries > _TRIES * count:
            raise QuestionError(f"{len(found)} of {count} word problems were found; ask for fewer")
    return tuple(found.values())


def _told(story: Story, rng: np.random.Generator) -> Question:
    """Return one problem of a story."""
    while True:
        numbers = {name: int(rng.integers(low, high + 1)) for name, (low, high) in story.ranges.items()}
        if story.fits(numbers):
            break
    *before, answer = story.steps(numbers)
    wrong = near(answer, [*reversed(before), answer + 10, max(answer - 10, 0)], rng)
    text = story.text.format(**numbers)
    return Question(text, str(answer), tuple(map(str, wrong)), "word-problems", topic="word-problems", form=story.form)
