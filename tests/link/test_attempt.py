from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import pytest

from tests.link.episodes import FunctionPolicy, ScriptedBenchmark, episode_of, job_of, walk
from vlassess_link.benchmarks.attempt import Attempt, Job, effective_horizon
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.benchmarks.charging import error_info
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import COMPARED, ActionChunk, EpisodeRecord, Observation, RawObservation, StepOutcome
from vlassess_link.data import Episode as Planned
from vlassess_link.digest import ArrayDigest, arrays_digest
from vlassess_link.errors import (
    ConnectionLost,
    ContractError,
    DecodeError,
    EncodeError,
    EpisodeFault,
    HandshakeError,
    InferenceTimeout,
    ObservationError,
    PolicyUnavailable,
    PredictError,
)
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.specs import PolicyIdentity, PolicySpec
from vlassess_link.testing import FakeBenchmark, FakeClock, FakePolicy
from vlassess_link.testing.fakes import BENCHMARK_FAULTS, POLICY_FAULTS


def attempt(benchmark: Benchmark | None = None, policy: Policy | None = None, job: Job | None = None) -> EpisodeRecord:
    whole = Attempt(
        job or job_of(), benchmark or FakeBenchmark(), policy or InProcessPolicy(FakePolicy(2)), Monitor()
    ).run()
    again = from_json(EpisodeRecord, json.loads(json.dumps(to_json(whole), allow_nan=False)))
    assert again == whole, "a record must survive strict JSON"
    return whole


def compared(record: EpisodeRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in COMPARED}


def charge(record: EpisodeRecord) -> tuple[str, str, str]:
    assert record.outcome is None
    assert record.error is not None
    return (record.error.origin, record.error.phase, record.error.kind)


# Those that hang or end the process are the worker's tests.
BENCHMARK_CHARGES = {
    "reset_raises": ("benchmark", "reset", "ValueError"),
    "step_raises": ("benchmark", "step", "ValueError"),
    "render_raises": ("benchmark", "render", "ValueError"),
    "nan_state": ("benchmark", "reset", "BenchmarkFault"),
}
POLICY_CHARGES = {
    "nan": ("policy", "inference", "InvalidActionError"),
    "inf": ("policy", "inference", "InvalidActionError"),
    "shape": ("policy", "inference", "InvalidActionError"),
    "dtype": ("policy", "inference", "InvalidActionError"),
    "raises": ("policy", "inference", "PredictError"),
    "reset_raises": ("policy", "inference", "PredictError"),
}


def test_every_fault_of_the_fakes_has_its_test() -> None:
    assert set(BENCHMARK_FAULTS) == {*BENCHMARK_CHARGES, "reset_hangs", "step_hangs", "dies"}
    assert set(POLICY_FAULTS) == {*POLICY_CHARGES, "hangs", "dies"}


@pytest.mark.parametrize("fault", BENCHMARK_CHARGES)
def test_a_benchmarks_fault_is_charged_to_it(fault: str) -> None:
    record = attempt(FakeBenchmark(fault=fault))
    assert charge(record) == BENCHMARK_CHARGES[fault]
    assert record.counts_as == "error"
    assert not record.final
    assert record.steps == 0


@pytest.mark.parametrize("fault", POLICY_CHARGES)
@pytest.mark.parametrize("step", [0, 2])
def test_a_policys_fault_is_charged_to_it(fault: str, step: int) -> None:
    benchmark = FakeBenchmark()
    record = attempt(benchmark, InProcessPolicy(FakePolicy(2, fault=fault, fault_step=step)))
    assert charge(record) == POLICY_CHARGES[fault]
    assert record.counts_as == "failure"
    assert record.final
    assert record.steps == len(benchmark.received) == (0 if fault == "reset_raises" else step)


