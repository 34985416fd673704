"""Batches in the model's thread: who is in them, what a bad one costs, what is counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.link.models import START, observation
from vlassess_link.data import Observation
from vlassess_link.errors import ConnectionLost, ContractError, InvalidActionError, PredictError
from vlassess_link.policies.inference import ModelHost
from vlassess_link.policies.model import (
    InProcessPolicy,
    ModelSession,
    PredictModelServer,
    SessionContext,
    announced_spec,
)
from vlassess_link.specs import PolicyIdentity, PolicySpec


class Together(PredictModelServer):
    """Answers (1, 3): state[0], calls in this episode, noise. 666 raises, 999 is NaN, 777 waits for `gate`."""

    spec = PolicySpec(PolicyIdentity("together"), uses_noise_seed=True)

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.batches: list[list[float]] = []

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Any]:
        values = [float(one.state[0]) for one in obs if one.state is not None]
        self.batches.append(values)
        answers = []
        for value, own in zip(values, ctx, strict=True):
            own.memory["calls"] = own.memory.get("calls", 0) + 1
            if value == 777.0:
                self.entered.set()
                self.gate.wait(10)
            if value == 666.0:
                raise ValueError("a bad observation")
            row = [np.nan if value == 999.0 else value, own.memory["calls"], own.rng().random()]
            answers.append({"actions": np.array([row])})
        return answers


class Miscounts(Together):
    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Any]:
        answers = super().predict_batch(obs, ctx)
        return answers if len(obs) == 1 else answers[:-1]


@pytest.fixture
def host() -> Iterator[ModelHost]:
    made = ModelHost()
    yield made
    made.close(1.0)


def loaded(host: ModelHost, model: PredictModelServer) -> PredictModelServer:
    host.load(model)
    host.loaded.result(5)
    return model


def ask_together(host: ModelHost, model: Any, values: list[float]) -> dict[float, Any]:
    """Ask from as many sessions while the model is busy, so that all are answered in one batch."""
    found: dict[float, Any] = {}

    def ask(value: float) -> None:
        session = ModelSession(host.model, f"session-{value:g}")
        session.start_episode(START, int(value))
        try:
            found[value] = host.predict(session, observation(value)).actions[0].tolist()
        except (PredictError, InvalidActionError) as error:
            found[value] = error

    blocker = threading.Thread(target=ask, args=(777.0,))
    blocker.start()
    assert model.entered.wait(5)
    threads = [threading.Thread(target=ask, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 5
    while host.queued < len(values) and time.monotonic() < until:
        time.sleep(0.005)
    model.gate.set()
    for thread in (blocker, *threads):
        thread.join(5)
    return found


def alone(value: float) -> list[float]:
    policy = InProcessPolicy(Together())
    policy.reset(START, int(value))
    actions: list[float] = policy.predict(observation(value)).actions[0].tolist()
    return actions


def test_sessions_share_a_batch_and_each_gets_what_it_would_get_alone(host: ModelHost) -> None:
    model: Any = loaded(host, Together())
    values = [float(value) for value in range(1, 9)]
    found = ask_together(host, model, values)
    assert sorted(model.batches[-1]) == values
    for value in values:
        np.testing.assert_allclose(found[value], alone(value), atol=1e-5)


@pytest.mark.parametrize(("bad", "error"), [(666.0, PredictError), (999.0, InvalidActionError)])
def test_one_bad_observation_fails_one_session(host: ModelHost, bad: float, error: type[Exception]) -> None:
    model: Any = loaded(host, Together())
    found = ask_together(host, model, [1.0, 2.0, bad, 3.0])
    assert isinstance(found[bad], error)
    # What the failed batch left in the memories is undone, so the retries count as first calls.
    assert [found[value] for value in (1.0, 2.0, 3.0)] == [alone(value) for value in (1.0, 2.0, 3.0)]
    assert host.metrics.value("failures") == 1
    assert host.metrics.value("predictions") == 4


def test_a_batch_with_too_few_answers_is_retried_one_by_one(host: ModelHost) -> None:
    model: Any = loaded(host, Miscounts())
    found = ask_together(host, model, [1.0, 2.0])
    assert [found[value] for value in (1.0, 2.0)] == [alone(value) for value in (1.0, 2.0)]


def test_the_oldest_are_in_the_next_batch(host: ModelHost) -> None:
    model: Any = loaded(host, Together())
    host.max_batch = 3
    ask_together(host, model, [float(value) for value in range(1, 8)])
    assert [len(batch) for batch in model.batches] == [1, 3, 3, 1]


def test_who_is_running_is_known(host: ModelHost) -> None:
    model: Any = loaded(host, Together())
    assert host.running is None
    session = ModelSession(host.model, "busy")
    thread = threading.Thread(target=host.predict, args=(session, observation(777.0)))
    thread.start()
    assert model.entered.wait(5)
    running = host.running
    assert running is not None
    assert running.sessions == ("busy",)
    assert running.seconds >= 0
    model.gate.set()
    thread.join(5)


def test_all_of_the_models_code_runs_in_one_thread_whoever_asks(host: ModelHost) -> None:
    threads: list[int] = []

    class Threaded(PredictModelServer):
        def load(self) -> None:
            threads.append(threading.get_ident())

        def start_episode(self, ctx: SessionContext) -> None:
            threads.append(threading.get_ident())

        def predict(self, obs: Observation, ctx: SessionContext) -> Any:
            threads.append(threading.get_ident())
            return {"actions": np.zeros(1)}

        def close(self) -> None:
            threads.append(threading.get_ident())

    def play(number: int) -> None:
        session = ModelSession(host.model, str(number))
        host.call(session.start_episode, START, 1)
        host.predict(session, observation(1.0))

    loaded(host, Threaded())
    play(0)
    others = [threading.Thread(target=play, args=(number,)) for number in range(1, 4)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join(5)
    host.close(5.0)
    assert len(threads) == 10
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


def test_what_was_refused_at_the_end_is_not_computed_afterwards(host: ModelHost) -> None:
    model: Any = loaded(host, Together())
    lost: list[str] = []

    def ask(value: float) -> None:
        try:
            host.predict(ModelSession(host.model, f"session-{value:g}"), observation(value))
        except ConnectionLost as error:
            lost.append(str(error))

    asking = [threading.Thread(target=ask, args=(value,)) for value in (777.0, 1.0)]
    asking[0].start()
    assert model.entered.wait(5)
    asking[1].start()
    until = time.monotonic() + 5
    while host.queued < 1 and time.monotonic() < until:
        time.sleep(0.005)
    host.close(0.1)
    for thread in asking:
        thread.join(5)
    assert len(lost) == 2
    assert all("shutting down" in text for text in lost)
    with pytest.raises(ConnectionLost, match="shutting down"):
        host.call(lambda: None)
    model.gate.set()
    host._thread.join(5)
    assert model.batches == [[777.0]]


def test_a_batch_size_is_for_models_that_have_batches(host: ModelHost) -> None:
    class Single(PredictModelServer):
        def predict(self, obs: Observation, ctx: SessionContext) -> Any:
            return {"actions": np.zeros(1)}

    loaded(host, Single())
    host.max_batch = 8
    assert host.max_batch == 1
    with pytest.raises(ContractError, match="max_batch_size is 0"):
        host.max_batch = 0


def test_a_query_is_batched_and_split() -> None:
    model = Together()
    model.max_batch_size = 4
    policy = InProcessPolicy(model)
    observations = [observation(float(value)) for value in range(10)]
    chunks = policy.query(observations, 5)
    assert [len(batch) for batch in model.batches] == [4, 4, 2]
    assert [chunk.actions[0, 0] for chunk in chunks] == list(range(10))
    assert {chunk.actions[0, 1] for chunk in chunks} == {1.0}
    assert [chunk.actions[0, 2] for chunk in chunks] == [
        policy.query([one], 5)[0].actions[0, 2] for one in observations
    ]


def test_predict_alone_and_predict_batch_alone_are_both_enough() -> None:
    assert announced_spec(Together()).batched
    assert not announced_spec(PredictModelServer()).batched
    with pytest.raises(NotImplementedError, match="must define predict"):
        PredictModelServer().predict(observation(), SessionContext("s"))
