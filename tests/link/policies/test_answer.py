"""A policy can be asked a question without a robot: in its process, over the wire, and not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from vlassess_link import Observation, PolicyIdentity, PolicySpec, PredictModelServer
from vlassess_link.data import EpisodeStart
from vlassess_link.errors import CapabilityError, DecodeError, PredictError
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire import questions
from vlassess_link.wire.server import PolicyServer

OPTIONS = {"A": "ice", "B": "steam"}


class Mute(PredictModelServer):
    """Acts, and cannot be asked."""

    spec = PolicySpec(PolicyIdentity("mute"), cameras=())

    def predict(self, obs: Observation, ctx: Any) -> Any:
        """Count steps."""
        ctx.memory["steps"] = ctx.memory.get("steps", 0) + 1
        return {"actions": np.array([float(ctx.memory["steps"])])}


class Knowing(Mute):
    """Knows a little."""

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Return where the last word of the question is, or something that is no answer."""
        if question == "raise":
            raise ValueError("hm")
        if question == "none":
            return None  # type: ignore[return-value]
        return next((name for name, text in options.items() if text in question), "?")


@contextlib.contextmanager
def remote(model: PredictModelServer) -> Iterator[RemotePolicy]:
    with PolicyServer(model) as server:
        policy = RemotePolicy(server.url, connect_deadline=5.0, inference_deadline=10.0)
        try:
            yield policy
        finally:
            policy.close()


def test_an_answer_is_the_same_in_process_and_over_the_wire() -> None:
    local = InProcessPolicy(Knowing())
    assert local.spec.capabilities == ("query", "answer")
    with remote(Knowing()) as policy:
        assert policy.spec == local.spec
        for asked in ("is it steam?", "ice", "neither", "Größe: ice"):
            assert policy.answer(asked, OPTIONS) == local.answer(asked, OPTIONS)


def test_an_episode_is_not_touched() -> None:
    obs = Observation({}, "go")
    with remote(Knowing()) as policy:
        policy.reset(EpisodeStart("e", "s", "t", "go"), 3)
        first = policy.predict(obs).actions[0, 0]
        assert policy.answer("ice", OPTIONS) == "A"
        assert (first, policy.predict(obs).actions[0, 0]) == (1.0, 2.0)


def test_who_cannot_be_asked_says_so() -> None:
    assert "answer" not in InProcessPolicy(Mute()).spec.capabilities
    with remote(Mute()) as policy, pytest.raises(CapabilityError, match="'mute' does not declare the capability"):
        policy.answer("ice", OPTIONS)


@pytest.mark.parametrize(("question", "says"), [("raise", "ValueError in .*answer: hm"), ("none", "NoneType")])
def test_what_is_no_answer_is_the_policys_fault(question: str, says: str) -> None:
    with pytest.raises(PredictError, match=says):
        InProcessPolicy(Knowing()).answer(question, OPTIONS)
    with remote(Knowing()) as policy:
        with pytest.raises(PredictError, match=says):
            policy.answer(question, OPTIONS)
        assert policy.answer("ice", OPTIONS) == "A"


@pytest.mark.parametrize(
    "payload",
    [{}, {"question": 3, "options": {}}, {"question": "q", "options": []}, {"question": "q", "options": {1: 2}}],
)
def test_a_broken_question_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(DecodeError):
        questions.parse_question(payload)


def test_a_broken_answer_is_refused() -> None:
    with pytest.raises(DecodeError, match="must be a text"):
        questions.parse_choice({"choice": 3})
