from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import CapabilityError, InvalidActionError, PredictError, VlassessError
from vlassess_link.policies.model import (
    InProcessPolicy,
    ModelSession,
    PredictModelServer,
    SessionContext,
    announced_spec,
    guarded,
)
from vlassess_link.seeds import noise
from vlassess_link.specs import PolicyIdentity, PolicySpec

START = EpisodeStart("e", "walk", "to-4", "go")


def seen(step: int = 0, **images: np.ndarray) -> Observation:
    return Observation(images, "go", step=step)


class Remembering(PredictModelServer):
    """Answers how often it was asked in this episode, plus noise."""

    spec = PolicySpec(PolicyIdentity("remembering"), capabilities=("answer",))

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.contexts: list[SessionContext] = []

    def load(self) -> None:
        self.calls.append("load")

    def start_episode(self, ctx: SessionContext) -> None:
        self.calls.append("start_episode")
        ctx.memory["asked"] = 0

    def predict(self, obs: Observation, ctx: SessionContext) -> Mapping[str, Any]:
        self.contexts.append(ctx)
        ctx.memory["asked"] += 1
        return {"actions": np.array([ctx.memory["asked"], ctx.rng().random()])}

    def close(self) -> None:
        self.calls.append("close")


def test_nothing_of_an_episode_reaches_the_next() -> None:
    model = Remembering()
    policy = InProcessPolicy(model)
    answers = []
    for seed in (1, 1, 2):
        policy.reset(START, seed)
        answers.append(np.concatenate([policy.predict(seen(step)).actions for step in (0, 5)]))
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[2][:, 0], [1, 2])
    assert (answers[2][:, 1] != answers[0][:, 1]).all()
    assert len({id(ctx) for ctx in model.contexts}) == 3
    assert {ctx.session_id for ctx in model.contexts} == {"in-process"}


def test_noise_depends_on_seed_and_step_alone() -> None:
    policy = InProcessPolicy(Remembering())
    policy.reset(START, 9)
    late = policy.predict(seen(7)).actions[0, 1]
    assert late == noise(9, 7).random()


def test_a_model_is_loaded_once_and_closed() -> None:
    model = Remembering()
    policy = InProcessPolicy(model)
    assert model.calls == ["load"]
    policy.reset(START, 0)
    policy.close()
    assert model.calls == ["load", "start_episode", "close"]


def test_query_touches_no_session_and_its_rows_are_independent() -> None:
    model = Remembering()
    policy = InProcessPolicy(model)
    policy.reset(START, 3)
    policy.predict(seen(0))
    rows = [seen(step) for step in (0, 4, 0)]
    together = [chunk.actions for chunk in policy.query(rows, 11)]
    alone = [policy.query([obs], 11)[0].actions for obs in rows]
    np.testing.assert_array_equal(together, alone)
    assert [row[0, 0] for row in together] == [1, 1, 1]
    assert policy.predict(seen(1)).actions[0, 0] == 2
    assert {ctx.start for ctx in model.contexts if ctx.session_id == "query"} == {None}


def test_the_announced_spec_has_query_once() -> None:
    assert announced_spec(Remembering()).capabilities == ("answer", "query")
    assert InProcessPolicy(Remembering()).spec.capabilities == ("answer", "query")

    class Declares(Remembering):
        spec = PolicySpec(PolicyIdentity("declares"), capabilities=("query",))

    assert announced_spec(Declares()).capabilities == ("query",)


class Broken(PredictModelServer):
    """Raises or answers nonsense."""

    def __init__(self, where: str, answer: Any = None) -> None:
        self._where = where
        self._answer = answer

    def start_episode(self, ctx: SessionContext) -> None:
        if self._where == "start_episode":
            raise RuntimeError("no memory left")

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        if self._where == "predict":
            raise KeyError("front")
        return self._answer


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("start_episode", "RuntimeError in Broken.start_episode: no memory left"),
        ("predict", "KeyError in Broken.predict"),
    ],
)
def test_what_a_model_raises_is_quoted(where: str, says: str) -> None:
    policy = InProcessPolicy(Broken(where))

    def run() -> None:
        policy.reset(START, 0)
        policy.predict(seen())

    with pytest.raises(PredictError, match=says):
        run()


@pytest.mark.parametrize("answer", [None, {}, {"actions": [[np.nan]]}, "left", {"actions": {"x": 1}}])
def test_what_is_no_action_is_refused(answer: Any) -> None:
    policy = InProcessPolicy(Broken("", answer))
    policy.reset(START, 0)
    with pytest.raises(InvalidActionError):
        policy.predict(seen())
    with pytest.raises(InvalidActionError):
        policy.query([seen()], 0)


def test_a_chunk_is_passed_on_as_it_is() -> None:
    chunk = ActionChunk(np.ones((2, 3), np.float32), {"reasoning": "left"})
    session = ModelSession(Broken("", chunk), "one")
    session.start_episode(START, 0)
    assert session.predict(seen()) is chunk


def test_a_policys_own_fault_is_not_wrapped() -> None:
    def raises() -> None:
        raise InvalidActionError("as it is")

    with pytest.raises(InvalidActionError, match=r"^as it is$"):
        guarded(raises)


def test_an_interruption_is_not_swallowed() -> None:
    def raises() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(raises)


def test_a_model_without_predict_says_what_to_write() -> None:
    class Empty(PredictModelServer):
        """Has none."""

    with pytest.raises(NotImplementedError, match=r"Empty must define predict\(self, obs, ctx\)"):
        Empty().predict(seen(), SessionContext("one"))


def test_a_policy_without_query_says_so() -> None:
    class Plain(InProcessPolicy):
        def query(self, observations: Sequence[Observation], noise_seed: int) -> list[ActionChunk]:
            return super(InProcessPolicy, self).query(observations, noise_seed)

    assert issubclass(CapabilityError, VlassessError)
    with pytest.raises(CapabilityError, match="'remembering' does not declare the capability 'query'"):
        Plain(Remembering()).query([], 0)
