"""Real time: the environment does not wait. Everything but one test runs in simulated time."""

from __future__ import annotations

import dataclasses
import math
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.link.episodes import FunctionPolicy, episode_of, walk
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.beside import pace_beside
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.benchmarks.pacing import Latency, ModelledPace, Pace, RealTime, WallPace, percentiles
from vlassess_link.benchmarks.realtime import Trace, run_realtime
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import ActionChunk, EpisodeRecord, Observation, Outcome
from vlassess_link.errors import ContractError, InvalidActionError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.testing import FakeBenchmark, FakeClock, FakePolicy

PERIOD = 0.05
"""Seconds of a control step of the fake, whose rate is 20 Hz."""
FAR = "to-400"


def numbered(chunk: int) -> FunctionPolicy:
    """Answer step + 0.01 * row, so that each executed action tells where it comes from."""
    return FunctionPolicy(
        lambda obs: ActionChunk(obs.step + 0.01 * np.arange(1.0, chunk + 1)[:, None]), chunk=chunk, horizon=chunk
    )


def run(
    policy: Any, latency: float, steps: int = 12, horizon: int = 1, **rules: bool
) -> tuple[Outcome, Trace, list[float]]:
    """Run an episode that never succeeds, in modelled time; returns the executed actions too."""
    benchmark = FakeBenchmark(image=0)
    real = RealTime("modelled", Latency(seconds=latency), **rules)
    trace = Trace(real.pace)
    pace = ModelledPace(policy, Latency(seconds=latency), 3)
    outcome = run_realtime(episode_of(task=FAR, limit=steps), benchmark, policy, horizon, (real, pace, trace))
    return outcome, trace, [round(float(action[0]), 4) for action in benchmark.received]


def test_without_latency_it_is_the_synchronous_loop() -> None:
    for horizon, rules in ((1, {}), (3, {}), (2, {"asynchronous": True}), (3, {"skip_past": True})):
        policy = InProcessPolicy(FakePolicy(chunk=3, noise=0.1))
        sync, real = FakeBenchmark(image=0), FakeBenchmark(image=0)
        expected = run_episode(episode_of(), sync, policy, horizon)
        real_rules = RealTime("modelled", Latency(), **rules)
        timing = (real_rules, ModelledPace(policy, Latency(), 0), Trace("modelled"))
        assert run_realtime(episode_of(), real, policy, horizon, timing) == expected
        np.testing.assert_array_equal(sync.received, real.received)


@given(latency=st.floats(0, 1), horizon=st.integers(1, 4), seed=st.integers(0, 5), asynchronous=st.booleans())
def test_exactly_the_limit_is_stepped_and_every_step_has_an_action(
    latency: float, horizon: int, seed: int, asynchronous: bool
) -> None:
    drawn = Latency("lognormal", latency, 0.5)
    rules = RealTime("modelled", drawn, skip_past=bool(seed % 2), asynchronous=asynchronous)
    benchmark, policy, trace = FakeBenchmark(image=0), numbered(4), Trace("modelled")
    outcome = run_realtime(
        episode_of(task=FAR, limit=15), benchmark, policy, horizon, (rules, ModelledPace(policy, drawn, seed), trace)
    )
    assert (outcome.cause, len(benchmark.received), trace.steps) == ("limit", 15, 15)
    assert trace.stale == sum(float(action[0]) == 0.0 for action in benchmark.received)
    stats = trace.stats()
    assert stats.control_rate_hz == pytest.approx(20.0)
    assert stats.stale_share == trace.stale / 15


def test_the_environment_holds_while_it_waits() -> None:
    """Three steps of hold at 150 ms, then one chunk of two, which is executed before the policy is asked again."""
    _, trace, actions = run(numbered(2), 3 * PERIOD, steps=10, horizon=2)
    assert actions == [0, 0, 0, 0.01, 0.02, 0, 0, 0, 5.01, 5.02]
    assert (trace.stale, trace.skipped, trace.seconds) == (6, 0, [3 * PERIOD, 3 * PERIOD])


