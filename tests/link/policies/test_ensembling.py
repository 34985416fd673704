"""Chunks that really overlap, against a plain loop over all that was ever said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.link.models import START, observation
from vlassess_link.data import ActionChunk, Observation
from vlassess_link.errors import ContractError, InvalidActionError, PluginError, PredictError
from vlassess_link.policies.ensembling import EnsemblePolicy
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer, SessionContext
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import PolicyIdentity, PolicySpec


class Said(PredictModelServer):
    """At step t its chunk of T says t, t + 0.1, ... in the first component, and noise in the second."""

    def __init__(self, chunk: int = 4, **spec: Any) -> None:
        self.steps: list[int] = []
        self.spec = PolicySpec(PolicyIdentity("said"), chunk=chunk, horizon=chunk, uses_noise_seed=True, **spec)

    def predict(self, obs: Observation, ctx: SessionContext) -> dict[str, Any]:
        self.steps.append(obs.step)
        ramp = obs.step + 0.1 * np.arange(self.spec.chunk)
        return {"actions": np.stack([ramp, ctx.rng().random(self.spec.chunk)], axis=1), "note": "said"}


def played(ensemble: Any, chunk: int, steps: int) -> tuple[np.ndarray, list[int]]:
    model = Said(chunk)
    policy = EnsemblePolicy(InProcessPolicy(model), ensemble)
    policy.reset(START, 3)
    rows = [policy.predict(observation(step=step)).actions for step in range(steps)]
    return np.concatenate(rows), model.steps


def overlapping(chunk: int, steps: int) -> list[np.ndarray]:
    """For each step, what all chunks that reach it say, the oldest first."""
    model, context = Said(chunk), SessionContext("s", START, 3)
    chunks = []
    for step in range(steps):
        context.step = step
        chunks.append(model.predict(observation(step=step), context)["actions"])
    return [
        np.stack([chunks[begun][step - begun] for begun in range(step + 1) if step - begun < chunk])
        for step in range(steps)
    ]


def moving_average(said: np.ndarray) -> np.ndarray:
    # Unrolled: the oldest of n keeps 1/2^(n-1), each later one at place i weighs 1/2^(n-i).
    weights = [0.5 ** (len(said) - max(place, 1)) for place in range(len(said))]
    result: np.ndarray = np.array(weights) @ said
    return result


EXPECTED = {
    "newest": lambda said: said[-1],
    "average": lambda said: said.mean(axis=0),
    "ema": moving_average,
}


@settings(deadline=None, max_examples=25)
@given(name=st.sampled_from(sorted(EXPECTED)), chunk=st.integers(2, 6), steps=st.integers(1, 12))
def test_every_step_is_asked_and_all_that_overlaps_is_combined(name: str, chunk: int, steps: int) -> None:
    found, asked = played(name, chunk, steps)
    assert asked == list(range(steps))
    wanted = np.stack([EXPECTED[name](said) for said in overlapping(chunk, steps)])
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_the_ensembles_differ_from_what_a_buffer_would_do() -> None:
    # The peers' wrapper asks only when its buffer is empty, so all its ensembles give the plain chunk.
    plain = np.concatenate([said[:1] for said in overlapping(4, 4)])[:, 0]
    for name in ("average", "ema"):
        assert not np.allclose(played(name, 4, 4)[0][:, 0], plain)


def oldest(said: np.ndarray) -> np.ndarray:
    row: np.ndarray = said[0]
    return row


def test_a_function_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def oldest(said):\n    return said[0]\n")
    wanted = np.stack([said[0] for said in overlapping(3, 7)])
    for ensemble in (oldest, f"{file}:oldest", f"{__name__}:oldest"):
        np.testing.assert_array_equal(played(ensemble, 3, 7)[0], wanted)


def test_the_spec_says_so() -> None:
    inner = InProcessPolicy(Said(4))
    policies = {name: EnsemblePolicy(inner, name) for name in ("newest", "average", "ema")}
    for policy in policies.values():
        assert (policy.spec.observe, policy.spec.chunk, policy.spec.horizon) == ("every_step", 1, 1)
    digests = {inner.spec.identity.digest, *(policy.spec.identity.digest for policy in policies.values())}
    assert len(digests) == 4


def test_an_episode_begins_with_nothing_said() -> None:
    policy = EnsemblePolicy(InProcessPolicy(Said(4)), "average")
    policy.reset(START, 3)
    first = [policy.predict(observation(step=step)).actions.tolist() for step in range(3)]
    policy.reset(START, 3)
    assert [policy.predict(observation(step=step)).actions.tolist() for step in range(3)] == first


def test_extras_and_queries_are_the_policys_own() -> None:
    policy = EnsemblePolicy(InProcessPolicy(Said(4)), "average")
    policy.reset(START, 3)
    assert policy.predict(observation()).extras == {"note": "said"}
    (chunk,) = policy.query([observation(step=2)], 3)
    assert isinstance(chunk, ActionChunk)
    assert chunk.actions.shape == (4, 2)


@pytest.mark.parametrize(
    ("ensemble", "error", "words"),
    [
        ("median", PluginError, "no ensemble is called 'median'; it is one of newest, average, ema"),
        ("/nowhere/mine.py:oldest", PluginError, "there is no file /nowhere/mine.py"),
        ("~nosuchuser/mine.py:oldest", PluginError, "there is no file .*~nosuchuser/mine.py"),
        ("no_such_module:oldest", PluginError, "importing it raised ModuleNotFoundError"),
        ("vlassess_link.seeds:nothing", PluginError, "vlassess_link.seeds has no function 'nothing'"),
    ],
)
def test_an_ensemble_that_is_not_there(ensemble: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        EnsemblePolicy(InProcessPolicy(Said(4)), ensemble)


def test_chunks_of_one_action_cannot_overlap() -> None:
    with pytest.raises(ContractError, match="no chunks overlap: leave `ensemble` out"):
        EnsemblePolicy(InProcessPolicy(Said(1)), "average")


def test_means_of_quaternions_are_refused() -> None:
    layout = Layout((Component("turn", "rotation", 4, rotation="quaternion_wxyz"),))
    inner = InProcessPolicy(Said(4, action=layout))
    with pytest.raises(ContractError, match="means of 'turn', a quaternion_wxyz"):
        EnsemblePolicy(inner, "ema")
    EnsemblePolicy(inner, "newest")


def test_a_function_that_fails_is_the_policys_error() -> None:
    def broken(said: np.ndarray) -> np.ndarray:
        raise KeyError("no")

    def nothing(said: np.ndarray) -> np.ndarray:
        return np.full(2, np.nan)

    for function, error in ((broken, PredictError), (nothing, InvalidActionError)):
        policy = EnsemblePolicy(InProcessPolicy(Said(4)), function)
        policy.reset(START, 3)
        with pytest.raises(error):
            policy.predict(observation())
