"""The whole comparison, against what other code computes from the same counts."""

from __future__ import annotations

import dataclasses
import json

import pytest
from scipy.stats import binomtest, fisher_exact
from statsmodels.stats.multitest import multipletests

from tests.unit.comparison.build import arm_of, arms_with, design, moved, trial_of
from vlassess.comparison import ComparisonRefusedError
from vlassess.comparison.compare import compare
from vlassess.schema.arms import Arm
from vlassess.schema.comparison import Comparison, TwoArms
from vlassess.schema.config import ComparisonConfig


def two(comparison: Comparison) -> TwoArms:
    (found,) = comparison.comparisons
    return found


def test_pairs_are_judged_by_the_exact_test() -> None:
    arms = arms_with((30, 12, 2, 6), ("to-4", "to-5"))
    found = two(compare(arms, design(arms)))
    assert found.overall.p_value == pytest.approx(binomtest(2, 14).pvalue)
    assert (found.overall.both, found.overall.only_a, found.overall.only_b, found.overall.neither) == (30, 12, 2, 6)
    assert found.overall.difference == pytest.approx(0.2)
    assert found.better == "A"
    assert found.verdict.startswith("A is better than B: A minus B is +20.0 points")
    assert found.pairing.design == "paired"
    assert found.pairing.pairs == 50
    assert [group.name for group in found.tasks] == ["walk/to-4", "walk/to-5"]
    assert sum(group.effect.n_a for group in found.tasks) == 50
    assert len(found.discordant) == 14
    assert found.over_tasks.tasks == 2
    assert found.strata is not None
    assert found.progress is not None
    assert found.progress.difference == pytest.approx(0.1)


def test_an_altered_start_is_dropped_and_the_runs_are_not_called_paired() -> None:
    a, b = arms_with((20, 10, 0, 0))
    altered = dataclasses.replace(b, trials=(moved(b.trials[0], "x", 0.125), *b.trials[1:]))
    found = two(compare((a, altered), design((a, altered))))
    assert found.pairing.design == "partly paired"
    assert "are not paired: 1 of 30 starts with one key began in different states" in found.pairing.reason
    assert found.pairing.dropped[0].examples == ("walk/to-4 #0: component 'x' differs by 0.125",)
    assert found.overall.n_a == 29


def test_without_pairs_every_episode_counts() -> None:
    a, b = arms_with((30, 12, 2, 6))
    b = dataclasses.replace(b, unpairable="it is a CSV")
    found = two(compare((a, b), design((a, b))))
    assert (found.overall.test, found.pairing.design) == ("Boschloo", "unpaired")
    assert found.overall.p_value is not None
    assert found.overall.p_value < fisher_exact([[42, 8], [32, 18]]).pvalue
    assert "it is a CSV" in found.pairing.reason
    assert found.discordant == ()
    assert "unpaired" in found.verdict


def test_only_tasks_that_both_ran_are_compared() -> None:
    a = arm_of("A", [trial_of(i, True, task) for task in ("to-4", "to-5") for i in range(20)])
    b = arm_of("B", [trial_of(i, False) for i in range(20)], unpairable="no states")
    found = two(compare((a, b), design((a, b))))
    assert (found.overall.n_a, found.overall.n_b) == (20, 20)
    assert "episodes of tasks that only one of them ran are left out (20 and 0)" in found.notes


def test_doubtful_pairs_are_reported_with_and_without() -> None:
    a, b = arms_with((20, 8, 0, 2))
    doubtful = tuple(dataclasses.replace(t, instruction="walk") if 20 <= t.index < 26 else t for t in b.trials)
    found = two(compare((a, dataclasses.replace(b, trials=doubtful)), design((a, b))))
    assert found.overall.only_a == 8
    assert found.pairing.doubtful == 6
    assert found.without_doubtful is not None
    assert found.without_doubtful.only_a == 2


def test_repeats_are_a_level_of_their_own() -> None:
    def repeated(label: str, good: int) -> list[object]:
        return [trial_of(i, (i + repeat) % 5 < good, repeat=repeat) for i in range(40) for repeat in range(4)]

    arms = arm_of("A", repeated("A", 4)), arm_of("B", repeated("B", 2))  # type: ignore[arg-type]
    found = two(compare(arms, design(arms)))
    assert found.overall.test.startswith("sign flips of starts")
    assert found.overall.both is None
    assert [claim.about for claim in found.repeats] == ["these starts", "new starts", "new tasks"]
    assert found.overall.difference == pytest.approx(0.4, abs=0.02)
    assert found.strata is None
    assert any("a start is one unit of evidence" in note for note in found.notes)


def test_a_privileged_arm_is_a_bound_and_in_no_rank() -> None:
    a, b = arms_with((10, 0, 20, 0))
    bound = dataclasses.replace(b, label="expert", privileged=True)
    found = compare((a, bound), design((a, bound)))
    assert two(found).better is not None
    assert "expert is privileged, so this only shows the distance to a bound" in found.verdict
    assert found.ranks == ()


