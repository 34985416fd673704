"""The gymnasium bridge on three environments that nobody here wrote, in interpreters of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.benchmarks.environments import environment_of, run_inside
from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.pipeline import RunResult, start
from vlassess.schema.events import SilentListener

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def inside() -> dict[str, Any]:
    return run_inside("pusht-v1", HERE / "inside_pusht.py")


def run(config: str, name: str, tmp_path: Path, *changes: str) -> RunResult:
    environment_of(name)
    result = start(load_config(config, [f"output={tmp_path}", *changes]), Catalog.discover(), SilentListener())
    assert result.exit_code == 0, result.reasons
    return result


@pytest.mark.parametrize("name", ["pusht", "pendulum"])
def test_a_start_is_the_same_whatever_ran_before(inside: dict[str, Any], name: str) -> None:
    first, again, other = inside[name]
    assert again == first
    assert other["state"] != first["state"]
    assert other["picture"] != first["picture"]


def test_what_is_delivered_is_what_the_parameters_say(inside: dict[str, Any]) -> None:
    assert inside["pusht"][0]["picture"][1:] == [96, 96, 3]
    assert list(inside["pusht"][0]["state"]) == ["agent", "block", "angle", "goal"]
    assert inside["pusht"][0]["proprioception"] == inside["pusht"][0]["state"]["agent"]
    assert inside["pendulum"][0]["picture"][1:] == [500, 500, 3]
    # Without initial_state in the parameters, the whole observation is the proof of the start.
    assert list(inside["pendulum"][0]["state"]) == ["observation"]
    np.testing.assert_allclose(np.hypot(*inside["pendulum"][0]["proprioception"]), 1.0, rtol=1e-6)


def test_success_and_progress_are_the_environments(inside: dict[str, Any]) -> None:
    before, low, after, high, ended = inside["scored"]
    assert (before, after, ended) == (False, True, True)
    assert 0.0 <= low < 0.9 < high <= 1.0


def test_actions_are_scaled_to_the_environments_bounds_and_clipped(inside: dict[str, Any]) -> None:
    assert inside["scaled"] == [[0.0, 0.0], [256.0, 256.0], [512.0, 512.0], [512.0, 512.0]]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("size", r"ObservationError: camera 'front' of Pendulum-v1 gives uint8 of \(500, 500, 3\); .*change it"),
        ("action", r"ContractError: Pendulum-v1 takes actions of .*; `action` declares 2 numbers"),
        ("source", r"BenchmarkFault: the environment has no 'obs.tip': 'tip' is missing"),
        ("missing", r"BenchmarkFault: the environment has no 'info.solved': 'solved' is missing"),
        ("module", r"PluginError: pendulum-v1 needs what is not installed \(No module named 'no_such_module'\)"),
        ("env", r"PluginError: gymnasium.make\('NoSuch-v0', ...\) raised NameNotFound"),
        ("make", r"PluginError: gymnasium.make\('Pendulum-v1', ...\) raised TypeError"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(inside: dict[str, Any], case: str, said: str) -> None:
    assert re.match(said, inside["refusals"][case]), inside["refusals"][case]


def test_pusht_runs(tmp_path: Path) -> None:
    """The short form of ``vlassess run pusht``."""
    result = run("pusht", "pusht-v1", tmp_path, "episodes=1", "step_limit=15")
    assert [policy.counts.failure for policy in result.summary.policies] == [1, 1]


def test_pictures_change_no_course(tmp_path: Path) -> None:
    found = run_inside("fetch-v1", HERE / "inside_fetch.py")
    for task, (first, other, looked_at) in found.items():
        assert looked_at == first, f"{task}: a picture changed the course, or the start did not repeat"
        assert other != first


def test_the_fetch_expert_succeeds(tmp_path: Path) -> None:
    result = run("fetch", "fetch-v1", tmp_path, "episodes=4", "policies={expert: expert}")
    assert result.summary.policies[0].counts.success >= 7
