"""How a task is said: seen templates, unseen ones, paraphrases, and expressions that refer by place.

Pure: words, a layout and a generator give a text. No text holds the name of a level, an item or a cell.

`SEEN` is what policies may be trained on; its first template is the instruction of the control. `UNSEEN` says the
same with the same verbs and nouns in sentences of another structure. `PARAPHRASES` have other verbs, and the nouns
and colours of `SYNONYMS`. A referring expression names the target by where it stands ("the block closest to the
bowl"), and is true of the target alone in that layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from .layout import Spot

SEEN: Mapping[str, tuple[str, ...]] = {
    "pick": (
        "pick up the {target}",
        "pick the {target} up",
        "lift the {target}",
        "take the {target}",
        "grasp the {target} and lift it",
        "raise the {target} off the table",
        "get the {target} off the table",
    ),
    "place": (
        "put the {target} {at} the {goal}",
        "place the {target} {at} the {goal}",
        "move the {target} {to} the {goal}",
        "set the {target} down {at} the {goal}",
        "pick up the {target} and put it {at} the {goal}",
        "take the {target} and place it {at} the {goal}",
        "lift the {target} and set it down {at} the {goal}",
    ),
    "stack": (
        "stack the {target} on the {goal}",
        "put the {target} on top of the {goal}",
        "place the {target} on the {goal}",
        "set the {target} down on top of the {goal}",
        "pick up the {target} and stack it on the {goal}",
        "take the {target} and put it on the {goal}",
        "lift the {target} and place it on top of the {goal}",
    ),
}
"""Suite -> templates; the first is the control's."""

UNSEEN: Mapping[str, tuple[str, ...]] = {
    "pick": (
        "could you please pick up the {target} for me",
        "the {target} is the one that I want you to lift",
        "find the {target}, and once you have it, raise it",
        "of all the things on the table, take only the {target}",
        "there is a {target} on the table; pick it up",
        "what has to be lifted off the table is the {target}",
    ),
    "place": (
        "could you please put the {target} {at} the {goal} for me",
        "the {target} is the one that I want {at} the {goal}",
        "{at} the {goal} is where the {target} has to be put",
        "find the {target}, and once you have it, place it {at} the {goal}",
        "there is a {target} on the table; move it {to} the {goal}",
        "when you are done, the {target} should be {at} the {goal}",
    ),
    "stack": (
        "could you please stack the {target} on the {goal} for me",
        "the {target} is the one that I want on top of the {goal}",
        "on top of the {goal} is where the {target} has to be put",
        "find the {target}, and once you have it, place it on the {goal}",
        "there is a {target} on the table; set it down on the {goal}",
        "when you are done, the {goal} should be under the {target}",
    ),
}
"""Suite -> templates of another structure."""

PARAPHRASES: Mapping[str, tuple[str, ...]] = {
    "pick": (
        "grab the {target}",
        "hoist the {target}",
        "fetch the {target} from the desk",
        "seize the {target} and hold it aloft",
        "pluck the {target} from the surface",
        "elevate the {target}",
    ),
    "place": (
        "deposit the {target} {at} the {goal}",
        "transfer the {target} {to} the {goal}",
        "drop off the {target} {at} the {goal}",
        "bring the {target} over and leave it {at} the {goal}",
        "grab the {target} and deliver it {to} the {goal}",
        "relocate the {target} so that it sits {at} the {goal}",
    ),
    "stack": (
        "pile the {target} onto the {goal}",
        "balance the {target} atop the {goal}",
        "perch the {target} above the {goal}",
        "build a tower with the {target} over the {goal}",
        "grab the {target} and rest it upon the {goal}",
        "mount the {target} onto the {goal}",
    ),
}
"""Suite -> templates with other verbs; said with the words of `SYNONYMS`."""

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "red": ("crimson", "scarlet"),
    "green": ("emerald", "grass-coloured"),
    "blue": ("navy", "sapphire"),
    "block": ("cube", "brick"),
    "bowl": ("dish", "basin"),
    "gray": ("ash-coloured", "slate"),
    "zone": ("patch", "square"),
}
"""Word -> what a paraphrase says instead; other words stay."""

MARGIN = 0.025
"""By how much a referring expression must hold, meters."""

Rank = Callable[[str], float]
"""Item -> number; the least is meant."""

_INTO = {"in": "into", "on": "onto"}


