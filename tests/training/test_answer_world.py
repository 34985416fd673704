"""What a policy is taught of questions: those of the training half, and a teacher that brings their answers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from vlassess.grounding.suites import GENERATED, LETTERS, course
from vlassess.schema.grounding import Asked, GroundingConfig
from vlassess.training.answer_world import AnswerWorld, open_world
from vlassess.training.collect import CHUNK, Driving, action_of, collect
from vlassess.training.policy import vocabulary
from vlassess.training.recipe import RECIPES
from vlassess.training.teacher import label
from vlassess.training.world import World, training_seed
from vlassess_link.errors import ContractError

RECIPE = RECIPES["mini-vla-rsb"]


@pytest.fixture(scope="module")
def world() -> Iterator[AnswerWorld]:
    made = AnswerWorld("rsb-math-4")
    yield made
    made.close()


def asked(world: AnswerWorld, number: int) -> Asked:
    found = Asked.of(world.episode(number, training_seed("test", number)).private)
    assert found is not None
    return found


def test_the_labels_bring_the_right_block_to_the_zone(world: AnswerWorld) -> None:
    for number in range(4):
        seed = training_seed("test", number)
        started = world.start(number, seed, np.random.default_rng(0))
        question = asked(world, number)
        assert world.jobs[started.job].target == question.target
        assert question.question in started.said
        for step in range(100):
            if step % 5 == 0:
                rows = label(world.scene(), CHUNK)[started.job]
            outcome = world.act(action_of(rows[step % 5]))
            if outcome.success:
                break
        assert outcome.success
        assert outcome.metrics["first_grasp"] == 1 + LETTERS.index(question.target)


def test_only_questions_of_the_training_half_are_taught(world: AnswerWorld) -> None:
    taught = {asked(world, number).question for number in range(GENERATED)}
    evaluated = {question.text for question in course("math", GroundingConfig(), 0, GENERATED).questions}
    assert len(taught) == GENERATED
    assert not taught & evaluated
    targets = Counter(asked(world, number).target for number in range(400))
    assert min(targets.values()) > 70


def test_frames_are_taught_with_what_was_said_and_taken(world: AnswerWorld) -> None:
    (frames,) = collect(world, "test", range(3, 4), Driving(noise=(0.0,), pushes=0.0))
    question = asked(world, 3)
    assert {int(frame.job) for frame in frames} == {LETTERS.index(question.target)}
    (said,) = {str(frame.said) for frame in frames}
    assert said.endswith(".")
    assert all(option in said for option in question.options)
    assert frames[0].labels.shape == (4, CHUNK, 5)


def test_letters_and_numbers_are_words_of_their_own(world: AnswerWorld) -> None:
    """What the policy reads of a question: no letter and no operand is one of the buckets that unknown words share."""
    words = vocabulary(itertools.islice(world.texts(), 600), RECIPE.length)
    known = set(words.known)
    assert {"a", "b", "c", "d", "plus", "minus", "times"} <= known
    for number in range(100):
        question = asked(world, number)
        text = world.episode(number, training_seed("test", number)).instruction or ""
        operands = [word for word in question.question.replace("?", "").split() if word.isdecimal()]
        assert len(operands) == 2
        assert known.issuperset(operands)
        tokens = words(text)
        assert tokens[-1] == 0, "an instruction is read to its end"
    one, other = (words(f"what is {n} plus 12? options: (A) 40 (B) 41") for n in (28, 29))
    assert not np.array_equal(one, other)


def test_a_world_is_of_one_kind(world: AnswerWorld) -> None:
    assert world.asks
    assert not World.asks
    with pytest.raises(ContractError, match="takes one suite alone"):
        open_world(("rsb-math-4", "pick"))
    with pytest.raises(ContractError, match="takes one rsb suite"):
        open_world(("beyond-math-4",))
