from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

from vlassess.stats.sequential import (
    Block,
    DifferenceState,
    RateState,
    advance,
    advance_rate,
    block_of,
    log_capital,
)

blocks = st.builds(Block, *[st.integers(0, 6)] * 3).filter(lambda block: sum(block[:3]) > 0)


def after(*given_blocks: Block, alpha: float = 0.05) -> DifferenceState:
    state = DifferenceState(alpha=alpha)
    for block in given_blocks:
        state = advance(state, block)
    return state


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (5, 0), (12, 3), (60, 40), (300, 250), (2500, 2400)])
def test_against_the_closed_form_of_the_beta_binomial(won: int, lost: int) -> None:
    closed = betaln(1.5 + won, 1.5 + lost) - betaln(1.5, 1.5) + (won + lost) * math.log(2)
    assert log_capital(won, lost, 17) == pytest.approx(closed, abs=1e-8)


def expected_capital(differences: list[float], agreement: float, claim: float, length: int) -> float:
    """Expectation of the capital after a block, by going through all its outcomes: each task has its own difference."""
    total = 0.0
    for signs in itertools.product((1, 0, -1), repeat=length):
        chance = 1.0
        for sign, difference in zip(signs, differences, strict=True):
            moved = 1 - agreement
            chance *= {1: (moved + difference) / 2, 0: agreement, -1: (moved - difference) / 2}[sign]
        total += chance * math.exp(log_capital(signs.count(1), signs.count(-1), signs.count(0), claim))
    return total


@pytest.mark.parametrize(
    ("differences", "claim"),
    [
        ([0.0] * 5, 0.0),
        ([0.2] * 5, 0.2),
        ([-0.3] * 4, -0.3),
        ([0.4, -0.4, 0.3, -0.3], 0.0),
        ([0.5, 0.1, -0.1, 0.3, 0.2], 0.2),
    ],
)
def test_a_true_claim_loses_no_capital_on_average_whatever_the_tasks(differences: list[float], claim: float) -> None:
    value = expected_capital(differences, 0.4, claim, len(differences))
    assert value <= 1 + 1e-9
    if len(set(differences)) == 1:
        assert value == pytest.approx(1.0)


def test_false_alarms_by_exact_recursion_over_all_paths() -> None:
    """Looking after every one of 400 discordant pairs, the chance of ever crossing stays below alpha."""
    paths, alarm, limit = {0: 1.0}, 0.0, math.log(20)
    for pairs in range(1, 401):
        stepped: dict[int, float] = {}
        for won, chance in paths.items():
            for now in (won, won + 1):
                stepped[now] = stepped.get(now, 0.0) + chance / 2
        crossed = {won for won in stepped if crosses(won, pairs - won, limit)}
        alarm += sum(stepped[won] for won in crossed)
        paths = {won: chance for won, chance in stepped.items() if won not in crossed}
    assert alarm + sum(paths.values()) == pytest.approx(1.0)
    assert 0.01 < alarm <= 0.05


def crosses(won: int, lost: int, limit: float) -> bool:
    closed = float(betaln(1.5 + won, 1.5 + lost) - betaln(1.5, 1.5)) + (won + lost) * math.log(2)
    return closed >= limit


def test_a_clear_difference_is_decided_early_and_stays_decided() -> None:
    state = after(*[Block(1, 0, 1)] * 9)
    assert state.decided
    assert state.p_value < 0.05
    assert state.low > 0
    later = advance(state, Block(0, 7, 0))
    assert later.log_e < state.log_e
    assert later.decided
    assert later.p_value == state.p_value


def test_evidence_for_both_sides_leaves_the_earlier_interval() -> None:
    state = after(*[Block(1, 0, 0)] * 20)
    turned = advance(state, Block(0, 200, 0))
    assert turned.low <= turned.high
    assert turned.interval == state.interval
    rate = advance_rate(RateState(), 0, 200)
    assert advance_rate(rate, 3000, 0).interval == rate.interval


def test_agreement_is_no_evidence_but_narrows_the_interval() -> None:
    state = after(*[Block(0, 0, 10)] * 10)
    assert state.p_value == pytest.approx(1.0)
    assert not state.decided
    assert state.low == pytest.approx(-state.high)
    assert 0.04 < state.high < 0.08


