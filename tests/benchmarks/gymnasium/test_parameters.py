"""What a config may say of an environment; needs no gymnasium."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.write_specs import BENCHMARKS, folders, spec_text
from vlassess_link.errors import BenchmarkFault, ContractError

GOOD: dict[str, Any] = {
    "id": "toy",
    "tasks": [{"env_id": "lab/Toy-v0", "instruction": "play", "step_limit": 5}],
    "action": [{"name": "a", "kind": "other", "size": 2}],
    "success": {"from": "info.won"},
}


@pytest.fixture(scope="module", autouse=True)
def path() -> None:
    if str(BENCHMARKS) not in sys.path:
        sys.path.append(str(BENCHMARKS))


def settings(**changes: Any) -> Any:
    return importlib.import_module("gym_bridge.settings").read_settings({**GOOD, **changes})


def test_the_least_that_must_be_said() -> None:
    spec = settings().spec()
    assert (spec.name, spec.suites, spec.tasks[0].name) == ("toy-v1", ("main",), "Toy-v0")
    assert (spec.action.components[0].low, spec.action.components[0].high, spec.action.clip) == (-1.0, 1.0, True)
    assert spec.state is None
    assert spec.cameras == ()


def test_unscaled_actions_keep_their_bounds() -> None:
    action = [{"name": "a", "kind": "other", "size": 2, "low": 0, "high": 512}]
    spec = settings(action=action, scale_actions=False).spec()
    assert (spec.action.components[0].low, spec.action.components[0].high) == (0, 512)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tasks": []}, "needs the parameter 'tasks'"),
        ({"id": ""}, "needs the parameter 'id'"),
        ({"suites": "x"}, "params has the unknown key 'suites'; its keys are id, tasks"),
        ({"tasks": [{"env_id": "x"}]}, r"tasks\[0\]: .*missing 2 required"),
        ({"tasks": [{"env": "x"}]}, r"tasks\[0\] has the unknown key 'env'"),
        ({"action": [{"name": "a", "kind": "legs", "size": 1}]}, "kind is 'legs'"),
        ({"action": [{"name": "a", "kind": "other", "size": 1, "low": 0}]}, r"action\[0\] has bounds"),
        ({"state": [{"name": "a", "kind": "other", "size": 1}]}, r"state\[0\] has no 'from'"),
        ({"state": [{"name": "a", "kind": "other", "size": 1, "from": "obs[x]"}]}, r"'obs\[x\]' is no source"),
        ({"cameras": {"c": {"size": [5]}}}, "size is"),
        ({"cameras": {"c": {"size": [5, 5], "turn": 90}}}, "turn is 90"),
        ({"cameras": {"c": 5}}, "cameras.c is 5"),
        ({"success": {"from": "nowhere"}}, "'nowhere' is no source"),
        ({"success": "info.won"}, "success is 'info.won'; it must be a section"),
        ({"progress": {"from": "reward", "low": 1, "high": 1}}, "low and high both 1"),
        ({"initial_state": {"a": "obs("}}, r"'obs\(' is no source"),
        ({"termination": "never"}, "termination"),
        ({"counts": "at_end"}, "cannot be observed"),
    ],
)
def test_a_mistake_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ContractError, match=said):
        settings(**changes).spec()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("obs.hand.grip", [1.0, 2.0, 3.0]),
        ("obs.hand.grip[1:3]", [2.0, 3.0]),
        ("info.won", [1.0]),
        ("env.body.angle", [0.5]),
        ("reward", [-2.5]),
        ("terminated", [1.0]),
    ],
)
def test_sources_are_read(text: str, value: list[float]) -> None:
    sources = importlib.import_module("gym_bridge.sources")

    class Body:
        angle = 0.5

    class Env:
        body = Body()

    moment = sources.Moment(Env(), {"hand": {"grip": np.array([1, 2, 3])}}, {"won": True}, -2.5, True)
    assert sources.Source(text).array(moment).tolist() == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("obs.hand", "'hand' is missing; there are arm"),
        ("env.wheels", "'wheels' is missing"),
        ("info.name", "is a str, not an array"),
        ("obs.arm", "holds 2 numbers; one is wanted"),
    ],
)
def test_what_is_not_there_is_named(text: str, said: str) -> None:
    sources = importlib.import_module("gym_bridge.sources")
    with pytest.raises(BenchmarkFault, match=said):
        sources.Source(text).number(sources.Moment(object(), {"arm": np.zeros(2)}, {"name": "x"}))


@pytest.mark.parametrize(("value", "share"), [(-16.3, 0.0), (-99.0, 0.0), (0.0, 1.0), (3.0, 1.0), (-8.15, 0.5)])
def test_progress_is_a_share_of_the_way(value: float, share: float) -> None:
    adapter = importlib.import_module("gym_bridge.adapter")
    score = importlib.import_module("gym_bridge.settings").Score("reward", low=-16.3, high=0.0)
    assert adapter.share(score, value) == pytest.approx(share)


def test_progress_that_is_not_finite_is_a_fault() -> None:
    adapter = importlib.import_module("gym_bridge.adapter")
    score = importlib.import_module("gym_bridge.settings").Score("reward")
    with pytest.raises(BenchmarkFault, match="must be finite"):
        adapter.share(score, float("nan"))


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_every_stored_spec_is_what_its_benchmark_declares(folder: Path) -> None:
    stored = (folder / "spec.json").read_text(encoding="utf-8")
    assert json.loads(stored) == json.loads(spec_text(folder)), "run python tools/write_specs.py"