@pytest.mark.parametrize(("horizon", "asynchronous", "asks"), [(1, False, 4), (4, False, 3), (2, True, 5)])
def test_a_step_that_is_held_costs_no_look_and_no_answer(horizon: int, asynchronous: bool, asks: int) -> None:
    """20 steps at 4 steps of latency: what is asked is looked at once, and used unless the episode ends before."""
    benchmark, policy, trace = FakeBenchmark(), numbered(8), Trace("modelled")
    rules = RealTime("modelled", Latency(seconds=4 * PERIOD), skip_past=asynchronous, asynchronous=asynchronous)
    pace = ModelledPace(policy, Latency(seconds=4 * PERIOD), 0)
    run_realtime(episode_of(task=FAR, limit=20), benchmark, policy, horizon, (rules, pace, trace))
    assert benchmark.renders == len(policy.seen) == asks
    assert len(trace.seconds) >= asks - 1


def test_an_answer_in_the_middle_of_a_step_is_for_the_next_one() -> None:
    _, _, actions = run(numbered(1), 1.5 * PERIOD, steps=6)
    assert actions == [0, 0, 0.01, 0, 0, 3.01]


def test_late_actions_can_be_skipped_but_for_the_last() -> None:
    _, trace, actions = run(numbered(4), 2 * PERIOD, steps=8, horizon=4, skip_past=True)
    assert actions == [0, 0, 0.03, 0.04, 0, 0, 4.03, 4.04]
    assert trace.skipped == 4
    _, trace, actions = run(numbered(2), 5 * PERIOD, steps=8, horizon=2, skip_past=True)
    assert actions == [0, 0, 0, 0, 0, 0.02, 0, 0]


def test_asked_beside_the_rest_of_a_chunk_there_is_no_hold() -> None:
    _, trace, actions = run(numbered(4), 2 * PERIOD, steps=10, horizon=2, asynchronous=True, skip_past=True)
    assert actions == [0, 0, 0.03, 0.04, 2.03, 2.04, 4.03, 4.04, 6.03, 6.04]
    assert trace.stale == 2
    _, trace, actions = run(numbered(4), 2 * PERIOD, steps=10, horizon=2, asynchronous=True)
    assert actions == [0, 0, 0.01, 0.02, 0.03, 0.04, 4.01, 4.02, 4.03, 4.04]


def test_the_first_action_is_waited_for_only_if_asked() -> None:
    _, trace, actions = run(numbered(1), 2 * PERIOD, steps=4, await_first=True)
    assert actions == [0.01, 0, 0, 1.01]
    assert trace.stats().control_rate_hz == pytest.approx(20.0)


def test_the_policy_learns_the_mode() -> None:
    policy = numbered(1)
    run(policy, 0.0)
    assert policy.starts[0].mode == "realtime"


def test_without_a_hold_action_it_is_refused_before_anything_moves() -> None:
    benchmark = FakeBenchmark()
    benchmark.spec = dataclasses.replace(benchmark.spec, hold_action=None)
    policy = numbered(1)
    timing = (RealTime("modelled", Latency()), ModelledPace(policy, Latency(), 0), Trace("modelled"))
    with pytest.raises(ContractError, match="declares no hold action"):
        run_realtime(episode_of(), benchmark, policy, 1, timing)
    assert not policy.starts


@pytest.mark.parametrize(
    ("latency", "low", "high"),
    [
        (Latency(seconds=0.2), 0.2, 0.2),
        (Latency("lognormal", 0.2, 0.3), 0.15, 0.25),
        (Latency("empirical", samples=(0.1, 0.3)), 0.1, 0.3),
    ],
)
def test_latencies_are_drawn_from_seed_and_step_alone(latency: Latency, low: float, high: float) -> None:
    def drawn(seed: int, count: int) -> list[float]:
        seen: list[float] = []
        pace = ModelledPace(numbered(1), latency, seed)
        for step in range(count):
            pace.ask(Observation({}, "go", step=step))
            seen.append(pace.await_answer().seconds)
        return seen

    values = drawn(1, 200)
    assert values[:50] == drawn(1, 50)
    assert low <= float(np.median(values)) <= high
    if latency.kind != "constant":
        assert values != drawn(2, 200)


