"""What a robot is told: templates with {Q}, {MAPA} to {MAPD}, {OPTIONS} and {NAMED}, and a few ways to fill them.

No template holds the right answer. Those of "unseen" are other sentences than those of "seen", so that dependence on
one wording shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vlassess.schema.grounding import Control, Templates

Wordings = Mapping[Templates, tuple[str, ...]]

OBJECTS: Mapping[str, str] = {
    "toy_car": "toy car",
    "card": "playing card",
    "shoe": "shoe",
    "mug": "mug",
    "can": "can",
    "die": "die",
    "bottle": "bottle",
    "book": "book",
    "candle": "candle",
    "brush": "brush",
}
"""Names of the everyday objects of an answer scene -> what they are called."""

ASK: Wordings = {
    "seen": (
        "{Q} options: {OPTIONS}. place the correct option {NOUN} in the gray answer zone.",
        "{Q} Choose from {OPTIONS}. Pick up the {NOUN} of the right answer and put it in the gray answer zone.",
        "{Q} The {NOUN}s stand for {OPTIONS}. Move the one with the correct answer to the gray answer zone.",
        "{Q} Answers: {OPTIONS}. Bring the {NOUN} that is right to the gray zone.",
    ),
    "unseen": (
        "{Q} You may answer with {OPTIONS}. Show your answer by setting its {NOUN} down on the gray square.",
        "These are the choices: {OPTIONS}. {Q} The {NOUN} that answers this belongs in the gray answer zone.",
        "{Q} Each {NOUN} means something: {OPTIONS}. Only the true one goes onto the gray patch.",
    ),
}
ASK_FOUR: Wordings = {
    "seen": (
        "{Q} Is it {MAPA}, {MAPB}, {MAPC} or {MAPD}? Place the right {NOUN} in the gray answer zone.",
        "{Q} {MAPA}, {MAPB}, {MAPC}, {MAPD}: put the {NOUN} of the correct option in the gray answer zone.",
    ),
    "unseen": ("{Q} One of {MAPA}, {MAPB}, {MAPC} and {MAPD} is true. Hand it in on the gray square.",),
}
"""Beside those of `ASK`, where there are four choices."""
NAME: Wordings = {
    "seen": ("place {NAMED} in the gray answer zone.", "Pick up {NAMED} and put it in the gray answer zone."),
    "unseen": ("{NAMED} belongs on the gray square.",),
}
CONTRADICT: Wordings = {
    "seen": ("Take {NAMED}.", "Use {NAMED} for this."),
    "unseen": ("It should be {NAMED} that you pick.",),
}


@dataclass(frozen=True)
class Told:
    """What an instruction is made of.

    Attributes:
        question: What is asked.
        listed: Candidates in the order in which they are told.
        options: What each stands for.
        named: The candidate that is named outright; empty: none.
        objects: Candidates are objects, not lettered blocks.
    """

    question: str
    listed: Sequence[str]
    options: Sequence[str]
    named: str = ""
    objects: bool = False

    def called(self, name: str) -> str:
        """Return what a candidate is called within a list of options."""
        return OBJECTS[name] if self.objects else name


def instruction(told: Told, control: Control, templates: Templates, rng: np.random.Generator) -> str:
    """Return what the robot is told under a control, in a wording that is drawn."""
    if control == "direct":
        return _filled(_drawn(NAME[templates], rng), told)
    wordings = ASK[templates] + (ASK_FOUR[templates] if len(told.listed) == 4 else ())
    template = _drawn(wordings, rng)
    if control == "contradictory":
        template = f"{template} {_drawn(CONTRADICT[templates], rng)}"
    return _filled(template.replace("{Q}", "") if control == "blank" else template, told)


def _filled(template: str, told: Told) -> str:
    maps = [f"({told.called(name)}) {option}" for name, option in zip(told.listed, told.options, strict=True)]
    named = f"the {OBJECTS.get(told.named, '')}" if told.objects else f"block {told.named}"
    values = {"{OPTIONS}": " ".join(maps), "{NOUN}": "object" if told.objects else "block", "{NAMED}": named}
    values |= {f"{{MAP{letter}}}": text for letter, text in zip("ABCD", maps, strict=False)}
    parts = [template]
    # What is put in may hold braces itself, so that it is never searched again.
    for place, text in {**values, "{Q}": told.question}.items():
        parts = [piece for part in parts for piece in _split(part, place, text)]
    return " ".join("".join(map(str, parts)).split())


class _Done(str):
    """A text that is filled in."""

    __slots__ = ()


def _split(part: str, place: str, text: str) -> list[str]:
    if isinstance(part, _Done):
        return [part]
    first, *rest = part.split(place)
    return [first, *(piece for each in rest for piece in (_Done(text), each))]


def _drawn(wordings: Sequence[str], rng: np.random.Generator) -> str:
    return wordings[int(rng.integers(len(wordings)))]
