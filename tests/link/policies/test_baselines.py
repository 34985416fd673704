"""The two policies that every other must beat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.link.models import START, observation
from vlassess_link.loading import load_target
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer

FOLDER = Path(__file__).parents[3] / "src/vlassess/policies"
FILES = {"random": FOLDER / "random_.py", "do_nothing": FOLDER / "do_nothing.py"}


def load(name: str, **params: Any) -> InProcessPolicy:
    return InProcessPolicy(load_target(str(FILES[name]), PredictModelServer, params))


def test_random_is_a_function_of_the_noise_seed_and_the_step() -> None:
    one, two = load("random", dims=3, chunk=4), load("random", dims=3, chunk=4)
    one.reset(START, 5)
    first = [one.predict(observation(0, step)).actions for step in (0, 4)]
    two.reset(START, 5)
    np.testing.assert_array_equal(two.predict(observation(9, 4)).actions, first[1])
    two.reset(START, 6)
    assert not np.array_equal(two.predict(observation(0, 0)).actions, first[0])
    assert first[0].shape == (4, 3)


def test_random_is_uniform() -> None:
    policy = load("random", chunk=5000)
    policy.reset(START, 1)
    actions = policy.predict(observation()).actions
    assert actions.min() >= -1
    assert actions.max() <= 1
    np.testing.assert_allclose(actions.mean(axis=0), 0, atol=0.04)
    np.testing.assert_allclose(actions.var(axis=0), 1 / 3, atol=0.02)


def test_do_nothing_holds_still_and_opens() -> None:
    policy = load("do_nothing")
    policy.reset(START, 1)
    actions = policy.predict(observation()).actions
    assert actions.shape == (10, 7)
    assert np.unique(actions, axis=0).tolist() == [[0, 0, 0, 0, 0, 0, -1]]


@pytest.mark.parametrize("name", ["random", "do_nothing"])
def test_what_they_declare(name: str) -> None:
    policy = load(name, chunk=6)
    assert (policy.spec.cameras, policy.spec.chunk, policy.spec.horizon) == ((), 6, 6)
    assert policy.spec.stochastic is (name == "random")
    assert "unknown" not in (policy.spec.identity.script_digest, policy.spec.identity.config_digest)


@pytest.mark.parametrize("name", ["random", "do_nothing"])
def test_they_are_short_scripts_that_need_no_more_than_the_wire(name: str) -> None:
    lines = FILES[name].read_text().splitlines()
    assert len(lines) < 50
    assert lines[0] == "# /// script"
    assert lines[2] == '# dependencies = ["numpy>=1.24", "msgpack>=1.0.8", "websockets>=15"]'
