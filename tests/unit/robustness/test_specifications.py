from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from vlassess.robustness.specifications import (
    PRESETS,
    ActionRules,
    Custom,
    Margin,
    expected_actions,
    step_tolerances,
)
from vlassess_link.errors import ContractError
from vlassess_link.spaces import end_effector_delta

LAYOUT = end_effector_delta()


def test_terms_are_the_published_ones() -> None:
    rules = ActionRules.read(LAYOUT, PRESETS["libero"])
    clean = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.8])
    specification = rules.of(clean)
    moved = clean + np.array([0.1, 0.0, 0.1, 0.0132, 0.0, 0.0, -0.4])
    (terms,) = specification.terms(moved[None])
    expected = [1 - np.hypot(0.1, 0.1) / 0.1529, 1 - 0.0132 / 0.0264, 0.5]
    assert specification.names == ("position", "rotation", "gripper")
    assert terms == pytest.approx(expected)
    assert specification.terms(clean[None])[0] == pytest.approx([1.0, 1.0, 1.0])


def test_a_gripper_that_changes_its_mind_is_negative_and_an_undecided_one_is_ambiguous() -> None:
    rules = ActionRules.read(LAYOUT, PRESETS["libero"], floor=0.1)
    closed = np.array([0, 0, 0, 0, 0, 0, -0.5])
    opened = np.array([0, 0, 0, 0, 0, 0, 0.01])
    assert rules.of(closed).terms(opened[None])[0][2] < 0
    undecided = rules.of(opened)
    assert undecided.ambiguous == ("gripper",)
    assert undecided.names == ("position", "rotation")


def test_a_margin_is_between_the_clean_answer_and_the_best_other_allowed_one() -> None:
    margin = Margin.of(np.array([1.0, 3.0, 9.0, 2.0]), allowed=[0, 1, 3])
    assert margin.clean == 1
    assert margin.terms(np.array([[0.0, 1.0, 50.0, 2.0]]))[0, 0] < 0
    assert margin.terms(np.array([[0.0, 1.0, 50.0, 0.5]]))[0, 0] > 0
    with pytest.raises(ContractError, match="at least two"):
        Margin.of(np.zeros(3), allowed=[1])


def test_any_callable_is_a_specification() -> None:
    specification = Custom(lambda answer: float(answer[0] - 1))
    assert specification.terms(np.array([[3.0], [0.0]])).tolist() == [[2.0], [-1.0]]


def test_expected_actions_are_scipys_softmax_over_bins() -> None:
    logits = np.random.default_rng(0).normal(size=(7, 256)) * 5
    centres = np.linspace(-1, 1, 256)
    assert expected_actions(logits, centres) == pytest.approx((softmax(logits, axis=-1) * centres).sum(-1))


def test_tolerances_are_a_percentile_of_steps_within_episodes() -> None:
    rng = np.random.default_rng(1)
    episodes = [rng.normal(size=(20, 7)), rng.normal(size=(5, 7)), rng.normal(size=(1, 7))]
    steps = np.concatenate([np.diff(one, axis=0) for one in episodes])
    found = step_tolerances(LAYOUT, episodes)
    assert found == pytest.approx(
        {
            "position": np.percentile(np.linalg.norm(steps[:, :3], axis=1), 90),
            "rotation": np.percentile(np.linalg.norm(steps[:, 3:6], axis=1), 90),
        }
    )


@pytest.mark.parametrize(
    ("tolerances", "words"),
    [({"position": 0.1}, "'rotation' has no tolerance"), ({**PRESETS["libero"], "elbow": 1.0}, "'elbow'")],
)
def test_tolerances_that_do_not_fit_are_named(tolerances: dict[str, float], words: str) -> None:
    with pytest.raises(ContractError, match=words):
        ActionRules.read(LAYOUT, tolerances)