@pytest.mark.parametrize(
    "given_",
    [{"kind": "normal"}, {"kind": "empirical"}, {"samples": (0.1,)}, {"seconds": -0.1}, {"sigma": math.inf}],
)
def test_wrong_latencies_are_refused(given_: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match="latency"):
        Latency(**given_)
    with pytest.raises(ContractError, match="latency must say how long"):
        RealTime("modelled")


def test_percentiles_are_measured_values() -> None:
    assert percentiles([]) == (None, None, None)
    assert percentiles([0.3]) == (0.3, 0.3, 0.3)
    hundred = [float(value) for value in range(1, 101)]
    assert percentiles(hundred[::-1]) == (50.0, 95.0, 99.0)
    assert percentiles(hundred)[0] == np.percentile(hundred, 50, method="inverted_cdf")


class Threadless(WallPace):
    """The wall's pace on a fake clock; the policy takes fake seconds."""

    def __init__(self, policy: Any, clock: FakeClock, latency: Latency | None = None) -> None:
        policy.spec = dataclasses.replace(policy.spec, privileged=True)
        super().__init__(policy, latency, 0, clock, clock.sleep)


def test_a_slow_simulator_is_late_and_does_not_hurry() -> None:
    clock = FakeClock()

    class Slow(FakeBenchmark):
        def step(self, action: np.ndarray) -> Any:
            clock.sleep(0.08 if len(self.received) < 3 else 0.0)
            return super().step(action)

    policy, trace = numbered(1), Trace("wall")
    run_realtime(
        episode_of(task=FAR, limit=7), Slow(image=0), policy, 1, (RealTime(), Threadless(policy, clock), trace)
    )
    assert trace.elapsed == pytest.approx(3 * 0.08 + 3 * PERIOD)


def test_the_wall_keeps_a_least_latency() -> None:
    clock, policy, trace, benchmark = FakeClock(), numbered(1), Trace("wall"), FakeBenchmark(image=0)
    pace = Threadless(policy, clock, Latency(seconds=2 * PERIOD))
    run_realtime(episode_of(task=FAR, limit=6), benchmark, policy, 1, (RealTime(), pace, trace))
    assert [round(float(action[0]), 2) for action in benchmark.received] == [0, 0, 0.01, 0, 0, 3.01]
    assert trace.seconds == pytest.approx([0.1, 0.1])