@pytest.mark.parametrize(
    ("error", "where", "charged"),
    [
        (ConnectionLost("gone"), "predict", ("infrastructure", "inference", "ConnectionLost")),
        (ConnectionLost("gone"), "reset", ("infrastructure", "inference", "ConnectionLost")),
        (PolicyUnavailable("gone"), "reset", ("infrastructure", "inference", "PolicyUnavailable")),
        (InferenceTimeout("slow"), "predict", ("policy", "inference", "InferenceTimeout")),
        (PredictError("bad"), "predict", ("policy", "inference", "PredictError")),
        (KeyError("bad"), "predict", ("policy", "inference", "KeyError")),
        (ObservationError("an array that the wire lacks"), "predict", ("benchmark", "inference", "ObservationError")),
        (EncodeError("no such type"), "predict", ("benchmark", "inference", "EncodeError")),
        (DecodeError("no message"), "predict", ("policy", "inference", "DecodeError")),
    ],
)
def test_what_a_policys_call_raises_is_charged_by_its_meaning(
    error: Exception, where: str, charged: tuple[str, str, str]
) -> None:
    class Raising(FunctionPolicy):
        def reset(self, start: Any, policy_seed: int) -> None:
            if where == "reset":
                raise error

    def answer(obs: Observation) -> Any:
        raise error

    record = attempt(policy=Raising(answer))
    assert charge(record) == charged
    assert record.error is not None
    assert str(error).strip("'") in record.error.message
    assert "Traceback" in record.error.traceback


class Observing(FakeBenchmark):
    """Delivers one broken observation."""

    def __init__(self, change: Callable[[Observation], Observation]) -> None:
        super().__init__()
        self._change = change

    def make_obs(self, raw: RawObservation) -> Observation:
        return self._change(super().make_obs(raw))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"images": {"front": np.zeros((4, 4), np.uint8)}}, "image 'front' has shape (4, 4)"),
        ({"images": {"front": np.zeros((4, 4, 4), np.uint8)}}, "image 'front' has shape (4, 4, 4)"),
        ({"images": {"front": np.zeros((4, 4, 3))}}, "image 'front' is float64; the policy 'fake' takes uint8"),
        ({"images": {"front": np.zeros((4, 4, 3), np.float32)}}, "is float32; the policy 'fake' takes uint8"),
        ({"state": np.zeros(2)}, "state is float64 of shape (2,); the spec declares 1 floats in one row"),
        ({"state": np.zeros((1, 1))}, "state is float64 of shape (1, 1)"),
        ({"state": np.zeros(1, int)}, "state is int64 of shape (1,)"),
    ],
)
def test_a_broken_observation_is_never_delivered(change: dict[str, Any], says: str) -> None:
    record = attempt(Observing(lambda obs: dataclasses.replace(obs, **change)))
    assert charge(record) == ("benchmark", "render", "ObservationError")
    assert record.error is not None
    assert says in record.error.message
    assert record.observations == 0


def test_float_images_go_to_a_policy_that_declares_them() -> None:
    benchmark = Observing(lambda obs: dataclasses.replace(obs, images={"front": np.zeros((4, 4, 3), np.float32)}))
    assert attempt(benchmark, FunctionPolicy(walk(), image_dtypes=("float32",))).counts_as == "success"


@pytest.mark.parametrize(
    "broken",
    [
        StepOutcome(False, 1.5),
        StepOutcome(False, float("nan")),
        StepOutcome(False, 0.0, (), {"m": np.inf}),
        StepOutcome(cast(Any, "no")),
        StepOutcome(cast(Any, None)),
    ],
)
def test_a_broken_score_is_the_steps_fault(broken: StepOutcome) -> None:
    assert charge(attempt(ScriptedBenchmark([StepOutcome(False), broken]))) == ("benchmark", "step", "BenchmarkFault")


class Stateless(FakeBenchmark):
    """Keeps its initial state to itself."""

    def reset(self, episode: Planned) -> RawObservation:
        return dataclasses.replace(super().reset(episode), state={})


@pytest.mark.parametrize(
    ("call", "phase", "wanted"),
    [
        ("reset", "reset", "RawObservation"),
        ("make_obs", "render", "Observation"),
        ("step", "step", "StepResult"),
        ("get_step_result", "step", "StepOutcome"),
    ],
)
def test_a_call_that_returns_something_else_is_told_by_name(call: str, phase: str, wanted: str) -> None:
    benchmark = FakeBenchmark()
    setattr(benchmark, call, lambda *_: None)
    record = attempt(benchmark)
    assert charge(record)[:2] == ("benchmark", phase)
    assert record.error is not None
    assert record.error.message == f"{call}() returned a NoneType; it must return a {wanted}"


def test_a_start_that_cannot_be_proved_is_refused() -> None:
    record = attempt(Stateless())
    assert charge(record) == ("benchmark", "reset", "BenchmarkFault")
    assert record.error is not None
    assert "empty `state`" in record.error.message


def test_a_camera_that_is_not_there_is_an_error_before_the_reset() -> None:
    record = attempt(policy=FunctionPolicy(walk(), cameras=("wrist",)))
    assert charge(record) == ("benchmark", "reset", "ContractError")


