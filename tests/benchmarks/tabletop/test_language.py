"""What the robot is told: every text says its task, and a referring expression is true of one thing alone."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

SEEDS = st.integers(0, 2**63 - 1)


def words_of_all(module: Callable[[str], Any]) -> list[tuple[Any, Any]]:
    return [(task, module("axes").words_of(task)) for task in module("tasks").TASKS.values()]


def test_the_control_is_the_first_seen_template(module: Callable[[str], Any]) -> None:
    for task, words in words_of_all(module):
        assert module("language").control(words) == task.instruction


@pytest.mark.parametrize("name", ["SEEN", "UNSEEN", "PARAPHRASES"])
def test_templates_name_what_they_must_and_are_all_different(module: Callable[[str], Any], name: str) -> None:
    templates: Mapping[str, tuple[str, ...]] = getattr(module("language"), name)
    assert set(templates) == {suite for suite, _ in module("tasks").TASKS}
    for suite, texts in templates.items():
        assert len(set(texts)) == len(texts) >= 6
        for text in texts:
            fields = {field for _, field, _, _ in string.Formatter().parse(text) if field}
            assert "target" in fields
            assert ("goal" in fields) is (suite != "pick")


def test_no_template_is_both_seen_and_held_out(module: Callable[[str], Any]) -> None:
    language = module("language")
    for suite, texts in language.SEEN.items():
        assert not set(texts) & {*language.UNSEEN[suite], *language.PARAPHRASES[suite]}


@given(seed=SEEDS)
def test_each_wording_differs_from_the_control_and_says_the_task(module: Callable[[str], Any], seed: int) -> None:
    language = module("language")
    for task, words in words_of_all(module):
        for wording in (language.seen, language.unseen):
            text = wording(words, np.random.default_rng(seed))
            assert text != task.instruction
            assert words.target in text
            assert words.goal in text
        text = language.paraphrase(words, np.random.default_rng(seed))
        assert not {"red", "green", "blue", "block", "bowl", "zone", "gray"} & set(text.split())


@given(seed=SEEDS)
def test_referring_expressions_are_true_of_the_target_alone(module: Callable[[str], Any], seed: int) -> None:
    scene, phrases = module("scene").SCENE, dict(module("tasks").OBJECTS) | {"bowl": "bowl", "zone": "gray zone"}
    layout = module("layout").draw_layout(scene.items, scene.region, np.random.default_rng(seed))
    for target, _ in module("tasks").OBJECTS:
        found = module("language").expressions(target, layout, phrases)
        assert found
        for expression in found:
            meant = [name for name in phrases if name.endswith("block") and holds(expression, name, layout, phrases)]
            assert meant == [target], expression


def holds(expression: str, name: str, layout: Mapping[str, Any], phrases: Mapping[str, str]) -> bool:
    """Return whether an expression is true of a block: read from its words, not from how it was made."""
    blocks = [other for other in phrases if other.endswith("block")]
    if " the " in expression and expression.split(" the ")[1] in phrases.values():
        landmark = {phrase: item for item, phrase in phrases.items()}[expression.split(" the ")[1]]
        others = [other for other in blocks if other != landmark]
        extreme = min if "closest" in expression else max
        spot = layout[landmark]
        return name == extreme(others, key=lambda o: math.hypot(layout[o].x - spot.x, layout[o].y - spot.y))
    if "neither" in expression:
        return name.split("_")[0] not in expression
    order = sorted(blocks, key=lambda other: layout[other].x if "robot" in expression else layout[other].y)
    place = {"leftmost": 0, "rightmost": -1, "nearest": 0, "farthest": -1, "middle": 1}
    return name == order[next(index for word, index in place.items() if word in expression)]


def test_where_no_place_sets_it_apart_the_others_are_excluded(module: Callable[[str], Any]) -> None:
    layout = {name: module("layout").Spot(0.4, 0.0, 0.0) for name, _ in module("tasks").OBJECTS}
    found = module("language").expressions("red_block", layout, dict(module("tasks").OBJECTS))
    assert found == ("block that is neither green nor blue",)