@given(given_blocks=st.lists(blocks, min_size=1, max_size=12), cut=st.integers(0, 12))
@settings(deadline=None, max_examples=40)
def test_a_stopped_comparison_goes_on_from_its_json(given_blocks: list[Block], cut: int) -> None:
    whole = after(*given_blocks)
    stopped = after(*given_blocks[:cut])
    stored = json.dumps(dataclasses.asdict(stopped), allow_nan=False)
    state = DifferenceState(**json.loads(stored))
    for block in given_blocks[cut:]:
        state = advance(state, block)
    assert state == whole


@given(given_blocks=st.lists(blocks, min_size=1, max_size=10))
@settings(deadline=None, max_examples=60)
def test_properties(given_blocks: list[Block]) -> None:
    state = DifferenceState()
    for block in given_blocks:
        later = advance(state, block)
        assert later.low >= state.low
        assert later.high <= state.high
        assert later.p_value <= state.p_value
        state = later
    assert state.decided == (not state.low <= 0 <= state.high)
    mirrored = after(*(Block(block.only_b, block.only_a, block.same) for block in given_blocks))
    assert mirrored.max_log_e == pytest.approx(state.max_log_e)
    assert (-mirrored.high, -mirrored.low) == pytest.approx((state.low, state.high), abs=1e-9)


@pytest.mark.parametrize("difference", [-0.9, -0.2, 0.0, 0.35, 0.8])
def test_the_capital_is_convex_in_the_claim(difference: float) -> None:
    claims = np.linspace(-0.99, 0.99, 199)
    values = np.exp([log_capital(7, 3, 5, float(claim)) - 20 for claim in claims])
    assert (np.diff(values, 2) >= -1e-12 * values[1:-1]).all()
    middle = np.exp(log_capital(7, 3, 5, difference))
    sides = [np.exp(log_capital(7, 3, 5, difference + step)) for step in (-0.05, 0.05)]
    assert middle <= sum(sides) / 2


def test_the_interval_is_what_the_capital_does_not_reject() -> None:
    state = after(Block(14, 5, 21))
    grid = np.linspace(-1, 1, 4001)
    kept = [d for d in grid if log_capital(14, 5, 21, float(d)) < math.log(20)]
    assert state.interval == pytest.approx((min(kept), max(kept)), abs=1e-3)


@pytest.mark.parametrize(("successes", "failures"), [(0, 10), (10, 0), (7, 3), (180, 20)])
def test_the_rates_interval_is_what_its_capital_does_not_reject(successes: int, failures: int) -> None:
    state = advance_rate(RateState(), successes, failures)
    grid = np.linspace(0, 1, 20_001)[1:-1]
    mixture = betaln(successes + 0.5, failures + 0.5) - betaln(0.5, 0.5)
    kept = grid[mixture - successes * np.log(grid) - failures * np.log1p(-grid) < math.log(20)]
    assert state.interval == pytest.approx((kept.min(), kept.max()), abs=1e-4)


def test_the_confidence_sequences_hold_at_all_looks_together() -> None:
    rng = np.random.default_rng(20260101)
    missed_rate = missed_difference = 0
    for _ in range(40):
        rate, difference = RateState(), DifferenceState()
        for _ in range(25):
            a, b = rng.random(6) < [0.9, 0.9, 0.5, 0.7, 0.8, 1.0], rng.random(6) < [0.5, 0.7, 0.5, 0.6, 0.7, 1.0]
            rate = advance_rate(rate, int(a.sum()), int((~a).sum()))
            difference = advance(difference, block_of(a, b))
        missed_rate += not rate.low <= 0.8 <= rate.high
        missed_difference += not difference.low <= 0.8 - 4.0 / 6 <= difference.high
    assert missed_rate <= 5
    assert missed_difference <= 5


def test_a_block_counts_outcomes_by_place() -> None:
    assert block_of([1, 1, 0, 0], [1, 0, 1, 0]) == Block(1, 1, 2)
    with pytest.raises(ValueError, match="equally long"):
        block_of([1], [1, 0])


@pytest.mark.parametrize("block", [Block(0, 0, 0), Block(-1, 2, 0)])
def test_impossible_blocks_are_refused(block: Block) -> None:
    with pytest.raises(ValueError, match="a block needs pairs"):
        advance(DifferenceState(), block)
    with pytest.raises(ValueError, match="a block needs episodes"):
        advance_rate(RateState(), 0, 0)
    with pytest.raises(ValueError, match="alpha is 5"):
        DifferenceState(alpha=5)
    with pytest.raises(ValueError, match="alpha is 0"):
        RateState(alpha=0)
    with pytest.raises(ValueError, match="difference is 3"):
        log_capital(1, 1, 1, 3)