@given(
    latency=st.floats(0, 0.6),
    sigma=st.floats(0, 1),
    horizon=st.integers(1, 4),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_modelled_time_and_the_walls_run_the_same_episode_where_the_machine_keeps_up(
    latency: float, sigma: float, horizon: int, flags: tuple[bool, bool, bool]
) -> None:
    """The wall's pace on a fake clock, whose policy and simulator take no time but the drawn latency."""
    drawn, received, traces = Latency("lognormal", latency, sigma), [], []
    for pace in ("modelled", "wall"):
        clock, policy, benchmark, trace = FakeClock(), numbered(4), FakeBenchmark(image=0), Trace(pace)
        time_: Pace = ModelledPace(policy, drawn, 0) if pace == "modelled" else Threadless(policy, clock, drawn)
        rules = RealTime(pace, drawn, *flags)
        run_realtime(episode_of(task=FAR, limit=15), benchmark, policy, horizon, (rules, time_, trace))
        received.append(np.array(benchmark.received))
        traces.append((trace.stale, trace.skipped, np.round(trace.seconds, 9).tolist()))
    np.testing.assert_array_equal(received[0], received[1])
    assert traces[0] == traces[1]


class Gated(FunctionPolicy):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__(walk())
        self.gate = threading.Event()

    def predict(self, obs: Observation) -> ActionChunk:
        assert self.gate.wait(20)
        return super().predict(obs)


def test_the_policy_works_beside_the_simulator() -> None:
    """While it computes, steps go on; at the end the episode waits until it is free again."""
    policy, monitor = Gated(), Monitor()
    pace = pace_beside(RealTime(), policy, 0, monitor)
    policy.reset(Any, 0)  # type: ignore[arg-type]
    pace.ask(Observation({}, "go"))
    assert pace.answer() is None
    assert pace.asked
    policy.gate.set()
    assert pace.await_answer().chunk.actions.shape == (1, 1)
    pace.ask(Observation({}, "go"))
    pace.close()
    assert len(policy.seen) == 2
    assert monitor.running == (monitor.now,)


def attempt_of(policy: Any, rules: RealTime, **benchmark: Any) -> EpisodeRecord:
    job = Job("item-0", 1, "main", episode_of(), None, None, rules)
    return Attempt(job, FakeBenchmark(**benchmark), policy, Monitor()).run()


def test_a_record_says_what_time_did() -> None:
    rules = RealTime("modelled", Latency("lognormal", 0.1, 0.3))
    record, again = (attempt_of(InProcessPolicy(FakePolicy()), rules) for _ in range(2))
    assert record.error is None
    assert record.realtime is not None
    assert record.realtime == again.realtime
    assert record.actions_digest == again.actions_digest
    assert record.realtime.pace == "modelled"
    assert record.realtime.stale_share is not None
    assert 0.3 < record.realtime.stale_share < 0.9
    assert record.realtime.latency_p50 is not None
    assert from_json(EpisodeRecord, to_json(record)) == record


def test_a_record_of_the_synchronous_loop_has_none() -> None:
    job = Job("item-0", 1, "main", episode_of())
    record = Attempt(job, FakeBenchmark(), InProcessPolicy(FakePolicy()), Monitor()).run()
    assert record.realtime is None


@pytest.mark.parametrize("rules", [RealTime(), RealTime("modelled", Latency(seconds=0.1))])
@pytest.mark.parametrize("fault", ["raises", "nan"])
def test_what_the_policy_does_wrong_is_its_own(rules: RealTime, fault: str) -> None:
    record = attempt_of(InProcessPolicy(FakePolicy(fault=fault)), rules)
    assert record.error is not None
    assert (record.error.origin, record.error.phase) == ("policy", "inference")
    assert record.realtime is not None


def test_an_error_of_a_bare_policy_in_its_thread_is_its_own_too() -> None:
    def fail(obs: Observation) -> ActionChunk:
        raise KeyError("weights")

    record = attempt_of(FunctionPolicy(fail), RealTime())
    assert record.error is not None
    assert (record.error.origin, record.error.kind) == ("policy", "KeyError")


def test_an_error_of_the_simulator_is_the_simulators() -> None:
    record = attempt_of(InProcessPolicy(FakePolicy()), RealTime(), fault="step_raises")
    assert record.error is not None
    assert (record.error.origin, record.error.phase) == ("benchmark", "step")


def test_on_the_machines_clock_the_simulator_does_not_wait() -> None:
    """One real episode of a policy that takes 120 ms; what a busy machine does to its times is left open."""
    record = attempt_of(InProcessPolicy(FakePolicy()), RealTime(latency=Latency(seconds=0.12)), image=0)
    assert record.error is None
    assert record.counts_as == "success"
    stats = record.realtime
    assert stats is not None
    assert stats.pace == "wall"
    assert record.steps - stats.stale_steps == stats.answers == 4
    assert stats.stale_steps >= 4
    assert stats.latency_p50 is not None
    assert stats.latency_p50 >= 0.12
    assert stats.control_rate_hz is not None
    assert 0.0 < stats.control_rate_hz <= 20.5
    assert {"inference", "step"} <= set(record.seconds)


def test_a_chunk_of_another_size_never_reaches_the_simulator() -> None:
    policy = FunctionPolicy(lambda obs: ActionChunk(np.zeros((1, 3))))
    with pytest.raises(InvalidActionError):
        run(policy, 0.0)


def test_a_pace_that_is_closed_early_needs_no_answer() -> None:
    pace: Pace = ModelledPace(numbered(1), Latency(seconds=1.0), 0)
    pace.ask(Observation({}, "go"))
    pace.close()
    assert pace.asked
