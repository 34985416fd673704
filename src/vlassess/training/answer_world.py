"""Answer scenes for training: a question of the training half decides what the teacher brings to the zone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from vlassess.grounding.episodes import filled
from vlassess.grounding.suites import GENERATED, Course, Suite, course, suite_of
from vlassess.schema.grounding import Asked, GroundingConfig
from vlassess.training.places import ANSWERS
from vlassess.training.world import BASE_SEED, Job, Started, World, training_seed
from vlassess_link.data import Episode
from vlassess_link.errors import ContractError

TASK = "answer"
ZONE = "zone"
_READ = 4 * GENERATED
"""Training episodes whose words make the vocabulary: every question in several wordings and with several options."""


def open_world(suites: Sequence[str]) -> World:
    """Return the world of a training's suites: of one that asks questions, or of any others.

    Raises:
        ContractError: it asks questions and is not the only one, or has everyday objects.
    """
    if not any(suite_of(suite) for suite in suites):
        return World(suites)
    if len(suites) > 1:
        raise ContractError(f"suites has {', '.join(suites)}; a training with questions takes one suite alone")
    return AnswerWorld(suites[0])


class AnswerWorld(World):
    """One arm, candidates and a gray zone; a task for each candidate, of which the question decides the episode's.

    Args:
        suite: A grounding suite with lettered blocks: those of everyday objects have other candidates in every episode.

    Raises:
        ContractError: it is none.
    """

    asks = True

    def __init__(self, suite: str) -> None:
        found = suite_of(suite)
        if found is None or found.objects:
            raise ContractError(f"suites has {suite!r}; with questions a training takes one rsb suite, as rsb-math-4")
        self._load(f"{ANSWERS}:Answers", {"embodiment": "single"})
        self._suite: Suite = found
        limit = next(task.step_limit for task in self._benchmark.spec.tasks if task.suite == suite)
        names = self._module("glyphs").LETTERS
        self.jobs = tuple(
            Job(suite, f"{TASK}-{name}", name, ZONE, limit, ()) for name in itertools.islice(names, found.choices)
        )

    @property
    def varied(self) -> bool:
        """No episode is varied."""
        return False

    def start(self, number: int, seed: int, rng: np.random.Generator) -> Started:
        """Begin the training episode of this number with its own question, options, scene and wording."""
        episode = self.episode(number, seed)
        asked = Asked.of(episode.private)
        assert asked is not None
        self._raw = self._benchmark.reset(episode)
        turn = next(place for place, job in enumerate(self.jobs) if job.target == asked.target)
        return Started(turn, str(self._raw.instruction))

    def episode(self, number: int, seed: int) -> Episode:
        """Return the training episode of a number: as a run's, but of the training half and of a seed of its own."""
        job = self.jobs[0]
        empty = Episode(
            *("training", "00", self._benchmark.spec.ref, job.suite, TASK, number, seed, 0, job.step_limit),
        )
        return filled(empty, self._suite, self._course, GroundingConfig(split="train"))

    def texts(self) -> Iterator[str]:
        """Yield what training episodes are told: the words of the training half, of no other question."""
        for number in range(_READ):
            yield self.episode(number, training_seed("words", number)).instruction or ""

    @cached_property
    def _course(self) -> Course:
        return course(self._suite.domain, GroundingConfig(split="train"), BASE_SEED, GENERATED)
