"""A study on its benchmark: cells one by one, starts of a task, its runs, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.transfer.build import SPEC, few_shot, study_of, suites_spec
from vlassess.pipeline.transfer.planning import priced
from vlassess.schema.study import StudyConfig
from vlassess.stats.budget import discordance_from, mcnemar_power
from vlassess.transfer import Demonstrated, budget_of, checks_of, design_of
from vlassess.transfer.design import starts_for


def problems_of(config: StudyConfig, spec: Any = SPEC) -> list[str]:
    problems: list[str] = []
    design_of(config, spec, problems)
    return problems


def test_a_star_stands_for_each_level_and_one_run_holds_cells_controls_and_policies() -> None:
    design = design_of(study_of(cells=[{"axis": "light", "level": "*"}]), SPEC, [])
    assert [cell.name for cell in design.cells] == ["light=dim", "light=dark"]
    (part,) = design.parts
    assert list(part.config.policies) == ["one", "two"]
    assert part.config.episodes == 4
    assert [cell.level for cell in part.config.cells] == ["dim", "dark"]


def test_each_checkpoint_is_a_run_and_placeholders_are_filled_in() -> None:
    design = design_of(study_of(few_shot=few_shot()), SPEC, [])
    names = [part.name for part in design.parts]
    assert names == ["cells", "few-shot-full-2", "few-shot-full-5", "few-shot-head-2", "few-shot-head-5"]
    source = design.parts[2].config.policies["full-5"]
    assert source.params == {"weights": "/somewhere/full-5.onnx", "chunk": 5}
    assert [cell.axis for cell in design.parts[2].config.cells] == ["object"]


def test_a_seen_suite_whose_controls_are_the_same_trials_is_not_run_twice() -> None:
    shared = study_of(few_shot=few_shot(), retention={"suites": ["walk"]})
    assert [part.role for part in design_of(shared, SPEC, []).parts].count("retention") == 0
    fewer = study_of(few_shot=few_shot(), retention={"suites": ["walk"], "starts": 4})
    own = [part.name for part in design_of(fewer, SPEC, []).parts if part.role == "retention"]
    assert own == [
        "retention-before",
        "retention-full-2",
        "retention-full-5",
        "retention-head-2",
        "retention-head-5",
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"starts": 7}, "starts is 7, which cannot be spread evenly over 2 tasks; set it to 6 or 8"),
        ({"starts": 1}, "set it to 2"),
        ({"cells": [{"axis": "light", "level": "dim"}] * 2}, "cells has 'light=dim' twice"),
        ({"few_shot": few_shot(cell="object=mugg")}, "did you mean 'object=mug'?"),
        ({"real": {"cells": ["light=dimm"]}}, "did you mean 'light=dim'?"),
        ({"real": {"policies": ["three"]}}, "real.policies has 'three'"),
        ({"tasks": ["nothing/*"]}, "leaves a cell or control without a task"),
        ({"few_shot": few_shot(), "retention": {"suites": ["wlak"]}}, "did you mean 'walk'?"),
        ({"few_shot": few_shot(), "retention": {"suites": ["walk"], "starts": 3}}, "multiple of 2"),
    ],
)
def test_what_does_not_fit_is_told_with_its_mend(changes: dict[str, Any], told: str) -> None:
    assert told in " ".join(problems_of(study_of(**changes)))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"starts": None}, "exactly one of starts and claim"),
        ({"claim": {"delta": 0.1}}, "exactly one of starts and claim"),
        ({"benchmark": None}, "neither benchmark nor real"),
        ({"retention": {"suites": ["walk"]}}, "needs few_shot"),
        ({"few_shot": few_shot(policy="three")}, "which policies does not have"),
        ({"few_shot": few_shot(k=[5, 2])}, "let it increase"),
        ({"few_shot": few_shot(k=[])}, "needs k and methods"),
        ({"few_shot": few_shot(checkpoint={"name": "random"})}, "is the same for several"),
        ({"few_shot": few_shot(checkpoints=[])}, None),
        ({"cells": [{"axis": "a", "level": "b", "suite": "s"}]}, "suite and control belong together"),
        ({"cells": [{"axis": "a", "level": "b", "suite": "s", "control": "s"}]}, "a control is another suite"),
    ],
)
def test_what_no_benchmark_is_needed_for_is_refused_by_the_study_itself(
    changes: dict[str, Any], told: str | None
) -> None:
    if told is None:
        study_of(**changes)
        return
    with pytest.raises(ValidationError, match=told):
        study_of(**changes)


def test_starts_follow_from_the_claim_and_find_what_is_claimed_in_the_strictest_step() -> None:
    config = study_of(starts=None, claim={"delta": 0.3, "power": 0.8})
    design = design_of(config, SPEC, [])
    assert config.claim is not None
    exact = starts_for(config.claim, 0.05, 2)
    assert design.starts == exact + exact % 2
    assert mcnemar_power(exact, 0.3, discordance_from(0.3, 0.0), 0.025) >= 0.8
    assert mcnemar_power(exact - 1, 0.3, discordance_from(0.3, 0.0), 0.025) < 0.8


def test_suites_are_cells_where_no_factor_is_declared_and_the_audit_says_that_it_cannot() -> None:
    cells = [{"axis": "objects", "level": "new", "suite": "novel", "control": "seen"}]
    spec = suites_spec(seen=2, novel=2)
    design = design_of(study_of(cells=cells), spec, [])
    (part,) = design.parts
    assert part.config.suites == ("seen", "novel")
    assert part.config.cells == ()
    verdicts = {check.rule: check.verdict for check in checks_of(design, spec, (), Demonstrated())}
    assert verdicts["one axis a cell"] == "cannot be audited"


@pytest.mark.parametrize(
    ("demonstrated", "verdict"),
    [
        (Demonstrated(), "cannot be audited"),
        (Demonstrated(problem="the file is gone"), "cannot be audited"),
        (Demonstrated(frozenset({"1", "2"})), "ok"),
        (Demonstrated(frozenset({"1", "7"})), "refused"),
    ],
)
def test_a_start_that_was_demonstrated_is_refused(demonstrated: Demonstrated, verdict: str) -> None:
    design = design_of(study_of(few_shot=few_shot()), SPEC, [])
    found = {check.rule: check.verdict for check in checks_of(design, SPEC, {"7", "8"}, demonstrated)}
    assert found["evaluation starts held out"] == verdict


@pytest.mark.parametrize(
    ("taught", "tried", "verdict"),
    [(["mug 1"], ["mug 2"], "ok"), (["mug 1"], ["mug 1"], "refused"), (["mug 1"], [], "cannot be audited")],
)
def test_an_object_that_was_demonstrated_is_refused(taught: list[str], tried: list[str], verdict: str) -> None:
    config = study_of(few_shot=few_shot(objects=tried, demonstrations={"objects": taught}))
    design = design_of(config, SPEC, [])
    found = {check.rule: check.verdict for check in checks_of(design, SPEC, (), Demonstrated())}
    assert found["evaluation objects held out"] == verdict


def test_a_start_that_the_axis_changes_is_said_to_be_unpaired() -> None:
    design = design_of(study_of(cells=[{"axis": "start", "level": "far"}]), SPEC, [])
    told = [check for check in checks_of(design, SPEC, (), Demonstrated()) if check.verdict == "note"]
    assert "start=far change the start itself" in told[0].sentence


def test_the_budget_says_what_the_seed_of_the_protocol_says() -> None:
    pilot = budget_of((100, 0), (None, 0.0), 20, 1, (0.05, 0.8))
    assert pilot.half_width == pytest.approx(0.22, abs=0.005)
    assert pilot.pilot
    assert "no ranking" in " ".join(pilot.sentences)
    assert not budget_of((100, 0), (None, 0.0), 192, 1, (0.05, 0.8)).pilot
    assert budget_of((0, 192), (None, 90.0), 192, 1, (0.05, 0.8)).hours_by_hand == pytest.approx(4.8)


def test_what_can_be_claimed_by_hand_is_told_beside_the_simulation() -> None:
    design = design_of(study_of(real={"starts": 4}), SPEC, [])
    found = priced(design, {})
    assert (found.starts, found.starts_by_hand, found.by_hand) == (8, 4, 4 * 2 * 3)
    assert "By hand, a cell's rate is known to 49 points (4 starts)." in found.sentences
    alone = priced(design_of(study_of(benchmark=None, real={"starts": 20}), None, []), {})
    assert (alone.starts, alone.starts_by_hand) == (20, 0)
