"""Gaps of cells against their controls, checked with statsmodels."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from vlassess.comparison.factors import adjusted, gap_of, verdict_of
from vlassess.schema.arms import Arm, Trial
from vlassess.schema.cells import PlannedCell
from vlassess_link.spaces import end_effector_delta
from vlassess_link.specs import Axis, BenchmarkSpec, CameraSpec, Level, TaskSpec

AXES = (
    Axis("light", (Level("dim"), Level("dark")), ("camera:front",)),
    Axis("object", (Level("mug"),), ("block", "camera:front")),
    Axis("start", (Level("far"),), ("block",), "unpaired"),
)
SPEC = BenchmarkSpec(
    "bench", "1", (TaskSpec("s", "t", 5),), end_effector_delta(), (CameraSpec("front", ((4, 4),)),), axes=AXES
)
DIM, DARK = PlannedCell("light", "dim"), PlannedCell("light", "dark")
MUG, FAR = PlannedCell("object", "mug"), PlannedCell("start", "far")


def trials(cell: Sequence[tuple[str, str]], outcomes: Sequence[bool], **changes: object) -> list[Trial]:
    return [
        dataclasses.replace(
            Trial("s", "t", index, "success" if success else "failure", cell=tuple(cell), pair_key=f"k{index}"),
            **{"state": {"block": [0.1 * index], "arm": [1.0]}, **changes},  # type: ignore[arg-type]
        )
        for index, success in enumerate(outcomes)
    ]


def drawn(seed: int, rate: float, n: int = 60) -> list[bool]:
    rng = random.Random(seed)
    return [rng.random() < rate for _ in range(n)]


def arm(*groups: Sequence[Trial]) -> Arm:
    return Arm("main", "run", tuple(trial for group in groups for trial in group))


@pytest.mark.parametrize(("a", "b"), [(0.9, 0.5), (0.5, 0.5), (0.2, 0.6)])
def test_a_paired_gap_is_the_exact_mcnemar_test_of_statsmodels(a: float, b: float) -> None:
    cell, control = drawn(1, a), drawn(2, b)
    gap = gap_of(DIM, arm(trials((), control), trials(DIM.key, cell)), SPEC, 0.05)
    counts = [
        [
            sum(x and y for x, y in zip(cell, control, strict=True)),
            sum(x > y for x, y in zip(cell, control, strict=True)),
        ],
        [
            sum(x < y for x, y in zip(cell, control, strict=True)),
            sum(not x and not y for x, y in zip(cell, control, strict=True)),
        ],
    ]
    assert gap.paired
    assert gap.effect.n_a == 60
    assert gap.effect.difference == pytest.approx(np.mean(cell) - np.mean(control))
    assert gap.effect.p_value == pytest.approx(mcnemar(counts, exact=True).pvalue)
    assert gap.effect.interval is not None
    assert gap.effect.interval.low < np.mean(cell) - np.mean(control) < gap.effect.interval.high
    assert gap.dropped == {}


def test_an_axis_that_changes_the_start_is_compared_without_pairs() -> None:
    cell, control = drawn(3, 0.4), drawn(4, 0.8)
    gap = gap_of(FAR, arm(trials((), control), trials(FAR.key, cell)), SPEC, 0.05)
    low, high = confint_proportions_2indep(sum(cell), 60, sum(control), 60, compare="diff", method="newcomb")
    assert not gap.paired
    assert gap.effect.interval == pytest.approx((low, high))
    assert gap.effect.test == "Boschloo"


def test_p_values_are_adjusted_as_statsmodels_does_and_over_valid_cells_only() -> None:
    control = trials((), drawn(5, 0.8))
    cells = (DIM, DARK, MUG)
    whole = arm(control, *(trials(cell.key, drawn(6 + i, 0.2 + 0.25 * i)) for i, cell in enumerate(cells)))
    gaps = [gap_of(cell, whole, SPEC, 0.05) for cell in cells]
    raw = [gap.effect.p_value for gap in gaps]
    assert adjusted(gaps) == pytest.approx(multipletests(raw, method="holm")[1])
    assert adjusted([gaps[0], None, gaps[2]]) == [
        pytest.approx(multipletests([raw[0], raw[2]], method="holm")[1][0]),
        None,
        pytest.approx(multipletests([raw[0], raw[2]], method="holm")[1][1]),
    ]
    assert adjusted([]) == []


def test_starts_that_differ_in_what_the_cell_may_not_change_are_no_pairs() -> None:
    control = trials((), [True] * 4)
    moved = trials(DIM.key, [True] * 4, state={"block": [9.0], "arm": [1.0]})
    assert gap_of(DIM, arm(control, moved), SPEC, 0.05).dropped == {"initial states differ": 4}
    mug = trials(MUG.key, [True] * 4, state={"block": [9.0], "arm": [1.0]})
    assert gap_of(MUG, arm(control, mug), SPEC, 0.05).effect.n_a == 4
    elsewhere = trials(MUG.key, [True] * 4, state={"block": [9.0], "arm": [2.0]})
    assert gap_of(MUG, arm(control, elsewhere), SPEC, 0.05).dropped == {"initial states differ": 4}
    unknown = trials(MUG.key, [True] * 4, state={})
    assert gap_of(MUG, arm(control, unknown), SPEC, 0.05).dropped == {"no initial state was measured": 4}


def test_where_everything_may_change_the_key_is_all_there_is() -> None:
    only = [trials(cell, [True] * 3, state={"block": [float(bool(cell))]}) for cell in ((), MUG.key)]
    assert gap_of(MUG, arm(*only), SPEC, 0.05).effect.n_a == 3


def test_what_has_no_result_is_counted_by_its_reason() -> None:
    control, cell = trials((), [True] * 4), trials(DIM.key, [False] * 3)
    cell[0] = dataclasses.replace(cell[0], ended="error")
    cell[1] = dataclasses.replace(cell[1], ended="missing")
    gap = gap_of(DIM, arm(control, cell), SPEC, 0.05)
    assert gap.effect.n_a == 1
    assert gap.dropped == {"ended in an error": 1, "was not run": 1, "no partner": 1}


def test_a_cell_within_a_scene_has_that_scene_as_its_control() -> None:
    scene, cell = (("light", "dim"),), PlannedCell("object", "mug", {"light": "dim"})
    whole = arm(trials((), [True] * 8), trials(scene, [True] * 8), trials(cell.key, [False] * 8))
    gap = gap_of(cell, whole, SPEC, 0.05)
    assert (gap.effect.difference, gap.effect.n_a) == (-1.0, 8)
    assert gap_of(cell, arm(trials((), [True] * 8), trials(cell.key, [False] * 8)), SPEC, 0.05).effect.n_a == 0


def test_verdicts_say_no_more_than_the_test() -> None:
    gap = gap_of(DIM, arm(trials((), [True] * 8), trials(DIM.key, [False] * 8)), SPEC, 0.05)
    better = gap_of(DIM, arm(trials((), [False] * 8), trials(DIM.key, [True] * 8)), SPEC, 0.05)
    nothing = gap_of(DIM, arm(trials((), [True] * 8)), SPEC, 0.05)
    assert verdict_of(gap, 0.01, 0.05) == "worse"
    assert verdict_of(better, 0.01, 0.05) == "better"
    assert verdict_of(gap, 0.06, 0.05) == "no difference found"
    assert verdict_of(nothing, None, 0.05) == "nothing to compare"
