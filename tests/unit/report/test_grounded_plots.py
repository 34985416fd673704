"""The pictures of an answer suite: a shortcut stands out in one bar, the scene marks the right and the grasped one."""

from __future__ import annotations

import re

import pytest

from tests.unit.grounding.test_results import choosing, tried
from vlassess.grounding.results import results
from vlassess.report.grounded_plots import TITLES, bias_plot, biased, scene_plot
from vlassess.schema.grounded import GroundedSuite, SceneItem

MARKED = "fill: var(--series-2)"


@pytest.mark.parametrize("by", ["distance", "candidate", "colour"])
def test_a_shortcut_stands_out_in_one_bar_of_one_picture(by: str) -> None:
    (suite,) = results(choosing(by))
    marked = {bias.by: biased(bias) for bias in suite.biases}
    assert {each: sum(kinds) for each, kinds in marked.items()} == {each: int(each == by) for each in marked}
    drawn = bias_plot(suite)
    assert drawn.count(MARKED) == 1
    assert all(f">{title}<" in drawn for title in TITLES.values())


def test_blind_choices_mark_nothing() -> None:
    (suite,) = results([tried(index, "ABCD"[index % 4], "ABCD"[index // 4 % 4]) for index in range(64)])
    assert MARKED not in bias_plot(suite)


def test_what_is_not_known_is_not_drawn() -> None:
    (suite,) = results([tried(index, "A", None) for index in range(3)])
    assert bias_plot(suite) == ""
    assert scene_plot(suite.model_copy(update={"scene": ()})) == ""


def scene(right: str, chosen: str) -> GroundedSuite:
    (suite,) = results([tried(0, "A", "B")])
    names = ("A", "B", "toy_car", "zone")
    items = tuple(
        SceneItem(
            name=name,
            x=0.3 + 0.05 * place,
            y=0.1 * place - 0.1,
            colour="" if name == "zone" else "blue",
            right=name == right,
            chosen=name == chosen,
        )
        for place, name in enumerate(names)
    )
    return suite.model_copy(update={"scene": items})


def test_the_scene_marks_the_right_one_and_the_grasped_one() -> None:
    both = scene_plot(scene("A", "B"))
    assert re.findall(r"stroke: var\(--series-(\d)\)", both) == ["1", "2"]
    assert all(f">{name}<" in both for name in ("A", "B", "toy_car", "zone", "robot"))
    assert "--series" not in scene_plot(scene("", ""))
