"""Fills a planned episode with a question: instruction, scene and what its scores need; pure.

Everything is drawn from the episode's stream "content", in branches of its own for the scene, the options and the
wording, so that the controls of one start differ in nothing but what they are about.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlassess.grounding.instructions import OBJECTS, Told, instruction
from vlassess.grounding.questions import Question
from vlassess.grounding.suites import COLOURS, LETTERS, Course, Suite
from vlassess.schema.grounding import Asked, GroundingConfig
from vlassess_link.data import Episode
from vlassess_link.digest import content_id

_BRANCHES = 8
_SCENE, _OPTIONS, _WORDING, _OTHER_OPTIONS, _NAMED = range(5)


@dataclass(frozen=True)
class Content:
    """A question with its options and who stands for what.

    Attributes:
        question: What is asked.
        listed: Candidates in the order in which they are told.
        options: What each stands for.
        target: The candidate of the right answer.
    """

    question: Question
    listed: tuple[str, ...]
    options: tuple[str, ...]
    target: str


def filled(episode: Episode, suite: Suite, course: Course, config: GroundingConfig) -> Episode:
    """Return a planned episode with its question.

    Its id counts the instruction in; seeds, pair key and layout are those of the plan, whatever the control.

    Raises:
        QuestionError: a question has too few options.
    """
    branches = episode.rng("content").integers(2**63, size=_BRANCHES)
    scene = _scene(suite, np.random.default_rng(branches[_SCENE]))
    names: Sequence[str] = scene["names"]
    own = _content(course.question(episode.index), names, course, np.random.default_rng(branches[_OPTIONS]))
    other = None
    if config.control == "swapped":
        rng = np.random.default_rng(branches[_OTHER_OPTIONS])
        other = _content(course.question(episode.index + 1), names, course, rng)
    asked = own if other is None else other
    named = _named(asked, config, np.random.default_rng(branches[_NAMED]))
    told = Told(asked.question.text, asked.listed, asked.options, named, suite.objects)
    text = instruction(told, config.control, config.templates, np.random.default_rng(branches[_WORDING]))
    kept = Asked(
        target=asked.target,
        listed=asked.listed,
        options=asked.options,
        question=asked.question.text,
        answer=asked.question.answer,
        control=config.control,
        named=named,
        form=asked.question.form,
        source=asked.question.source,
        original=own.target if other is not None else "",
    )
    return dataclasses.replace(
        episode,
        episode_id=content_id([episode.pair_key, dict(episode.perturbation), text, episode.seed, episode.repeat]),
        instruction=text,
        scene=scene,
        private=kept.kept(),
    )


def _scene(suite: Suite, rng: np.random.Generator) -> dict[str, Any]:
    """Return what stands there: candidates and their colours; the right one is not in it."""
    every = list(OBJECTS) if suite.objects else list(LETTERS)
    names = [every[place] for place in sorted(rng.permutation(len(every))[: suite.choices])]
    if not suite.objects:
        names = every[: suite.choices]
    if suite.choices > len(COLOURS) and not suite.objects:
        return {"kind": "letters", "names": names, "colours": "one"}
    shuffled = [
        COLOURS[place] for _ in range(-(-len(names) // len(COLOURS))) for place in rng.permutation(len(COLOURS))
    ]
    kind = "objects" if suite.objects else "letters"
    return {"kind": kind, "names": names, "colours": dict(zip(names, shuffled, strict=False))}


def _content(question: Question, names: Sequence[str], course: Course, rng: np.random.Generator) -> Content:
    choices = [question.answer, *course.wrong(question, len(names) - 1, rng)]
    order, letters = rng.permutation(len(names)), rng.permutation(len(names))
    listed = tuple(names[place] for place in letters)
    options = tuple(choices[place] for place in order)
    return Content(question, listed, options, listed[list(order).index(0)])


def _named(content: Content, config: GroundingConfig, rng: np.random.Generator) -> str:
    if config.control == "direct":
        return content.target
    if config.control == "contradictory":
        wrong = [name for name in content.listed if name != content.target]
        return wrong[int(rng.integers(len(wrong)))]
    return ""
