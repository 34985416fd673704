from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.link.episodes import episode_of, job_of
from vlassess_link.benchmarks.attempt import unstarted_record
from vlassess_link.data import COMPARED, ActionChunk, EpisodeRecord, ErrorInfo, Outcome, check_actions
from vlassess_link.errors import ORIGINS, ContractError, InvalidActionError
from vlassess_link.seeds import STREAMS


def record_with(**ending: Any) -> EpisodeRecord:
    return unstarted_record(job_of(), **ending)


@pytest.mark.parametrize("limit", [0, -1])
def test_an_episode_has_at_least_one_step(limit: int) -> None:
    with pytest.raises(ContractError, match=f"step_limit is {limit}"):
        episode_of(limit=limit)


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        episode_of().seed = 1  # type: ignore[misc]


def test_an_episodes_streams_start_anew_each_time_and_differ() -> None:
    episode = episode_of()
    firsts = {name: episode.rng(name).integers(2**62) for name in STREAMS}
    assert firsts == {name: episode.rng(name).integers(2**62) for name in STREAMS}
    assert len(set(firsts.values())) == len(STREAMS)


@given(
    hnp.arrays(st.sampled_from([np.float32, np.float64]), hnp.array_shapes(min_dims=1, max_dims=2), elements=st.just(1))
)
def test_a_chunk_keeps_dtype_and_values_as_given(actions: np.ndarray) -> None:
    chunk = ActionChunk.of({"actions": actions})
    assert chunk.actions.dtype == actions.dtype
    np.testing.assert_array_equal(chunk.actions, np.atleast_2d(actions))


@pytest.mark.parametrize(
    ("answer", "shape"),
    [
        ({"actions": [0.5, 1.0]}, (1, 2)),
        ({"actions": [[0.5], [1.0]]}, (2, 1)),
        ([1, 2, 3], (1, 3)),
        (np.arange(4), (1, 4)),
        (np.zeros((2, 3), np.int16), (2, 3)),
    ],
)
def test_lists_and_whole_numbers_become_float64(answer: Any, shape: tuple[int, int]) -> None:
    actions = ActionChunk.of(answer).actions
    assert actions.shape == shape
    assert actions.dtype == np.float64


def test_what_comes_beside_the_actions_is_kept_as_extras() -> None:
    answer = {"actions": np.ones(2), "reasoning": "left first"}
    assert ActionChunk.of(answer).extras == {"reasoning": "left first"}
    assert set(answer) == {"actions", "reasoning"}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"action": np.ones(2)}, r"no 'actions', only \['action'\]"),
        ({"actions": None}, "dtype object"),
        ({"actions": "forward"}, "dtype <U7"),
        ({"actions": [[1.0], [1.0, 2.0]]}, "no array of numbers"),
        ({"actions": [1j]}, "dtype complex128"),
        (np.ones(2, bool), "dtype bool"),
        (np.ones(2, np.float16), "dtype float16"),
        (np.ones((1, 2, 3)), r"shape \(1, 2, 3\)"),
        (np.ones((0, 3)), r"shape \(0, 3\)"),
        ([], r"shape \(1, 0\)"),
        ([[0.0, 1.0], [0.0, float("nan")]], "action 1 of the chunk has nan in component 1"),
        ([float("-inf")], "action 0 of the chunk has -inf in component 0"),
        (ActionChunk(np.full((1, 1), np.inf)), "has inf in component 0"),
        (ActionChunk([[1.0]]), "are a list; they must be a numpy array"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_action_is_refused_and_the_place_is_named(answer: Any, says: str) -> None:
    with pytest.raises(InvalidActionError, match=says):
        ActionChunk.of(answer)


def test_the_number_of_components_is_the_benchmarks() -> None:
    assert check_actions(np.ones((3, 7)), 7).shape == (3, 7)
    with pytest.raises(InvalidActionError, match="have 7 components; the benchmark takes 6"):
        check_actions(np.ones((3, 7)), 6)


@pytest.mark.parametrize("origin", ORIGINS)
def test_an_error_has_a_known_origin(origin: str) -> None:
    assert ErrorInfo(origin, "step", "E", "m").origin == origin


def test_an_unknown_origin_is_refused() -> None:
    with pytest.raises(ContractError, match="origin is 'gremlin'; it must be one of policy, benchmark, infrastructure"):
        ErrorInfo("gremlin", "step", "E", "m")


@pytest.mark.parametrize(
    ("ending", "counts_as", "final"),
    [
        ({"outcome": Outcome(True, "success", 1.0, 1.0)}, "success", True),
        ({"outcome": Outcome(False, "limit", 0.0, 0.0)}, "failure", True),
        ({"error": ErrorInfo("policy", "inference", "E", "m")}, "failure", True),
        ({"error": ErrorInfo("benchmark", "step", "E", "m")}, "error", False),
        ({"error": ErrorInfo("infrastructure", "step", "E", "m")}, "error", False),
    ],
)
def test_failure_and_error_are_two_things(ending: dict[str, Any], counts_as: str, final: bool) -> None:
    record = record_with(**ending)
    assert (record.counts_as, record.final) == (counts_as, final)


def test_a_record_has_an_outcome_or_an_error_and_never_both() -> None:
    outcome, error = Outcome(True, "success", 1.0, 1.0), ErrorInfo("policy", "inference", "E", "m")
    with pytest.raises(ContractError, match="item item-0: exactly one of outcome and error"):
        record_with()
    with pytest.raises(ContractError, match="exactly one"):
        record_with(outcome=outcome, error=error)


def test_compared_fields_exist_and_leave_out_what_differs_between_machines() -> None:
    names = {field.name for field in dataclasses.fields(EpisodeRecord)}
    assert set(COMPARED) <= names
    left_out = {"attempt", "error", "initial_state", "images_digest", "action_low", "action_high", "clipped"}
    assert names - set(COMPARED) == left_out | {
        "seconds",
        "started",
        "host",
        "worker",
        "schema",
        "realtime",
        "delivered",
        "disturbed",
        "reasoning",
    }
