"""The pinned numbers are part of the record format: when one changes, old runs can no longer be compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess_link.digest import content_id
from vlassess_link.errors import ContractError
from vlassess_link.seeds import STREAMS, episode_seed, noise, policy_seed, stream

KEY = content_id(["fake@1", "walk", "to-4", 0, None])
KEYS = st.text("0123456789abcdef", min_size=20, max_size=20)
SEEDS = st.integers(0, 2**63 - 1)


def test_pinned_seeds() -> None:
    assert KEY == "5d21745b28785729ca84"
    assert episode_seed(0, KEY) == 3395781367316586811
    assert episode_seed(7, KEY) == 3738974244556495439
    assert [policy_seed(0, KEY, repeat) for repeat in (0, 1)] == [8046741407957031642, 7794370209745152419]


def test_pinned_streams() -> None:
    first = {name: float(stream(episode_seed(0, KEY), name).random()) for name in STREAMS}
    assert first == {
        "layout": 0.8942117440331339,
        "appearance": 0.6617243646076401,
        "distractors": 0.8527216962874672,
        "camera": 0.533152630275512,
        "language": 0.757816646566869,
        "content": 0.5755600056691743,
        "dynamics": 0.9197440415946893,
        "disturbance": 0.08255094104144534,
    }


def test_pinned_noise() -> None:
    assert [float(noise(1, step).random()) for step in (0, 1)] == [0.6990345474368357, 0.4757645185899906]


@given(st.integers(0, 2**64), KEYS, st.integers(0, 1000))
def test_seeds_are_json_safe_and_the_policys_is_another(base: int, key: str, repeat: int) -> None:
    seed, own = episode_seed(base, key), policy_seed(base, key, repeat)
    assert 0 <= seed < 2**63
    assert 0 <= own < 2**63
    assert seed != own


@given(KEYS, KEYS)
def test_other_keys_bases_and_repeats_give_other_seeds(key: str, other: str) -> None:
    assert (episode_seed(0, key) == episode_seed(0, other)) == (key == other)
    assert episode_seed(0, key) != episode_seed(1, key)
    assert len({policy_seed(base, key, repeat) for base in (0, 1) for repeat in range(4)}) == 8


@given(SEEDS, st.sampled_from(STREAMS), st.sampled_from(STREAMS), st.integers(1, 50))
def test_drawing_from_one_stream_never_shifts_another(seed: int, drawn: str, watched: str, count: int) -> None:
    alone = stream(seed, watched).random(5)
    generators = {name: stream(seed, name) for name in STREAMS}
    if drawn != watched:
        generators[drawn].random(count)
    np.testing.assert_array_equal(generators[watched].random(5), alone)


@given(SEEDS)
def test_streams_differ_from_each_other(seed: int) -> None:
    assert len({float(stream(seed, name).random()) for name in STREAMS}) == len(STREAMS)


def test_streams_are_not_correlated() -> None:
    draws = np.array([[stream(seed, name).random() for name in STREAMS] for seed in range(500)])
    correlation = np.corrcoef(draws.T)
    assert np.abs(correlation - np.eye(len(STREAMS))).max() < 0.2


@given(SEEDS, st.integers(0, 1000))
def test_noise_is_a_function_of_seed_and_step_alone(seed: int, step: int) -> None:
    np.testing.assert_array_equal(noise(seed, step).random(3), noise(seed, step).random(3))
    assert noise(seed, step).random() != noise(seed, step + 1).random()


def test_an_unknown_stream_is_named_with_the_known_ones() -> None:
    with pytest.raises(ContractError, match="no seed stream is called 'lights'; the streams are layout, appearance"):
        stream(0, "lights")
