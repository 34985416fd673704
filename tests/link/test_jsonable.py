from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.link.episodes import episode_of, job_of
from vlassess_link.benchmarks.attempt import unstarted_record
from vlassess_link.data import Episode, EpisodeRecord, ErrorInfo, Outcome
from vlassess_link.errors import ORIGINS, ContractError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.spaces import (
    FRAMES,
    GRIPPERS,
    MODES,
    ROTATIONS,
    SENSELESS,
    UNITS,
    Component,
    Layout,
    end_effector_delta,
)
from vlassess_link.specs import (
    Axis,
    BenchmarkSpec,
    CameraSpec,
    ImageConvention,
    Level,
    PolicyIdentity,
    PolicySpec,
    TaskSpec,
    Termination,
)
from vlassess_link.testing import FakeBenchmark, FakePolicy

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(min_size=1, max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(NAMES, JSON, max_size=3)
SEEDS = st.integers(0, 2**63 - 1)

EPISODES = st.builds(
    Episode,
    episode_id=NAMES,
    pair_key=NAMES,
    benchmark=NAMES,
    suite=NAMES,
    task=NAMES,
    index=SEEDS,
    seed=SEEDS,
    policy_seed=SEEDS,
    step_limit=st.integers(1, 10**6),
    initial_state=st.none() | NAMES,
    repeat=st.integers(0, 9),
    instruction=st.none() | st.text(),
    perturbation=st.dictionaries(NAMES, NAMES, max_size=2),
    scene=OBJECTS,
    private=OBJECTS,
)
OUTCOMES = st.builds(
    Outcome,
    success=st.booleans(),
    cause=st.sampled_from(["success", "limit", "held", "ended"]),
    progress=NUMBERS,
    final_progress=NUMBERS,
    stages=st.dictionaries(NAMES, st.integers(1, 500), max_size=2),
    metrics=st.dictionaries(NAMES, NUMBERS, max_size=2),
    success_step=st.none() | st.integers(1, 500),
    success_at_end=st.none() | st.booleans(),
)
ERRORS = st.builds(
    ErrorInfo, origin=st.sampled_from(ORIGINS), phase=NAMES, kind=NAMES, message=st.text(), traceback=st.text()
)


@st.composite
def records(draw: st.DrawFn) -> EpisodeRecord:
    ending = draw(st.fixed_dictionaries({"outcome": OUTCOMES}) | st.fixed_dictionaries({"error": ERRORS}))
    whole: st.SearchStrategy[EpisodeRecord] = st.builds(
        dataclasses.replace,
        st.just(unstarted_record(job_of(draw(EPISODES)), **ending)),
        steps=st.integers(0, 500),
        initial_state=st.dictionaries(NAMES, st.lists(NUMBERS, max_size=3), max_size=2),
        action_low=st.lists(NUMBERS, max_size=3).map(tuple),
        seconds=st.dictionaries(NAMES, NUMBERS, max_size=2),
        privileged=st.booleans(),
    )
    return draw(whole)


def component(name: str, kind: str, draw: st.DrawFn) -> Component:
    return Component(
        name,
        kind,
        draw(st.integers(1, 9)),
        mode=draw(st.none() | st.sampled_from(MODES)),
        frame=draw(st.sampled_from(FRAMES)),
        rotation=draw(st.none() | st.sampled_from(ROTATIONS)) if kind == "rotation" else None,
        gripper=draw(st.none() | st.sampled_from(GRIPPERS)) if kind == "gripper" else None,
        binary=draw(st.booleans()),
        threshold=draw(st.none() | NUMBERS),
        unit=draw(st.sampled_from([unit for unit in UNITS if (kind, unit) not in SENSELESS])),
        low=draw(st.none() | NUMBERS),
    )


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    kinds = draw(st.lists(st.sampled_from(["position", "rotation", "gripper", "joints"]), min_size=1, max_size=3))
    return Layout(tuple(component(f"c{i}", kind, draw) for i, kind in enumerate(kinds)), draw(st.booleans()))


POLICY_SPECS = st.builds(
    PolicySpec,
    identity=st.builds(PolicyIdentity, NAMES, NAMES, NAMES),
    cameras=st.none() | st.lists(NAMES, max_size=2).map(tuple),
    image_size=st.none() | st.just((128, 224)),
    image=st.builds(
        ImageConvention, orientation=st.sampled_from(["upright", "rotated_180"]), crop=st.floats(0.01, 1.0)
    ),
    state=st.none() | layouts(),
    action=st.none() | layouts(),
    chunk=st.integers(5, 9),
    horizon=st.integers(1, 5),
    stochastic=st.booleans(),
    capabilities=st.lists(NAMES, max_size=2).map(tuple),
)
BENCHMARK_SPECS = st.builds(
    BenchmarkSpec,
    id=NAMES,
    version=NAMES,
    tasks=st.just((TaskSpec("s", "t", 5, None, ("a", "b"), 2.5), TaskSpec("s", "u", 6, "go"))),
    action=layouts(),
    cameras=st.lists(st.builds(CameraSpec, NAMES, st.just(((128, 128), (224, 224)))), max_size=2).map(tuple),
    control_rate_hz=st.floats(0.1, 1000.0),
    termination=st.just(Termination("hold", 3)),
    success=st.sampled_from(["ever", "held"]),
    axes=st.lists(
        st.builds(Axis, NAMES, st.just((Level("far", {"shift": -1.0, "names": ["a"]}),)), st.just(("x",))), max_size=2
    ).map(tuple),
)


def over_the_wire(value: Any) -> Any:
    return json.loads(json.dumps(to_json(value), allow_nan=False))


@given(EPISODES)
def test_episodes_survive_json(episode: Episode) -> None:
    assert from_json(Episode, over_the_wire(episode)) == episode


@given(records())
def test_records_survive_json(record: EpisodeRecord) -> None:
    assert from_json(EpisodeRecord, over_the_wire(record)) == record


@given(POLICY_SPECS)
def test_policy_specs_survive_json(spec: PolicySpec) -> None:
    again = from_json(PolicySpec, over_the_wire(spec))
    assert again == spec
    assert again.identity.digest == spec.identity.digest


@given(BENCHMARK_SPECS)
def test_benchmark_specs_survive_json(spec: BenchmarkSpec) -> None:
    assert from_json(BenchmarkSpec, over_the_wire(spec)) == spec


@pytest.mark.parametrize("value", [FakeBenchmark().spec, FakePolicy().spec, end_effector_delta("left_")])
def test_real_specs_survive_json(value: Any) -> None:
    assert from_json(type(value), over_the_wire(value)) == value


def test_numpy_values_become_plain_numbers() -> None:
    value = {"a": np.float32(0.5), "b": np.arange(2), "c": (np.bool_(True), np.int64(3)), 4: "key"}
    assert to_json(value) == {"a": 0.5, "b": [0, 1], "c": [True, 3], "4": "key"}
    assert json.dumps(to_json(value)) == '{"a": 0.5, "b": [0, 1], "c": [true, 3], "4": "key"}'


EPISODE = to_json(episode_of())
RECORD = to_json(unstarted_record(job_of(), outcome=Outcome(True, "success", 1.0, 1.0)))
SPEC = to_json(FakeBenchmark().spec)


def changed(whole: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {**whole, **values}


def without(whole: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in whole.items() if key != name}


@pytest.mark.parametrize(
    ("cls", "data", "says"),
    [
        (Episode, changed(EPISODE, colour="red"), "Episode has the unknown field 'colour'; its fields are episode_id,"),
        (Episode, without(EPISODE, "seed"), "Episode: .*missing 1 required positional argument: 'seed'"),
        (Episode, changed(EPISODE, seed="1"), r"Episode.seed must be an integer, not '1' \(str\)"),
        (Episode, changed(EPISODE, seed=True), r"Episode.seed must be an integer, not 'True' \(bool\)"),
        (Episode, changed(EPISODE, seed=1.0), "Episode.seed must be an integer"),
        (Episode, changed(EPISODE, task=3), "Episode.task must be a text"),
        (Episode, changed(EPISODE, task=None), "Episode.task must be a text"),
        (Episode, changed(EPISODE, instruction=3), "Episode.instruction must be a text"),
        (Episode, changed(EPISODE, perturbation=[]), "Episode.perturbation must be an object"),
        (Episode, changed(EPISODE, perturbation={"a": 1}), "Episode.perturbation.a must be a text"),
        (Episode, changed(EPISODE, step_limit=0), "step_limit is 0"),
        (Episode, [EPISODE], "Episode must be an object"),
        (Episode, None, "Episode must be an object"),
        (EpisodeRecord, changed(RECORD, privileged=0), "EpisodeRecord.privileged must be true or false"),
        (EpisodeRecord, changed(RECORD, action_low=["a"]), r"EpisodeRecord.action_low\[0\] must be a number"),
        (EpisodeRecord, changed(RECORD, action_low=0.5), "EpisodeRecord.action_low must be a list"),
        (EpisodeRecord, changed(RECORD, seconds={"step": True}), "EpisodeRecord.seconds.step must be a number"),
        (EpisodeRecord, changed(RECORD, outcome=None), "exactly one of outcome and error"),
        (
            EpisodeRecord,
            changed(RECORD, outcome=changed(RECORD["outcome"], cause=1)),
            "EpisodeRecord.outcome.cause must be a text",
        ),
        (
            EpisodeRecord,
            changed(RECORD, outcome=changed(RECORD["outcome"], grade="A")),
            "EpisodeRecord.outcome has the unknown field 'grade'",
        ),
        (BenchmarkSpec, changed(SPEC, tasks=[{"suite": "a"}]), r"BenchmarkSpec.tasks\[0\]: .*'name' and 'step_limit'"),
        (BenchmarkSpec, changed(SPEC, success="maybe"), "success is 'maybe'; it must be one of ever, at_end, held"),
    ],
)
def test_what_does_not_fit_is_refused_and_the_field_named(cls: type, data: Any, says: str) -> None:
    with pytest.raises(ContractError, match=says):
        from_json(cls, data)


def test_a_whole_number_is_a_number() -> None:
    record = from_json(EpisodeRecord, changed(RECORD, seconds={"total": 3}))
    assert record.seconds == {"total": 3.0}
    assert isinstance(record.seconds["total"], float)


def test_fields_with_a_default_may_be_missing() -> None:
    old = {key: value for key, value in EPISODE.items() if key not in ("scene", "private", "repeat")}
    assert from_json(Episode, old) == episode_of()
