from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.link.episodes import FunctionPolicy, episode_of, job_of, walk
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.benchmarks.recording import ArtifactRequest, FrameSpool, as_bytes
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import COMPARED, EpisodeRecord, Observation, RawObservation
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.testing import FakeBenchmark, FakePolicy


class Counting(FakeBenchmark):
    """Renders what its view says, counts how often each state is looked at, and breaks at the states ``broken``."""

    def __init__(self, broken: tuple[int, ...] = (), **params: Any) -> None:
        super().__init__(**params)
        self.looks: Counter[float] = Counter()
        self._broken = broken

    def make_obs(self, raw: RawObservation) -> Observation:
        """Count."""
        self.looks[raw.native] += 1
        if len(self.looks) - 1 in self._broken:
            raise RuntimeError("no picture of this state")
        obs = super().make_obs(raw)
        return obs if self.view is None or self.view.cameras else replace(obs, images={})


def record_with(
    folder: Path, benchmark: Benchmark, policy: Policy, horizon: int | None = None, **wanted: Any
) -> tuple[EpisodeRecord, str | None]:
    request = ArtifactRequest(str(folder), **wanted)
    attempt = Attempt(Job("item-0", 1, "main", episode_of(), horizon, request), benchmark, policy, Monitor())
    return attempt.run(), attempt.recording_problem


def compared(record: EpisodeRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in (*COMPARED, "images_digest", "action_low", "action_high")}


def frames_in(folder: Path) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for file in sorted(folder.glob("frames-*.npz")):
        with np.load(file, allow_pickle=False) as chunk:
            found.extend(chunk["camera_0"])
    return found


def told_in(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "spool.json").read_text(encoding="utf-8"))
    return told


EVERYTHING = {"frames": True, "steps": True, "inputs": 3}


@pytest.mark.parametrize(
    "wanted", [EVERYTHING, {"frames": True}, {"steps": True}, {"inputs": 1}], ids=lambda w: "+".join(w)
)
@pytest.mark.parametrize("cameras", [None, (), ("front",)], ids=["all", "none", "named"])
@pytest.mark.parametrize(("chunk", "horizon"), [(1, None), (3, None), (3, 2)])
def test_a_recording_changes_nothing_that_is_compared(
    tmp_path: Path, wanted: dict[str, Any], cameras: tuple[str, ...] | None, chunk: int, horizon: int | None
) -> None:
    def policy() -> FunctionPolicy:
        return FunctionPolicy(walk(chunk), chunk=chunk, horizon=chunk, cameras=cameras)

    plain_policy, watched_policy = policy(), policy()
    plain = Attempt(Job("item-0", 1, "main", episode_of(), horizon), Counting(), plain_policy, Monitor()).run()
    benchmark = Counting()

    recorded, problem = record_with(tmp_path, benchmark, watched_policy, horizon, **wanted)

    assert problem is None
    assert compared(recorded) == compared(plain)
    assert [sorted(obs.images) for obs in watched_policy.seen] == [sorted(obs.images) for obs in plain_policy.seen]
    assert max(benchmark.looks.values()) == 1, "a state is looked at once at most"
    expected = recorded.steps + 1 if wanted.get("frames") else recorded.observations
    assert sum(benchmark.looks.values()) == expected


def test_every_state_has_its_frame(tmp_path: Path) -> None:
    recorded, _ = record_with(tmp_path, FakeBenchmark(), FunctionPolicy(walk(4), chunk=4, horizon=4), frames=True)

    frames = frames_in(tmp_path)

    assert told_in(tmp_path) == {"cameras": ["front"], "frames": recorded.steps + 1, "steps": 0, "problem": None}
    assert len(frames) == recorded.steps + 1
    start = recorded.initial_state["x"][0]
    expected = [int(np.clip((start + 0.25 * step) * 10, 0, 255)) for step in range(recorded.steps + 1)]
    assert [int(frame[0, 0, 0]) for frame in frames] == expected


def test_steps_say_what_was_done_seen_and_reached(tmp_path: Path) -> None:
    policy = FunctionPolicy(walk(2, 0.5), chunk=2, horizon=2)
    recorded, _ = record_with(tmp_path, FakeBenchmark(), policy, steps=True)

    with np.load(tmp_path / "steps.npz", allow_pickle=False) as rows:
        steps = {name: rows[name] for name in rows.files}

    assert recorded.outcome is not None
    assert steps["action"].tolist() == [[0.5]] * recorded.steps
    assert steps["observed"].tolist() == [step % 2 == 0 for step in range(recorded.steps)]
    seen = [obs.state for obs in policy.seen]
    assert np.array_equal(steps["state"][steps["observed"]], np.array(seen, np.float64))
    assert np.isnan(steps["state"][~steps["observed"]]).all()
    assert steps["progress"].max() == recorded.outcome.progress
    assert steps["success"].tolist() == [False] * (recorded.steps - 1) + [True]
    for phase in ("step", "inference", "render"):
        assert steps[f"seconds_{phase}"].sum() <= recorded.seconds[phase] + 1e-3
        assert (steps[f"seconds_{phase}"] >= 0).all()


