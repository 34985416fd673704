"""An episode between two sides of different conventions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.link.episodes import FunctionPolicy, episode_of, job_of
from vlassess_link.benchmarks.attempt import Attempt
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.conventions.bounds import Bounds
from vlassess_link.data import ActionChunk, EpisodeRecord, Observation, RawObservation
from vlassess_link.digest import ArrayDigest
from vlassess_link.errors import InvalidActionError
from vlassess_link.policies.base import Policy
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import ImageConvention
from vlassess_link.testing import FakeBenchmark

STEP = Component("dx", "joints", 1, "delta", unit="degree", low=-90.0, high=90.0)
STATE = Layout(
    (
        Component("x", "joints", 1, "absolute", unit="degree", source="here"),
        Component("turn", "rotation", 4, "absolute", "world", rotation="quaternion_wxyz", source="here"),
    )
)


class Turned(FakeBenchmark):
    """A walk in degrees, with a turn in its state and a picture that is not even."""

    def __init__(self, clip: bool = False, **params: Any) -> None:
        super().__init__(**params)
        self.spec = replace(self.spec, action=Layout((STEP,), clip), state=STATE)

    def make_obs(self, raw: RawObservation) -> Observation:
        obs = super().make_obs(raw)
        image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        return replace(obs, images={"front": image}, state=np.array([90.0, -0.6, 0.0, 0.8, 0.0]))


def attempt(benchmark: FakeBenchmark, policy: Policy) -> EpisodeRecord:
    return Attempt(job_of(episode_of(limit=4)), benchmark, policy, Monitor()).run()


def test_the_policy_gets_what_it_declares_and_the_simulator_what_it_declares() -> None:
    policy = FunctionPolicy(
        lambda obs: ActionChunk(np.array([[np.pi / 6]])),
        image=ImageConvention("bgr", "rotated_180"),
        action=Layout((replace(STEP, unit="radian", low=-1.5, high=1.5),)),
        state=Layout(
            (
                replace(STATE.components[1], size=3, rotation="axis_angle_2pi", unit="radian"),
                replace(STATE.components[0], unit="radian"),
            )
        ),
    )
    benchmark = Turned()
    record = attempt(benchmark, policy)
    assert record.error is None
    (seen, *_) = policy.seen
    angle = 2 * np.pi - 2 * np.arctan2(0.8, 0.6)
    assert seen.state is not None
    np.testing.assert_allclose(seen.state, [0, angle, 0, np.pi / 2], atol=1e-12)
    np.testing.assert_array_equal(seen.images["front"], np.arange(48).reshape(4, 4, 3)[::-1, ::-1, ::-1])
    np.testing.assert_allclose(benchmark.received[0], [30.0])


def test_what_is_digested_is_what_each_side_really_got() -> None:
    policy = FunctionPolicy(
        lambda obs: ActionChunk(np.array([[0.5]])),
        action=Layout((replace(STEP, unit="radian", low=-1.5, high=1.5),)),
        state=Layout((STATE.components[1],)),
    )
    benchmark = Turned(termination="at_limit")
    record = attempt(benchmark, policy)
    inputs, actions = ArrayDigest(), ArrayDigest()
    for obs in policy.seen:
        inputs.update_text("instruction", obs.instruction)
        assert obs.state is not None
        inputs.update("state", obs.state)
    for action in benchmark.received:
        actions.update("action", action)
    assert (record.inputs_digest, record.actions_digest) == (inputs.hexdigest(), actions.hexdigest())
    assert record.action_high == pytest.approx((np.rad2deg(0.5),))


def test_a_policy_that_reads_no_state_is_given_none() -> None:
    policy = FunctionPolicy(lambda obs: ActionChunk(np.ones((1, 1))), state=Layout(()), action=Layout((STEP,)))
    assert attempt(Turned(), policy).error is None
    assert {obs.state is None for obs in policy.seen} == {True}


def test_an_action_outside_the_range_is_the_policys_error_and_never_arrives() -> None:
    policy = FunctionPolicy(lambda obs: ActionChunk(np.array([[1.0], [91.0]])), chunk=2, horizon=2)
    benchmark = Turned()
    record = attempt(benchmark, policy)
    assert record.error is not None
    assert (record.error.origin, record.error.kind) == ("policy", "InvalidActionError")
    assert "number 0 of action component 'dx' is 91; the benchmark takes [-90, 90]" in record.error.message
    assert record.steps == len(benchmark.received) == 1
    assert record.counts_as == "failure"


def test_where_the_layout_says_so_it_is_clipped_and_counted() -> None:
    policy = FunctionPolicy(lambda obs: ActionChunk(np.array([[1.0], [91.0]])), chunk=2, horizon=2)
    benchmark = Turned(clip=True, termination="at_limit")
    record = attempt(benchmark, policy)
    assert record.error is None
    assert record.clipped == 2
    np.testing.assert_array_equal(np.array(benchmark.received)[:, 0], [1, 90, 1, 90])
    assert record.action_high == (90.0,)


def test_what_is_not_executed_is_not_judged() -> None:
    policy = FunctionPolicy(lambda obs: ActionChunk(np.array([[1.0], [91.0]])), chunk=2, horizon=1)
    record = attempt(Turned(), policy)
    assert record.error is None
    assert record.clipped == 0


def test_another_number_of_actions_than_declared_is_the_policys_error() -> None:
    record = attempt(Turned(), FunctionPolicy(lambda obs: ActionChunk(np.ones((1, 2))), action=Layout((STEP,))))
    assert record.error is not None
    assert record.error.kind == "InvalidActionError"
    assert "2 components; the policy's spec declares 1" in record.error.message


def test_two_sides_that_do_not_fit_never_begin() -> None:
    wrong = Layout((replace(STEP, mode="absolute"),))
    record = attempt(Turned(), FunctionPolicy(lambda obs: ActionChunk(np.ones((1, 1))), action=wrong))
    assert record.error is not None
    assert record.steps == 0
    assert "absolute on one side and delta on the other" in record.error.message


TURN = Component("turn", "rotation", 3, "delta", "base", rotation="axis_angle_pi", unit="radian", low=-4.0, high=4.0)
MATRIX = replace(TURN, size=9, rotation="matrix", unit="unknown", low=None, high=None)


class Turning(FakeBenchmark):
    """Takes rotations, and tells its own as a quaternion."""

    def __init__(self, quaternion: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)) -> None:
        super().__init__(image=0, termination="at_limit")
        self.spec = replace(self.spec, action=Layout((TURN,)), state=Layout(STATE.components[1:]), hold_action=None)
        self._quaternion = quaternion

    def make_obs(self, raw: RawObservation) -> Observation:
        return replace(super().make_obs(raw), state=np.array(self._quaternion))


def turned_by(matrix: np.ndarray, **spec: Any) -> FunctionPolicy:
    return FunctionPolicy(lambda obs: ActionChunk(matrix.reshape(1, 9)), action=Layout((MATRIX,)), **spec)


def test_a_matrix_that_is_almost_a_rotation_arrives_as_the_nearest_one() -> None:
    benchmark = Turning()
    about_z = np.array([[0.01, -1.02, 0], [0.98, 0, 0.01], [0, 0, 1.01]])
    assert attempt(benchmark, turned_by(about_z)).error is None
    np.testing.assert_allclose(benchmark.received[0], [0, 0, np.pi / 2], atol=0.02)


def test_numbers_that_are_no_rotation_are_the_policys_error_and_never_arrive() -> None:
    benchmark = Turning()
    record = attempt(benchmark, turned_by(np.diag((1.0, 1.0, -1.0))))
    assert record.error is not None
    assert (record.error.origin, record.error.kind) == ("policy", "InvalidActionError")
    assert "for 'turn' the policy answers [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0]" in record.error.message
    assert "nearly a rotation" in record.error.message
    assert not benchmark.received


def test_a_state_that_is_no_rotation_is_the_benchmarks_error() -> None:
    wanted = Layout((replace(STATE.components[1], size=3, rotation="euler_xyz", unit="radian"),))
    policy = turned_by(np.eye(3), state=wanted)
    record = attempt(Turning((0.0, 0.0, 0.0, 0.0)), policy)
    assert record.error is not None
    assert (record.error.origin, record.error.kind) == ("benchmark", "ObservationError")
    assert (
        "cannot be converted for the policy's 'turn': the benchmark gives [0.0, 0.0, 0.0, 0.0]" in record.error.message
    )
    assert not policy.seen


BOX = Layout((Component("a", "other", 2, low=-1.0, high=1.0), Component("b", "other", 1, low=0.0)))


def test_rounding_is_no_error_and_does_not_count() -> None:
    bounds = Bounds(BOX)
    action = np.array([1.0 + 1e-7, 0.0, 5.0])
    legal, clipped = bounds.enforced(action)
    np.testing.assert_array_equal(legal, [1.0, 0.0, 5.0])
    assert not clipped
    inside = np.array([0.1, 0.2, 3.0], np.float32)
    assert bounds.enforced(inside)[0] is inside


@pytest.mark.parametrize(("place", "value", "words"), [(1, -1.5, "number 1 of action component 'a'"), (2, -1.0, "'b'")])
def test_the_error_names_component_and_number(place: int, value: float, words: str) -> None:
    action = np.zeros(3)
    action[place] = value
    with pytest.raises(InvalidActionError, match=words):
        Bounds(BOX).enforced(action)
    clipping = Bounds(replace(BOX, clip=True)).enforced(action.astype(np.float32))
    assert clipping[1]
    assert clipping[0].dtype == np.float32
