from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.link.episodes import FunctionPolicy, ScriptedBenchmark, episode_of, walk
from vlassess_link.benchmarks.base import view_for
from vlassess_link.benchmarks.loop import Tally, run_episode
from vlassess_link.data import ActionChunk, EpisodeStart, Observation, Outcome, StepOutcome, StepResult
from vlassess_link.errors import BenchmarkFault, ContractError, InvalidActionError
from vlassess_link.specs import PolicyIdentity, PolicySpec
from vlassess_link.testing import FakeBenchmark

NO, YES = StepOutcome(False), StepOutcome(True, 1.0)


@pytest.mark.parametrize("limit", [1, 2, 7, 10, 11])
@pytest.mark.parametrize("horizon", [1, 3, 10])
def test_the_step_limit_is_exact(limit: int, horizon: int) -> None:
    benchmark = FakeBenchmark()
    outcome = run_episode(episode_of(limit=limit), benchmark, FunctionPolicy(walk(10, 0.0)), horizon)
    assert len(benchmark.received) == limit
    assert (outcome.success, outcome.cause) == (False, "limit")


@given(limit=st.integers(1, 30), horizon=st.integers(1, 12), chunk=st.integers(1, 12))
def test_one_observation_per_executed_chunk(limit: int, horizon: int, chunk: int) -> None:
    benchmark, policy = FakeBenchmark(), FunctionPolicy(walk(chunk, 0.0))
    run_episode(episode_of(limit=limit), benchmark, policy, horizon)
    executed = min(horizon, chunk)
    assert benchmark.renders == len(policy.seen) == -(-limit // executed)
    assert [obs.step for obs in policy.seen] == list(range(0, limit, executed))


@pytest.mark.parametrize("chunk", [10, 3])
def test_observing_less_often_changes_not_one_bit_of_the_trajectory(chunk: int) -> None:
    plan = np.random.default_rng(0).normal(0.1, 0.3, (60, 1))

    def run(horizon: int) -> tuple[FakeBenchmark, Outcome]:
        benchmark = FakeBenchmark()
        policy = FunctionPolicy(lambda obs: ActionChunk(plan[obs.step : obs.step + chunk]))
        return benchmark, run_episode(episode_of(limit=40), benchmark, policy, horizon)

    (often, first), (seldom, second) = run(1), run(10)
    assert first == second
    assert [a.tobytes() for a in often.received] == [a.tobytes() for a in seldom.received]
    assert seldom.renders == -(-len(seldom.received) // min(chunk, 10)) < often.renders == len(often.received)


class Copying(FakeBenchmark):
    """Keeps what each action was when it came."""

    def step(self, action: np.ndarray) -> StepResult:
        return super().step(action.copy())


class Mutating(FunctionPolicy):
    """Writes what it answers next into the buffer that it answered last."""

    def __init__(self) -> None:
        self._buffer = np.zeros((3, 1))
        super().__init__(self._fill)

    def _fill(self, obs: Observation) -> ActionChunk:
        self._buffer[:] = obs.step
        return ActionChunk(self._buffer)


def test_a_policy_may_reuse_its_buffer_after_the_horizon() -> None:
    benchmark = Copying(termination="at_limit")
    run_episode(episode_of(limit=7), benchmark, Mutating(), 3)
    executed = [float(action[0]) for action in benchmark.received]
    assert executed == [0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 6.0]


@pytest.mark.parametrize(
    "bad",
    [
        np.array([[0.1], [np.nan]]),
        np.array([[np.inf], [0.1]]),
        np.zeros((2, 2)),
        np.zeros((0, 1)),
        np.zeros(1),
        np.zeros((2, 1), np.int64),
        np.zeros((2, 1), complex),
        np.zeros((2, 1), np.float16),
        np.array([["go"]]),
    ],
)
def test_what_is_no_action_never_reaches_the_benchmark(bad: np.ndarray) -> None:
    benchmark = FakeBenchmark()
    policy = FunctionPolicy(lambda obs: ActionChunk(bad if obs.step >= 2 else np.zeros((2, 1))))
    with pytest.raises(InvalidActionError):
        run_episode(episode_of(), benchmark, policy, 2)
    assert len(benchmark.received) == 2


def test_a_bad_action_beyond_the_horizon_is_still_a_bad_chunk() -> None:
    with pytest.raises(InvalidActionError, match="action 1 of the chunk has nan"):
        run_episode(
            episode_of(), FakeBenchmark(), FunctionPolicy(lambda obs: ActionChunk(np.array([[0], [np.nan]]))), 1
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_actions_arrive_as_given(dtype: Any) -> None:
    benchmark = FakeBenchmark()
    run_episode(episode_of(limit=2), benchmark, FunctionPolicy(lambda obs: ActionChunk(np.full((1, 1), 0.1, dtype))), 1)
    assert [(action.dtype, action.shape) for action in benchmark.received] == [(dtype, (1,))] * 2


def run_script(
    outcomes: list[StepOutcome], termination: str, limit: int = 6, ends_at: int | None = None, success: str = ""
) -> tuple[Outcome, int]:
    benchmark = ScriptedBenchmark(outcomes, ends_at, termination=termination)
    if success:
        benchmark.spec = dataclasses.replace(benchmark.spec, success=success)
    outcome = run_episode(episode_of(limit=limit), benchmark, FunctionPolicy(walk(2)), 2)
    return outcome, benchmark.steps


@pytest.mark.parametrize(
    ("termination", "success", "script", "steps", "cause", "headline", "first", "at_end"),
    [
        ("on_success", "ever", [NO, YES, NO], 2, "success", True, 2, None),
        ("on_success", "ever", [YES], 1, "success", True, 1, None),
        ("on_success", "ever", [NO], 6, "limit", False, None, None),
        ("on_success", "ever", [NO] * 5 + [YES], 6, "success", True, 6, None),
        ("at_limit", "at_end", [NO, YES, NO], 6, "limit", False, 2, False),
        ("at_limit", "at_end", [NO, YES], 6, "limit", True, 2, True),
        ("at_limit", "at_end", [NO] * 5 + [YES], 6, "limit", True, 6, True),
        ("at_limit", "ever", [NO, YES, NO], 6, "limit", True, 2, False),
        ("at_limit", "ever", [NO], 6, "limit", False, None, False),
        ("hold", "held", [NO, YES, YES, YES, NO], 4, "held", True, 2, None),
        ("hold", "held", [YES, YES, NO, YES, YES, NO], 6, "limit", False, 1, None),
        ("hold", "held", [NO] * 3 + [YES], 6, "held", True, 4, None),
        ("hold", "held", [NO] * 4 + [YES], 6, "limit", False, 5, None),
        ("hold", "ever", [YES, NO], 6, "limit", True, 1, None),
        ("hold", "ever", [YES], 3, "held", True, 1, None),
    ],
)
def test_success_means_what_the_benchmark_declares(
    termination: str,
    success: str,
    script: list[StepOutcome],
    steps: int,
    cause: str,
    headline: bool,
    first: int | None,
    at_end: bool | None,
) -> None:
    outcome, taken = run_script(script, termination, success=success)
    assert taken == steps
    assert (outcome.cause, outcome.success) == (cause, headline)
    assert (outcome.success_step, outcome.success_at_end) == (first, at_end)


@pytest.mark.parametrize("termination", ["on_success", "at_limit", "hold"])
def test_a_simulator_that_cannot_go_on_ends_the_episode(termination: str) -> None:
    outcome, steps = run_script([NO], termination, ends_at=3)
    assert (steps, outcome.cause, outcome.success) == (3, "ended", False)


@pytest.mark.parametrize(
    ("termination", "script", "cause"),
    [("on_success", [NO, YES], "success"), ("hold", [YES], "held"), ("at_limit", [YES], "ended")],
)
def test_a_success_on_the_simulators_last_step_counts(termination: str, script: list[StepOutcome], cause: str) -> None:
    outcome, _ = run_script(script, termination, ends_at={"success": 2, "held": 3, "ended": 2}[cause])
    assert (outcome.success, outcome.cause) == (True, cause)


def test_progress_stages_and_metrics_are_folded() -> None:
    script = [
        StepOutcome(False, 0.2, ("reach",), {"distance": 3.0}),
        StepOutcome(False, 0.8, ("grasp", "reach"), {"distance": 1.0}),
        StepOutcome(False, 0.4, (), {"distance": 2.0}),
    ]
    outcome, _ = run_script(script, "at_limit", limit=3)
    assert (outcome.progress, outcome.final_progress) == (0.8, 0.4)
    assert outcome.stages == {"reach": 1, "grasp": 2}
    assert outcome.metrics == {"distance": 2.0}


@pytest.mark.parametrize("progress", [-0.01, 1.01, float("nan"), float("inf")])
def test_progress_outside_its_range_is_the_benchmarks_fault(progress: float) -> None:
    with pytest.raises(BenchmarkFault, match=rf"progress is {progress} at step 2; it must lie in \[0, 1\]"):
        run_script([NO, StepOutcome(False, progress)], "on_success")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_metric_that_is_not_finite_is_the_benchmarks_fault(value: float) -> None:
    with pytest.raises(BenchmarkFault, match=f"metric 'distance' is {value} at step 1"):
        run_script([StepOutcome(False, 0.0, (), {"distance": value})], "on_success")


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.sampled_from(["on_success", "at_limit", "hold"]))
def test_a_tally_agrees_with_a_reading_of_the_whole_sequence(successes: list[bool], termination: str) -> None:
    spec = FakeBenchmark(termination=termination).spec
    tally, taken = Tally(spec), 0
    for now in successes:
        tally.add(StepOutcome(now))
        taken += 1
        if tally.cause is not None:
            break
    text = "".join("S" if now else "." for now in successes)
    held = text.find("SSS")
    ends = {"on_success": text.find("S") + 1, "at_limit": 0, "hold": held + 3 if held >= 0 else 0}[termination]
    assert taken == (ends or len(successes))
    headline = {"on_success": "S" in text, "at_limit": text.endswith("S"), "hold": held >= 0}[termination]
    assert tally.outcome().success is headline
    assert tally.outcome().success_step == (text[:taken].find("S") + 1 or None)


def test_a_policy_learns_nothing_of_the_episode_but_its_start() -> None:
    policy = FunctionPolicy(walk())
    episode = episode_of(private={"answer": "left"}, scene={"blocks": 3}, perturbation={"start": "far"})
    run_episode(episode, FakeBenchmark(), policy, 1)
    assert policy.starts == [EpisodeStart(episode.episode_id, "walk", "to-4", "go to 4", "sync")]
    assert {field.name for field in dataclasses.fields(EpisodeStart)} == {
        "episode_id",
        "suite",
        "task",
        "instruction",
        "mode",
    }
    assert policy.seeds == [episode.policy_seed]
    told = repr([policy.starts, policy.seeds, policy.seen])
    for secret in (episode.pair_key, str(episode.seed), "left", "blocks", "far"):
        assert secret not in told


def test_the_benchmark_owns_the_instruction_unless_the_episode_replaces_it() -> None:
    policy = FunctionPolicy(walk())
    run_episode(episode_of(instruction="walk on"), FakeBenchmark(), policy, 1)
    assert policy.starts[0].instruction == policy.seen[0].instruction == "walk on"


CAMERAS = FakeBenchmark(image=8).spec


@pytest.mark.parametrize(
    ("wants", "gets"),
    [
        ({}, {"front": (8, 8)}),
        ({"cameras": ()}, {}),
        ({"cameras": ("front",), "image_size": (8, 8)}, {"front": (8, 8)}),
    ],
)
def test_only_what_the_policy_looks_at_is_rendered(wants: dict[str, Any], gets: dict[str, Any]) -> None:
    assert view_for(CAMERAS, PolicySpec(PolicyIdentity("p"), **wants)).cameras == gets


@pytest.mark.parametrize(
    ("wants", "says"),
    [
        ({"cameras": ("wrist",)}, "'p' looks at camera 'wrist'; fake-v1 has front"),
        ({"image_size": (16, 16)}, "'p' wants 'front' at 16x16; fake-v1 offers 8x8"),
    ],
)
def test_what_cannot_be_rendered_is_refused(wants: dict[str, Any], says: str) -> None:
    with pytest.raises(ContractError, match=says):
        view_for(CAMERAS, PolicySpec(PolicyIdentity("p"), **wants))
