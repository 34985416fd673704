"""What each part of the analysis says of trials that are written down here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from tests.transfer_studies import Truth, simulated
from vlassess.schema.transfer import Rules, Trial
from vlassess.stats.curves import Curve
from vlassess.transfer.analysis import analyse_study, findings

RULES = Rules(draws=200)
CONTROL = Trial("p", "control", "", None, cell="control")
CELL = Trial("p", "cell", "", None, cell="object=new", axis="object", level="new", control="control")
BEFORE = Trial("p", "seen-before", "", None, suite="seen")
AFTER = Trial("p", "seen-after", "", None, suite="seen", k=10, method="full")


def ran(like: Trial, outcomes: str, **changes: object) -> list[Trial]:
    """Return one trial a sign: 1 success, 0 failure, - no result."""
    results = {"1": True, "0": False, "-": None}
    return [
        replace(like, start_key=f"s{index:03d}", success=results[sign], **changes)  # type: ignore[arg-type]
        for index, sign in enumerate(outcomes)
    ]


def test_a_gap_is_that_of_the_pairs_and_statsmodels_test() -> None:
    control, cell = "1" * 30 + "0" * 10, "1" * 16 + "0" * 14 + "1" * 2 + "0" * 8
    found = findings([*ran(CONTROL, control), *ran(CELL, cell)], RULES).cells[0]
    assert (found.gap.only_first, found.gap.only_second, found.gap.pairs) == (2, 14, 40)
    assert found.gap.difference == pytest.approx(-12 / 40)
    assert found.gap.p_value == pytest.approx(mcnemar([[16, 2], [14, 8]], exact=True).pvalue)
    assert found.verdict == "worse"


def test_p_values_are_corrected_over_the_cells_of_a_policy() -> None:
    trials = ran(CONTROL, "1" * 20)
    for name in ("a", "b", "c"):
        trials += ran(replace(CELL, cell=f"object={name}", level=name), "1" * 14 + "0" * 6)
    cells = findings(trials, RULES).cells
    assert [cell.gap.p_value for cell in cells] == pytest.approx([2 / 64] * 3)
    assert [cell.gap.corrected for cell in cells] == pytest.approx([6 / 64] * 3)
    assert {cell.verdict for cell in cells} == {"no difference found"}
    raw = findings(trials, replace(RULES, correction="none")).cells
    assert {cell.verdict for cell in raw} == {"worse"}


def test_what_has_no_result_is_in_no_rate_and_in_no_pair() -> None:
    found = findings([*ran(CONTROL, "11-1"), *ran(CELL, "1-01")], RULES)
    cell = found.cells[0]
    assert (cell.share.successes, cell.share.n, cell.unfinished) == (2, 3, 1)
    assert cell.gap.pairs == 2
    assert (found.trials, found.unfinished) == (8, 2)


def test_a_cell_without_control_is_not_compared() -> None:
    found = analyse_study(ran(CELL, "1100"), RULES)
    assert found.every.cells[0].verdict == "nothing to compare"
    assert found.every.cells[0].gap.difference is None
    assert any("Without a control" in note for note in found.notes)


def test_a_cell_that_changes_the_start_is_not_paired() -> None:
    cell = findings([*ran(CONTROL, "1110" * 10), *ran(CELL, "1000" * 10, matched=False)], RULES).cells[0]
    assert not cell.gap.paired
    assert "Boschloo" in cell.gap.test
    assert cell.gap.difference == pytest.approx(-0.5)


def test_flagged_trials_stay_in_and_the_result_without_them_stands_beside() -> None:
    trials = [*ran(CONTROL, "1" * 20), *ran(CELL, "1" * 10 + "0" * 10)]
    trials = [replace(one, flagged=one.role == "cell" and one.start_key >= "s010") for one in trials]
    found = analyse_study(trials, RULES)
    assert found.every.cells[0].share.n == 20
    assert found.unflagged is not None
    assert found.unflagged.cells[0].share.n == 10
    effect = found.flag_effects[0]
    assert (effect.flagged, effect.rate, effect.rate_without) == (10, 0.5, 1.0)
    assert (effect.verdict, effect.verdict_without) == ("worse", "no difference found")


def test_interventions_are_an_outcome_of_their_own() -> None:
    trials = ran(CELL, "1111", interventions=0)[:2] + ran(CELL, "1110", interventions=2)[2:]
    trials += ran(replace(CELL, policy="q"), "1111")
    found = findings(trials, RULES).interventions
    assert len(found) == 1
    assert (found[0].intervened.successes, found[0].intervened.n) == (2, 4)
    assert found[0].per_trial == 1.0
    assert found[0].unaided.successes == 2


def test_retention_is_shown_lost_or_left_open() -> None:
    many, rules = "1" * 180 + "0" * 20, replace(RULES, margin=0.1)
    kept = findings([*ran(BEFORE, many), *ran(AFTER, many)], rules).retention[0]
    lost = findings([*ran(BEFORE, many), *ran(AFTER, "1" * 90 + "0" * 110)], rules).retention[0]
    few = findings([*ran(BEFORE, "1" * 8), *ran(AFTER, "1" * 8)], rules).retention[0]
    assert [one.verdict for one in (kept, lost, few)] == ["retained", "forgotten", "not shown"]
    assert lost.ratio == pytest.approx(0.5)
    assert lost.change.difference == pytest.approx(-0.45)
    assert lost.ratio_interval is not None
    assert lost.ratio_interval.low < 0.5 < lost.ratio_interval.high


def test_a_cell_is_k_0_of_the_curve_to_its_target() -> None:
    trials = ran(CELL, "1000" * 10)
    for k, outcomes in ((5, "1100" * 10), (20, "1110" * 10)):
        trials += ran(Trial("p", "few-shot", "", None, cell="object=new", k=k, method="head"), outcomes)
    curve = findings(trials, RULES).curves[0]
    assert [(point.k, point.share.successes) for point in curve.points] == [(0, 10), (5, 20), (20, 30)]
    assert curve.matched
    assert curve.band is not None


def test_two_values_of_k_are_shown_without_a_curve() -> None:
    trials = ran(CELL, "1000" * 5) + ran(Trial("p", "few-shot", "", None, cell="object=new", k=5, method="m"), "1" * 20)
    curve = findings(trials, RULES).curves[0]
    assert (curve.unidentified, curve.tau, curve.band) == ("too few K", None, None)
    assert len(curve.points) == 2


def test_repeats_of_a_start_are_not_counted_as_independent() -> None:
    trials = [*ran(CONTROL, "1" * 12), *ran(CELL, "1" * 6 + "0" * 6)]
    repeated = [replace(one, repeat=repeat) for one in trials for repeat in range(5)]
    once, often = (findings(each, RULES).cells[0].gap for each in (trials, repeated))
    assert often.pairs == 60
    assert once.p_value is not None
    assert often.p_value == pytest.approx(once.p_value)


def test_repeats_of_a_start_retain_no_more_than_the_starts_do() -> None:
    before, after = ran(BEFORE, "1" * 18 + "00"), ran(AFTER, "1" * 17 + "000")
    repeated = [replace(one, repeat=repeat) for one in (*before, *after) for repeat in range(20)]
    found = findings(repeated, replace(RULES, margin=0.1)).retention[0]
    assert found.change.pairs == 400
    assert found.p_value is not None
    assert found.p_value > 0.1  # one start of twenty changed; taken for 400 pairs it would be 0.0004


def test_pairs_over_two_sessions_are_told() -> None:
    found = analyse_study([*ran(CONTROL, "11", session="monday"), *ran(CELL, "10", session="tuesday")], RULES)
    assert found.every.cells[0].gap.across_sessions == 2
    assert any("different sessions" in note for note in found.notes)


@pytest.mark.parametrize("test", ["stratified", "progress"])
def test_the_other_tests_of_a_gap(test: str) -> None:
    trials = [*ran(CONTROL, "1110" * 10), *ran(CELL, "1000" * 10)]
    trials = [
        replace(one, task=f"t{int(one.start_key[1:]) % 2}", progress=0.8 if one.success else 0.2) for one in trials
    ]
    gap = findings(trials, replace(RULES, test=test)).cells[0].gap  # type: ignore[arg-type]
    assert gap.difference == pytest.approx(-0.5)
    assert gap.p_value is not None
    assert gap.p_value < 0.01


def test_progress_of_cells_that_change_the_start_is_tested_by_permutation() -> None:
    control = [replace(one, progress=0.9) for one in ran(CONTROL, "1" * 20)]
    cell = [replace(one, progress=0.5) for one in ran(CELL, "1" * 20, matched=False)]
    found = findings([*control, *cell], replace(RULES, test="progress")).cells[0]
    assert "permutation" in found.gap.test
    assert found.gap.difference == 0.0
    assert found.progress_gap.mean == pytest.approx(-0.4)
    assert found.verdict == "worse"


def test_the_order_of_trials_changes_nothing() -> None:
    truth = Truth({"a": 0.8, "b": 0.5}, {"object=new": -0.2}, {"full": Curve(0.2, 0.8, 4)}, n=30)
    trials = simulated(truth, np.random.default_rng(0))
    shuffled = [trials[index] for index in np.random.default_rng(1).permutation(len(trials))]
    assert analyse_study(trials, RULES) == analyse_study(shuffled, RULES)


def test_simulation_and_reality_are_compared_where_both_ran() -> None:
    cells = {"object=new": -0.1, "camera=far": -0.3}
    rng = np.random.default_rng(2)
    simulation = simulated(Truth({"a": 0.9, "b": 0.6, "c": 0.3}, cells, n=200), rng)
    robot = simulated(Truth({"a": 0.6, "b": 0.9, "c": 0.35}, cells, n=60), rng)
    found = analyse_study(simulation, RULES, [one for one in robot if one.cell != "camera=far"])
    check = found.reality
    assert check is not None
    assert found.real is not None
    assert found.real.source == "robot"
    assert [one.scope for one in check.agreements] == ["mean over cells", "control", "object=new"]
    overall = check.agreements[0]
    assert overall.tau == pytest.approx(1 / 3)
    assert overall.mmrv is not None
    assert overall.mmrv > 0.1
    assert (check.reversals[0].better_real, check.reversals[0].better_simulated) == ("b", "a")
    assert check.reversals[0].chance > 0.95
    assert check.discrepancies[0].corrected < 0.05
    assert check.only_simulated == ("a, camera=far", "b, camera=far", "c, camera=far")


def test_twenty_trials_are_called_a_pilot_and_two_hundred_are_not() -> None:
    # 22 points at n = 20, and an interval that resolves ten points at n = 200: figures of the protocol's description.
    few, many = (
        analyse_study([*ran(CONTROL, "10" * n), *ran(CELL, "10" * n)], RULES, source="robot") for n in (10, 100)
    )
    assert any("20 trials a cell" in note and "22 points" in note for note in few.notes)
    assert not any("pilot" in note for note in many.notes)


def test_no_trial_is_no_finding() -> None:
    found = analyse_study([], RULES).every
    assert not any((found.cells, found.controls, found.curves, found.retention, found.rankings, found.interventions))


def elsewhere(trials: list[Trial], *numbers: int) -> list[Trial]:
    """Return the trials, of which some began at another start than was planned."""
    return [
        replace(trial, start_key=f"{trial.start_key}~1", refuted_key=trial.start_key) if index in numbers else trial
        for index, trial in enumerate(trials)
    ]


def test_refuted_pairs_are_counted_out_and_told_with_and_without() -> None:
    control, cell = ran(CONTROL, "1" * 10), ran(CELL, "0" * 6 + "1" * 4)
    sound = analyse_study([*control, *cell], RULES)
    assert (sound.every.cells[0].verdict, sound.notes[1:]) == ("worse", ())
    found = analyse_study([*control, *elsewhere(cell, 0)], RULES)
    (row,) = found.every.cells
    assert (row.gap.pairs, row.verdict, row.share) == (9, "no difference found", sound.every.cells[0].share)
    assert found.notes[1:] == (
        "1 of 20 trials did not begin in the measured state of the others with their key, or nobody measured it: they "
        "are in the rates, and in no pair with these.",
        "p, object=new: -56 points over 9 pairs, no difference found; with the refuted pairs -60 points over 10 pairs, "
        "worse.",
    )


def test_arms_of_which_every_pair_is_refuted_are_compared_unpaired() -> None:
    control, cell = ran(CONTROL, "1" * 10), ran(CELL, "0" * 6 + "1" * 4)
    for trials in ([*control, *elsewhere(cell, *range(10))], [*elsewhere(control, *range(10)), *cell]):
        found = analyse_study(trials, RULES)
        gap = found.every.cells[0].gap
        assert (gap.paired, gap.pairs, gap.test) == (False, 10, "Boschloo, Newcombe interval")
        assert "over 10 unpaired trials" in found.notes[-1]
        assert not [note for note in found.notes if "change the start" in note]