@pytest.mark.parametrize(
    ("error", "phase", "origin"),
    [
        (ValueError("x"), "load", "benchmark"),
        (ValueError("x"), "connect", "infrastructure"),
        (HandshakeError("x"), "connect", "infrastructure"),
        (ContractError("x"), "other", "benchmark"),
        (ValueError("x"), "artifact", "infrastructure"),
        (EpisodeFault("x"), "step", "infrastructure"),
    ],
)
def test_outside_the_calls_the_phase_decides(error: Exception, phase: str, origin: str) -> None:
    assert error_info(error, phase).origin == origin


def test_an_error_without_text_is_told_by_its_class() -> None:
    assert error_info(ValueError(), "step").message == "ValueError"
    assert error_info(ValueError("odd"), "step").message == "ValueError: odd"
    assert error_info(PredictError("odd"), "inference").message == "odd"


def test_a_record_says_what_was_planned_and_what_was_measured() -> None:
    episode = episode_of(3, perturbation={"start": "far"}, repeat=2)
    policy = InProcessPolicy(FakePolicy(2, stride=0.5))
    record = attempt(FakeBenchmark(), policy, Job("item-9", 4, "mine", episode))
    assert (record.item_id, record.attempt, record.policy) == ("item-9", 4, "mine")
    planned = ("episode_id", "pair_key", "suite", "task", "index", "repeat", "seed", "policy_seed", "perturbation")
    for name in planned:
        assert getattr(record, name) == getattr(episode, name)
    start = float(episode.rng("layout").random()) - 2.0
    assert record.initial_state == {"x": [start], "goal": [4.0]}
    assert record.steps == int(np.ceil((4.0 - start) / 0.5))
    assert record.observations == -(-record.steps // 2)
    assert (record.horizon, record.action_low, record.action_high) == (2, (0.5,), (0.5,))
    assert record.instruction == "go to 4"
    assert record.identity == policy.spec.identity.digest
    assert record.outcome is not None
    assert record.outcome.success
    assert record.started.endswith("+00:00")


def test_digests_are_those_of_what_was_delivered_and_executed() -> None:
    benchmark, policy = FakeBenchmark(), FunctionPolicy(walk(3, 0.7))
    record = attempt(benchmark, policy, job_of(horizon=3))
    images, inputs, actions = ArrayDigest(), ArrayDigest(), ArrayDigest()
    for obs in policy.seen:
        images.update("front", obs.images["front"])
        inputs.update_text("instruction", obs.instruction)
        assert obs.state is not None
        inputs.update("state", obs.state)
    for action in benchmark.received:
        actions.update("action", action)
    assert record.images_digest == images.hexdigest()
    assert record.inputs_digest == inputs.hexdigest()
    assert record.actions_digest == actions.hexdigest()
    state = {name: np.array(value) for name, value in record.initial_state.items()}
    assert record.state_digest == arrays_digest(state)


@pytest.mark.parametrize("actions", [[-0.25, 0.5, 1.0, 0.75, 0.0], [1.0, 0.5, -0.25, 0.75, 0.0]])
def test_bounds_of_actions_are_kept_though_a_policy_reuses_its_buffer(actions: list[float]) -> None:
    buffer = np.zeros((1, 1))

    def answer(obs: Observation) -> ActionChunk:
        buffer[:] = actions[obs.step]
        return ActionChunk(buffer)

    record = attempt(policy=FunctionPolicy(answer), job=job_of(episode_of(limit=5)))
    assert (record.steps, record.action_low, record.action_high) == (5, (-0.25,), (1.0,))


@pytest.mark.parametrize("policy", [{"chunk": 3}, {"chunk": 2, "noise": 0.5}, {"fault": "nan", "fault_step": 2}])
@pytest.mark.parametrize("benchmark", [{}, {"termination": "hold"}, {"fault": "step_raises", "fault_indices": (1,)}])
def test_two_attempts_at_one_episode_agree(policy: dict[str, Any], benchmark: dict[str, Any]) -> None:
    for index in (0, 1):
        job, again = (job_of(episode_of(index), attempt=number) for number in (1, 2))
        first = attempt(FakeBenchmark(**benchmark), InProcessPolicy(FakePolicy(**policy)), job)
        # The second comes after another episode, on the same objects: nothing of that may remain.
        used, server = FakeBenchmark(**benchmark), InProcessPolicy(FakePolicy(**policy))
        attempt(used, server, job_of(episode_of(5)))
        assert compared(attempt(used, server, again)) == compared(first)


DIGESTS = ("state_digest", "inputs_digest", "images_digest", "actions_digest")


@pytest.mark.parametrize(
    ("change", "policy", "differ"),
    [
        ({}, {"chunk": 2}, set()),
        ({"index": 1}, {"chunk": 2}, {"state_digest", "inputs_digest", "images_digest"}),
        ({"instruction": "go on"}, {"chunk": 2}, {"inputs_digest"}),
        ({"limit": 6}, {"chunk": 2}, {"inputs_digest", "images_digest", "actions_digest"}),
        ({}, {"chunk": 2, "stride": 0.5}, {"inputs_digest", "images_digest", "actions_digest"}),
        ({"repeat": 1}, {"chunk": 2, "noise": 1.0}, {"inputs_digest", "images_digest", "actions_digest"}),
        ({"perturbation": {"start": "far"}}, {"chunk": 2}, {"state_digest", "inputs_digest", "images_digest"}),
    ],
)
def test_digests_change_when_and_only_when_they_must(
    change: dict[str, Any], policy: Mapping[str, Any], differ: set[str]
) -> None:
    def run(spec: Mapping[str, Any], episode: Planned) -> EpisodeRecord:
        # Never over before the limit, so that the number of actions is the limit's.
        return attempt(FakeBenchmark(termination="at_limit"), InProcessPolicy(FakePolicy(**spec)), job_of(episode))

    plain = run({"chunk": 2}, episode_of(limit=4))
    other = run(policy, episode_of(**{"limit": 4, **change}))
    assert {name for name in DIGESTS if getattr(plain, name) != getattr(other, name)} == differ


@pytest.mark.parametrize(
    ("spec", "override", "horizon"),
    [
        ({"chunk": 8, "horizon": 4}, None, 4),
        ({"chunk": 8, "horizon": 4}, 2, 2),
        ({"chunk": 8, "horizon": 4, "observe": "every_step"}, None, 1),
        ({"chunk": 8, "horizon": 4, "observe": "every_step"}, 4, 1),
    ],
)
def test_the_horizon_is_the_specs_unless_the_config_replaces_it(
    spec: dict[str, Any], override: int | None, horizon: int
) -> None:
    assert effective_horizon(PolicySpec(PolicyIdentity("p"), **spec), override) == horizon


class Slow(FakeBenchmark):
    """Lets a fake clock run."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def reset(self, episode: Planned) -> RawObservation:
        self._clock.sleep(5.0)
        return super().reset(episode)

    def step(self, action: np.ndarray) -> Any:
        self._clock.sleep(0.25)
        return super().step(action)

    def make_obs(self, raw: RawObservation) -> Observation:
        self._clock.sleep(1.0)
        return super().make_obs(raw)

    def get_step_result(self, result: Any) -> StepOutcome:
        self._clock.sleep(0.25)
        return super().get_step_result(result)


def test_seconds_are_told_by_phase() -> None:
    clock = FakeClock(100.0)

    def answer(obs: Observation) -> Any:
        clock.sleep(2.0)
        return walk(2, 2.0)(obs)

    record = Attempt(job_of(horizon=2), Slow(clock), FunctionPolicy(answer), Monitor(clock)).run()
    assert record.steps == 2
    assert record.seconds == {"reset": 5.0, "render": 1.0, "inference": 2.0, "step": 1.0, "total": 9.0}


def test_an_attempt_inherits_no_seconds() -> None:
    clock = FakeClock()
    monitor = Monitor(clock)
    for _ in range(2):
        record = Attempt(job_of(horizon=1), Slow(clock), FunctionPolicy(walk(2, 4.0)), monitor).run()
        assert record.seconds["reset"] == 5.0
        assert monitor.phase == "idle"
        clock.sleep(50.0)


def test_another_thread_sees_phase_and_age_as_one_value() -> None:
    clock = FakeClock(10.0)
    monitor = Monitor(clock)
    assert monitor.now == ("idle", 10.0)
    clock.sleep(1.0)
    assert monitor.enter("step") == "idle"
    assert monitor.now == ("step", 11.0)
    clock.sleep(2.0)
    assert monitor.enter("idle") == "step"
    assert monitor.seconds == {"idle": 1.0, "step": 2.0}


class Closing(FakeBenchmark):
    """Interrupted from the keyboard."""

    def step(self, action: np.ndarray) -> Any:
        raise KeyboardInterrupt


def test_an_interruption_is_no_outcome() -> None:
    with pytest.raises(KeyboardInterrupt):
        attempt(Closing())