@dataclass(frozen=True)
class Words:
    """What a task is about, in words.

    Attributes:
        suite: Chooses the templates: "pick", "place" or "stack".
        target: What is moved ("red block").
        goal: Where it goes ("bowl"); empty for `pick`.
        at: "in" or "on" the goal; empty for `pick`.
    """

    suite: str
    target: str
    goal: str = ""
    at: str = ""


def control(words: Words) -> str:
    """Return the instruction of the control: the first seen template."""
    return say(SEEN[words.suite][0], words)


def say(template: str, words: Words) -> str:
    """Return a template with the words put in."""
    return template.format(target=words.target, goal=words.goal, at=words.at, to=_INTO.get(words.at, ""))


def seen(words: Words, rng: np.random.Generator) -> str:
    """Return a seen template's text that is not the control's."""
    return say(_choose(SEEN[words.suite][1:], rng), words)


def unseen(words: Words, rng: np.random.Generator) -> str:
    """Return an unseen template's text."""
    return say(_choose(UNSEEN[words.suite], rng), words)


def paraphrase(words: Words, rng: np.random.Generator) -> str:
    """Return a paraphrase: other verbs, other nouns, other names of the colours."""
    template = _choose(PARAPHRASES[words.suite], rng)
    chosen = {word: _choose(others, rng) for word, others in SYNONYMS.items()}

    def otherwise(phrase: str) -> str:
        return " ".join(chosen.get(word, word) for word in phrase.split())

    return say(template, Words(words.suite, otherwise(words.target), otherwise(words.goal), words.at))


def refer(
    words: Words, target: str, layout: Mapping[str, Spot], phrases: Mapping[str, str], rng: np.random.Generator
) -> str:
    """Return the control's sentence with the target named by a referring expression.

    Args:
        words: The task's.
        target: The target's item.
        layout: Item -> where it stands.
        phrases: Item -> its words, for all that can be named; the last word is its kind.
        rng: Of the stream "language".
    """
    expression = _choose(expressions(target, layout, phrases), rng)
    return say(SEEN[words.suite][0], Words(words.suite, expression, words.goal, words.at))


def expressions(target: str, layout: Mapping[str, Spot], phrases: Mapping[str, str]) -> tuple[str, ...]:
    """Return every referring expression that is true of the target and of nothing else of its kind; at least one.

    Left and right are those of the agent camera's picture. Where no place sets the target apart by `MARGIN`, the
    expression excludes the others ("block that is neither green nor blue").
    """
    kind = phrases[target].split()[-1]
    peers = [name for name, phrase in phrases.items() if phrase.split()[-1] == kind]
    found = [form.format(kind=kind) for form, rank in _ranks(layout) if _least(target, peers, rank)]
    sides = sorted(layout[name].y for name in peers)
    if len(peers) == 3 and layout[target].y == sides[1] and min(np.diff(sides)) > MARGIN:
        found.append(f"middle {kind} from left to right")
    for landmark in phrases:
        others = [name for name in peers if name != landmark]
        if landmark == target or len(others) < 2:
            continue
        near = {name: _apart(layout, name, landmark) for name in others}
        if _least(target, others, near.__getitem__):
            found.append(f"{kind} closest to the {phrases[landmark]}")
        if _least(target, others, {name: -apart for name, apart in near.items()}.__getitem__):
            found.append(f"{kind} farthest from the {phrases[landmark]}")
    return tuple(found) or (_exclusion(target, peers, phrases, kind),)


def _ranks(layout: Mapping[str, Spot]) -> tuple[tuple[str, Rank], ...]:
    """Return (expression, what is least for the one that it means)."""
    return (
        ("leftmost {kind} in the picture", lambda name: layout[name].y),
        ("rightmost {kind} in the picture", lambda name: -layout[name].y),
        ("{kind} nearest to the robot", lambda name: layout[name].x),
        ("{kind} farthest from the robot", lambda name: -layout[name].x),
    )


def _least(target: str, names: list[str], rank: Rank) -> bool:
    """Return whether the target is below all others by the margin."""
    return all(rank(name) - rank(target) > MARGIN for name in names if name != target)


def _apart(layout: Mapping[str, Spot], a: str, b: str) -> float:
    return math.hypot(layout[a].x - layout[b].x, layout[a].y - layout[b].y)


def _exclusion(target: str, peers: list[str], phrases: Mapping[str, str], kind: str) -> str:
    others = [phrases[name].rsplit(" ", 1)[0] for name in peers if name != target]
    return f"{kind} that is neither {' nor '.join(others)}"


def _choose(options: tuple[str, ...], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]