def test_inputs_are_what_the_policy_was_given(tmp_path: Path) -> None:
    policy = FunctionPolicy(walk())
    record_with(tmp_path, FakeBenchmark(image=5), policy, inputs=2)

    with np.load(tmp_path / "inputs.npz", allow_pickle=False) as inputs:
        assert {name.split("_")[0] for name in inputs.files} == {"0", "1"}
        for i, obs in enumerate(policy.seen[:2]):
            assert np.array_equal(inputs[f"{i}_image_front"], obs.images["front"])
            assert inputs[f"{i}_state"].dtype == np.float32
            assert inputs[f"{i}_state"].tolist() == np.asarray(obs.state).tolist()
            assert str(inputs[f"{i}_instruction"]) == obs.instruction
            assert int(inputs[f"{i}_step"]) == obs.step


def test_a_policy_cannot_change_what_is_kept_of_its_inputs(tmp_path: Path) -> None:
    def blacken(obs: Observation) -> Any:
        np.asarray(obs.images["front"])[:] = 255
        return walk()(obs)

    record_with(tmp_path, FakeBenchmark(), FunctionPolicy(blacken), frames=True, inputs=1)

    with np.load(tmp_path / "inputs.npz", allow_pickle=False) as inputs:
        assert inputs["0_image_front"].max() < 255
    assert frames_in(tmp_path)[0].max() < 255


def test_a_picture_that_only_the_recording_needs_may_fail(tmp_path: Path) -> None:
    policy = FunctionPolicy(walk(4), chunk=4, horizon=4)
    plain = Attempt(job_of(), FakeBenchmark(), FunctionPolicy(walk(4), chunk=4, horizon=4), Monitor()).run()

    recorded, problem = record_with(tmp_path, Counting(broken=(2,)), policy, frames=True)

    assert compared(recorded) == compared(plain)
    assert problem == "RuntimeError: no picture of this state"
    assert told_in(tmp_path)["frames"] == 2
    assert told_in(tmp_path)["problem"] == problem


def test_a_picture_that_the_policy_needs_fails_as_it_would_without(tmp_path: Path) -> None:
    plain = Attempt(job_of(), Counting(broken=(2,)), FunctionPolicy(walk()), Monitor()).run()

    recorded, _ = record_with(tmp_path, Counting(broken=(2,)), FunctionPolicy(walk()), frames=True, steps=True)

    assert compared(recorded) == compared(plain)
    assert recorded.error is not None
    assert plain.error is not None
    assert (recorded.error.origin, recorded.error.phase) == (plain.error.origin, plain.error.phase)
    assert told_in(tmp_path)["frames"] == told_in(tmp_path)["steps"] == 2, "what came before the error is kept"


@pytest.mark.parametrize("fault", ["nan", "raises", "shape"])
def test_a_policys_fault_is_the_same_and_its_steps_are_kept(tmp_path: Path, fault: str) -> None:
    def policy() -> Policy:
        return InProcessPolicy(FakePolicy(fault=fault, fault_step=2))

    plain = Attempt(job_of(), FakeBenchmark(), policy(), Monitor()).run()
    recorded, problem = record_with(tmp_path, FakeBenchmark(), policy(), **EVERYTHING)

    assert problem is None
    assert compared(recorded) == compared(plain)
    assert recorded.error is not None
    assert plain.error is not None
    assert recorded.error.phase == plain.error.phase == "inference"
    assert told_in(tmp_path)["steps"] == 2


def test_without_a_shared_folder_nothing_is_recorded(tmp_path: Path) -> None:
    recorded, problem = record_with(tmp_path / "elsewhere", FakeBenchmark(), FunctionPolicy(walk()), **EVERYTHING)

    assert recorded.outcome is not None
    assert problem is not None
    assert "share no file system" in problem
    assert not (tmp_path / "elsewhere").exists()


def test_the_limit_ends_the_frames_and_keeps_those_before(tmp_path: Path) -> None:
    recorded, problem = record_with(
        tmp_path, FakeBenchmark(image=8), FunctionPolicy(walk()), frames=True, limit=3 * 8 * 8 * 3
    )

    assert recorded.outcome is not None
    assert problem is not None
    assert "the video ends there" in problem
    assert len(frames_in(tmp_path)) == 3


@given(sizes=st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=8))
def test_frames_of_any_and_changing_size_come_back_in_order(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = FrameSpool(str(folder), 2**20)
    frames = [np.full((*size, 3), i, np.uint8) for i, size in enumerate(sizes)]

    for frame in frames:
        spool.add({"only": frame})
    spool.flush()

    found = frames_in(folder)
    assert all(np.array_equal(a, b) for a, b in zip(found, frames, strict=True))


def test_floats_become_bytes_on_the_same_scale() -> None:
    image = np.array([[[-5.0, 0.4, 254.6], [300.0, np.nan, 127.5]]], np.float32)
    assert as_bytes(image).tolist() == [[[0, 0, 255], [255, 0, 128]]]