def test_many_policies_are_adjusted_together() -> None:
    ends = {"A": 36, "B": 20, "C": 18, "D": 16}
    arms = [arm_of(label, [trial_of(i, i < good) for i in range(40)]) for label, good in ends.items()]
    found = compare(arms, design(arms))
    raw = [one.decisive_p for one in found.comparisons]
    assert [one.adjusted_p for one in found.comparisons] == pytest.approx(multipletests(raw, method="holm")[1])
    assert [one.hochberg_p for one in found.comparisons] == pytest.approx(multipletests(raw, method="fdr_bh")[1])
    assert [(rank.label, rank.low, rank.high) for rank in found.ranks] == [
        ("A", 1, 1), ("B", 2, 4), ("C", 2, 4), ("D", 2, 4),
    ]  # fmt: skip
    assert found.groups == (("A",), ("B", "C", "D"))
    assert (
        found.verdict
        == "Better, adjusted for all comparisons: A over B, A over C, A over D. Not told apart: B = C = D."
    )


def test_margins() -> None:
    arms = arms_with((280, 3, 3, 14))
    alike = two(compare(arms, design(arms, margin=0.05)))
    assert alike.equivalent is not None
    assert alike.equivalent.shown
    assert alike.verdict.startswith("A and B are alike within 5 points")
    strict = two(compare(arms, design(arms, margin=0.005)))
    assert strict.not_worse is not None
    assert not strict.not_worse.shown


def test_the_fixed_test_is_used_and_every_change_is_said() -> None:
    fixed = ComparisonConfig(test="stratified", alpha=0.01)
    a, b = arms_with((20, 10, 2, 8), ("to-4", "to-5"))
    a = dataclasses.replace(a, declared=fixed)
    as_fixed = compare((a, b), design((a, b)))
    assert as_fixed.design.fixed_before
    assert as_fixed.design.declared_by == "A"
    strata = two(as_fixed).strata
    assert strata is not None
    assert two(as_fixed).decisive_p == strata.p_value
    assert two(as_fixed).better is None
    changed = compare((a, b), design((a, b), alpha=0.05, test="exact"))
    assert not changed.design.fixed_before
    assert changed.design.changes == (
        "test was changed after the run: stratified -> exact", "alpha was changed after the run: 0.01 -> 0.05",
    )  # fmt: skip
    nothing = design(arms_with((1, 0, 0, 0)))
    assert nothing.declared_by is None
    assert "no test was fixed before the runs" in nothing.notes[0]


def test_a_direction_that_was_fixed() -> None:
    arms = arms_with((20, 8, 2, 8))
    assert two(compare(arms, design(arms, sides="greater"))).decisive_p == pytest.approx(
        binomtest(8, 10, alternative="greater").pvalue
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"benchmark": "other@1"}, "different benchmarks"),
        ({"label": "A"}, "two arms are called 'A'"),
        ({"trials": ()}, "no episode with a result"),
        ({"trials": (trial_of(0, identity="two"), trial_of(1, identity="three"))}, "2 different policies"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: dict[str, object], words: str) -> None:
    a, b = arms_with((3, 1, 1, 1))
    other = dataclasses.replace(b, **change)  # type: ignore[arg-type]
    with pytest.raises(ComparisonRefusedError, match=words):
        compare((a, other), design((a, other)))


def test_a_policy_against_itself_is_said() -> None:
    a, b = arm_of("A", [trial_of(0, identity="same")]), arm_of("B", [trial_of(0, identity="same")])
    assert "this compares a policy with itself" in two(compare((a, b), design((a, b)))).notes[0]


def test_a_comparison_is_strict_json() -> None:
    arms = arms_with((5, 1, 1, 1))
    found = compare(arms, design(arms))
    text = json.dumps(found.model_dump(mode="json"), allow_nan=False)
    assert Comparison.model_validate_json(text) == found


def test_unpaired_tasks_in_other_shares_do_not_turn_the_verdict() -> None:
    def arm(label: str, easy: tuple[int, int], hard: tuple[int, int]) -> Arm:
        tasks = (("to-4", *easy), ("to-5", *hard))
        trials = tuple(trial_of(i, i < good, task) for task, good, n in tasks for i in range(n))
        return Arm(label, label, trials, unpairable="no states")

    arms = [arm("A", (38, 40), (60, 200)), arm("B", (160, 200), (4, 40)), arm("C", (20, 40), (0, 200))]
    found = compare(arms, design(arms).model_copy(update={"test": "stratified"}))
    first = found.comparisons[0]
    assert first.better == "A"
    assert first.overall.difference == pytest.approx((0.15 + 0.2) / 2)
    assert first.verdict.startswith("A is better than B: A minus B is +17.5 points")
    assert [(rank.label, rank.low) for rank in found.ranks] == [("A", 1), ("B", 2), ("C", 3)]


def test_progress_decides_by_its_own_sign() -> None:
    arms = [
        Arm(
            label,
            label,
            tuple(trial_of(i, i < good, progress=score + 0.001 * i) for i in range(40)),
            unpairable="no states",
        )
        for label, good, score in (("A", 24, 0.2), ("B", 22, 0.8), ("C", 8, 0.5))
    ]
    found = compare(arms, design(arms).model_copy(update={"test": "progress"}))
    assert [two.better for two in found.comparisons] == ["B", "C", "B"]
    assert found.comparisons[0].verdict.startswith("B is better than A: A minus B is -60.0 points of progress")
    assert [(rank.label, rank.low) for rank in found.ranks] == [("A", 3), ("B", 1), ("C", 2)]
