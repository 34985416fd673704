from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.link.episodes import FunctionPolicy, episode_of, walk
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.disturbed import Disturbance, DisturbedBenchmark, DisturbedSpace
from vlassess_link.benchmarks.recording import ArtifactRequest
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import COMPARED, Episode, EpisodeRecord, StepResult
from vlassess_link.errors import ContractError
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.testing import FakeBenchmark

TWO_ARMS = Layout((*end_effector_delta("left_").components, *end_effector_delta("right_").components))


class Arm(FakeBenchmark):
    """Keeps what it is told; its action is that of one arm or two."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.spec = replace(self.spec, action=layout, hold_action=None)

    def step(self, action: np.ndarray) -> StepResult:
        """Keep it."""
        self.received.append(action)
        return super().step(np.zeros(1))


def executed(layout: Layout, rules: Disturbance, episode: Episode, steps: int = 200, told: float = 0.0) -> np.ndarray:
    benchmark = Arm(layout)
    disturbed = DisturbedBenchmark(benchmark, rules)
    disturbed.reset(episode)
    for _ in range(steps):
        disturbed.step(np.full(layout.size, told, np.float32))
    return np.array(benchmark.received[::2])


def attempt(folder: Path | None, rules: Disturbance | None) -> EpisodeRecord:
    request = None if folder is None else ArtifactRequest(str(folder), steps=True)
    job = Job("item-0", 1, "main", episode_of(), None, request, None, rules)
    return Attempt(job, FakeBenchmark(), FunctionPolicy(walk(stride=0.4)), Monitor()).run()


def test_what_is_executed_is_recorded_beside_what_was_meant(tmp_path: Path) -> None:
    record = attempt(tmp_path, Disturbance(noise=0.1))

    with np.load(tmp_path / "steps.npz", allow_pickle=False) as steps:
        assert steps["meant"].tolist() == [[0.4]] * record.steps
        assert steps["action"].shape == steps["meant"].shape
        assert record.disturbed == int((steps["action"] != steps["meant"]).any(axis=1).sum()) == record.steps
        assert record.action_low == (steps["action"].min(),), "digests and ranges are of what was executed"
        start = record.initial_state["x"][0]
        reached = start + np.concatenate(([0.0], np.cumsum(steps["action"][:-1, 0])))
        assert np.allclose(steps["state"][:, 0], reached, atol=1e-5), "states are those that were really reached"


def test_without_a_disturbance_nothing_is_added(tmp_path: Path) -> None:
    record = attempt(tmp_path, None)

    assert record.disturbed == 0
    with np.load(tmp_path / "steps.npz", allow_pickle=False) as steps:
        assert "meant" not in steps.files


def test_it_is_the_same_each_time_and_another_for_each_start_and_repeat() -> None:
    rules = Disturbance(0.1, 0.05)
    compared = [{name: getattr(attempt(None, rules), name) for name in COMPARED} for _ in range(2)]
    assert compared[0] == compared[1]

    first = executed(TWO_ARMS, rules, episode_of())
    assert np.array_equal(first, executed(TWO_ARMS, rules, episode_of()))
    for other in (episode_of(1), episode_of(repeat=1)):
        assert not np.array_equal(first, executed(TWO_ARMS, rules, other))


def test_noise_has_the_declared_size_and_leaves_grippers_alone() -> None:
    found = executed(TWO_ARMS, Disturbance(0.1), episode_of(), steps=4000, told=0.25) - np.float32(0.25)

    grippers = [6, 13]
    assert (found[:, grippers] == 0).all()
    moving = np.delete(found, grippers, axis=1)
    assert np.allclose(moving.std(axis=0), 0.1, rtol=0.06)
    assert np.abs(moving.mean(axis=0)).max() < 0.01
    assert np.abs(np.corrcoef(moving.T) - np.eye(12)).max() < 0.08


def test_pushes_move_one_arm_in_one_direction_for_their_steps() -> None:
    rules = Disturbance(push_rate=0.02, push_size=0.5, push_steps=7)
    found = executed(TWO_ARMS, rules, episode_of(), steps=6000)

    pushed = np.flatnonzero(np.any(found != 0, axis=1))
    runs = np.split(pushed, np.flatnonzero(np.diff(pushed) > 1) + 1)
    assert all(len(run) % 7 == 0 for run in runs[:-1]), "one may begin where the last has just ended"
    share = len(pushed) / len(found)
    expected = 7 / (7 + (1 - 0.02) / 0.02)  # seven steps, then a wait with mean 49
    assert abs(share - expected) < 0.03
    for run in runs[:20]:
        burst = found[run[:7]]
        assert (burst == burst[0]).all()
        arms = [float(np.linalg.norm(burst[0][places])) for places in ([0, 1, 2], [7, 8, 9])]
        assert sorted(arms) == pytest.approx([0.0, 0.5], abs=1e-6)
        assert not burst[:, [3, 4, 5, 6, 10, 11, 12, 13]].any()
    which = [bool(found[run[0], :3].any()) for run in runs]
    assert 0.3 < np.mean(which) < 0.7


@given(
    noise=st.floats(0, 5),
    rate=st.floats(0, 1),
    size=st.floats(0, 5),
    told=st.floats(-1, 1, width=32),
    layout=st.sampled_from([end_effector_delta(), TWO_ARMS]),
)
def test_what_is_executed_is_always_legal_and_of_the_same_type(
    noise: float, rate: float, size: float, told: float, layout: Layout
) -> None:
    found = executed(layout, Disturbance(noise, rate, size), episode_of(), steps=20, told=told)

    assert found.dtype == np.float32
    assert (np.abs(found) <= 1).all()


def test_noise_of_one_size_never_shifts_another_step() -> None:
    quiet = executed(TWO_ARMS, Disturbance(0.1), episode_of())
    loud = executed(TWO_ARMS, Disturbance(0.2), episode_of())
    assert np.allclose(loud, 2 * quiet, atol=1e-6)


def test_rotations_that_would_be_none_are_left_alone() -> None:
    layout = Layout(
        (
            Component("position", "position", 3, "absolute"),
            Component("rotation", "rotation", 4, rotation="quaternion_wxyz"),
        )
    )
    assert DisturbedSpace(layout).scale.tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_what_cannot_be_disturbed_is_refused() -> None:
    gripper = Layout((Component("gripper", "gripper", 1, gripper="positive_closes"),))
    with pytest.raises(ContractError, match=r"no action component can be disturbed \(there is gripper\)"):
        DisturbedSpace(gripper)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"noise": -1.0}, "noise is -1.0; it must be at least 0"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"push_rate": 1.5}, "a chance is at most 1"),
        ({"push_steps": 0}, "push_steps is 0; it must be at least 1"),
    ],
)
def test_senseless_sizes_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        Disturbance(**wrong)  # type: ignore[arg-type]
