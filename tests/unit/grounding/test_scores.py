"""Scores of grounding, against the tables of RoboSemanticBench (arXiv:2606.02277)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.grounding.scores import Tried, against_chance, nsg, scores

CHOICES = (4, 10, 4, 10, 4, 10)

# Table 6: GSR and TSR of Math-4, Math-10, HardMath-4, HardMath-10, General-4, General-10; then both averages.
TABLE_6 = {
    "OpenVLA-OFT": ("97 10.3 92.3 3.5 100 20.5 83.1 7.6 87.5 16.7 100 8.0", "93.3 11.1"),
    "GO1": ("91.2 3.8 96.0 2.2 58.4 1.4 96.8 2.0 70.8 0.2 100 2.4", "85.5 2.0"),
    "DexVLA": ("63.6 13.6 17.5 2.1 25.0 5.3 22.7 1.8 87.0 12.2 26.7 3.7", "40.4 6.5"),
    "TinyVLA": ("36.4 7.9 42.8 4.3 46.8 11.9 61.0 5.7 56.3 14.8 49.6 6.8", "48.8 8.6"),
    "PD-VLA": ("42.1 10.9 44.2 5.3 41.8 9.8 36.8 5.1 40.0 14.2 92.3 8.8", "49.5 9.0"),
    "pi0": ("91.0 13.0 100 5.4 100 25.8 100 6.6 99.4 18.0 100 7.6", "98.4 12.7"),
    "pi0.5": ("98.0 32.8 100 12.0 100 25.8 100 16.2 100 24.2 100 19.6", "99.7 21.8"),
    "GR00T N1.7": ("96.6 13.8 97.6 3.4 99.2 18.4 98.0 9.2 98.2 23.4 99.2 7.4", "98.1 12.6"),
    "QwenGR00T": ("96.8 18.4 97.6 3.4 99.6 24.4 98.8 1.8 81.2 15.8 96.8 0.6", "95.1 10.7"),
}
# Table 2: nSG of the six suites, then its average.
TABLE_2 = {
    "OpenVLA-OFT": "-19.2 -6.9 -6.0 -0.9 -7.9 -2.2 -7.2",
    "GO1": "-27.8 -8.6 -30.1 -8.8 -33.0 -8.4 -19.4",
    "DexVLA": "-4.8 2.2 -5.1 -2.3 -14.6 4.3 -3.4",
    "TinyVLA": "-4.4 0.1 0.6 -0.7 1.7 4.1 0.2",
    "PD-VLA": "1.2 2.2 -2.1 4.3 14.0 -0.5 3.2",
    "pi0": "-14.3 -5.1 1.1 -3.8 -9.2 -2.7 -5.7",
    "pi0.5": "11.3 2.2 1.1 6.9 -1.1 10.7 5.2",
    "GR00T N1.7": "-14.3 -7.2 -8.6 -0.7 -1.6 -2.8 -5.9",
    "QwenGR00T": "-8.0 -7.2 -0.7 -9.1 -7.4 -10.4 -7.1",
}
# Tables 7 and 8: GSR and TSR of the everyday objects, then both averages.
BEYOND = {
    "pi0.5": ("96.2 32.4 96.8 11.8 97.4 24.6 96.0 15.8 97.4 23.6 97.2 19.2", "96.8 21.2"),
    "GR00T N1.7": ("95.2 13.4 96.4 3.2 98.4 18.8 97.8 9.4 96.8 22.6 97.2 7.0", "97.0 12.4"),
}


def read(text: str) -> np.ndarray:
    return np.array(text.split(), dtype=float)


@pytest.mark.parametrize("model", TABLE_2)
def test_table_2_comes_out_of_table_6(model: str) -> None:
    rates = read(TABLE_6[model][0]).reshape(6, 2)
    found = [nsg(tsr, gsr, choices) for (gsr, tsr), choices in zip(rates, CHOICES, strict=True)]
    told = [100 * score for score in found if score is not None]
    # Both tables are rounded to 0.1; a TSR that was rounded by 0.05 moves nSG by up to 0.05 / GSR / (1 - 1/N).
    slack = 0.05 + 100 * 0.05 / rates[:, 0] / (1 - 1 / np.array(CHOICES))
    assert (np.abs(np.array(told) - read(TABLE_2[model])[:6]) <= slack + 1e-9).all()
    assert np.mean(told) == pytest.approx(read(TABLE_2[model])[6], abs=0.11)


@pytest.mark.parametrize("rates", [*TABLE_6.values(), *BEYOND.values()])
def test_averages_come_out(rates: tuple[str, str]) -> None:
    assert read(rates[0]).reshape(6, 2).mean(0) == pytest.approx(read(rates[1]), abs=0.0501)


def episodes(right: int, wrong: int, none: int, placed: int = 0) -> list[Tried]:
    chosen = [*[True] * right, *[False] * wrong, *[None] * none]
    return [Tried(each, place < placed) for place, each in enumerate(chosen)]


def test_scores_of_a_policy_that_knows_but_drops() -> None:
    found = scores(episodes(96, 0, 4, placed=60), 4, np.random.default_rng(0))
    assert (found.gsr.rate, found.tsr_grasp.rate, found.tsr_place.rate, found.nsg) == (0.96, 0.96, 0.6, 1.0)
    assert found.chance.verdict == "above chance"
    assert found.sentence.startswith("above chance: 96 of 96 grasped candidates were the right one, where 1 in 4 is")
    assert found.nsg_interval is not None
    assert found.nsg_interval.high == 1.0


def test_without_a_grasp_grounding_is_undefined_and_never_0() -> None:
    found = scores(episodes(0, 0, 20), 10, np.random.default_rng(0))
    assert (found.gsr.rate, found.nsg, found.nsg_interval, found.nsg_bootstrap) == (0.0, None, None, None)
    assert found.chance.verdict == "no grasp"
    assert "undefined" in found.sentence
    assert scores([], 4, np.random.default_rng(0)).gsr.rate is None


def test_a_verdict_says_what_would_be_needed() -> None:
    found = scores(episodes(15, 35, 0), 4, np.random.default_rng(0))
    assert found.chance.verdict == "not distinguishable from chance"
    assert found.chance.needed is not None
    assert f"about {found.chance.needed} grasps would tell" in found.sentence
    again = against_chance(round(0.3 * found.chance.needed), found.chance.needed, 4)
    assert again.p_value is not None
    assert again.p_value < 0.05
    assert against_chance(5, 20, 4).needed is None


@pytest.mark.parametrize(("tsr", "gsr", "choices"), [(0.5, 0.4, 4), (-0.1, 0.4, 4), (0.1, 0.4, 1)])
def test_rates_that_cannot_be_are_refused(tsr: float, gsr: float, choices: int) -> None:
    with pytest.raises(ValueError, match=r"must be from 0 to gsr|has no meaning"):
        nsg(tsr, gsr, choices)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.sampled_from([2, 4, 10]))
def test_intervals_hold_the_score(right: int, wrong: int, none: int, choices: int) -> None:
    found = scores(episodes(right, wrong, none), choices, np.random.default_rng(1))
    if found.nsg is None:
        assert right + wrong == 0
        return
    assert found.nsg_interval is not None
    assert found.nsg_bootstrap is not None
    assert found.nsg_interval.low <= found.nsg <= found.nsg_interval.high
    assert -1 / (choices - 1) - 1e-9 <= found.nsg_bootstrap.low <= found.nsg_bootstrap.high <= 1 + 1e-9


def test_blind_choices_are_called_so_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(3)
    called = sum(against_chance(int(rng.binomial(200, 0.1)), 200, 10).verdict.startswith("not") for _ in range(400))
    assert called >= 370
