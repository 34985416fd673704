"""MetaWorld in its own interpreter: upstream's own behaviour, the right way up, the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.environments import environment_of, run_inside
from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.pipeline import start
from vlassess.schema.events import SilentListener


@pytest.fixture(scope="module")
def inside() -> dict[str, Any]:
    return run_inside("metaworld-v1", Path(__file__).with_name("inside.py"))


def test_the_tasks_are_upstreams_and_each_has_words(inside: dict[str, Any]) -> None:
    spec = Catalog.discover().benchmarks["metaworld-v1"].spec
    assert spec is not None
    assert sorted(f"{task.name}-v3" for task in spec.tasks) == sorted(inside["tasks"])
    texts = [task.instruction for task in spec.tasks]
    assert len(set(texts)) == len(texts) == 50
    assert all(text and text == text.strip().lower() for text in texts)


def test_a_start_is_the_same_whatever_ran_before(inside: dict[str, Any]) -> None:
    for found in inside["determinism"]:
        first, again, looked_at = found["runs"]
        assert again == first, found["task"]
        assert looked_at["course"] == first["course"], f"{found['task']}: pictures changed the course"
        assert found["other"]["course"] != first["course"], found["task"]


def test_courses_and_pictures_are_upstreams(inside: dict[str, Any]) -> None:
    for found in inside["upstream"]:
        assert found == {"task": found["task"], "observations": True, "success": True, "picture": True}


def test_no_picture_stands_on_its_head(inside: dict[str, Any]) -> None:
    """The view from above has no up; of the others the picture's upward axis points up in the world."""
    up = inside["up"]
    assert abs(up.pop("topview")) < 1e-6
    assert abs(up.pop("gripperPOV")) < 0.3  # looks along the hand, straight down
    assert min(up.values()) > 0.3, up


def test_fast_pictures_are_another_version(inside: dict[str, Any]) -> None:
    assert inside["pictures"]["version"] == "1+fast"
    assert inside["pictures"]["shapes"] == [[224, 224, 3], [128, 128, 3]] * 2
    assert 0.1 < inside["pictures"]["difference"] < 20.0


def test_the_experts_solve_what_random_actions_do_not(tmp_path: Path) -> None:
    """The short form of ``vlassess run metaworld-quick``: one start of each of its five tasks."""
    environment = environment_of("metaworld-v1")
    policies = "policies={expert: expert, random: {name: random, params: {dims: 4}}}"
    config = load_config("metaworld-quick", [f"output={tmp_path}", "episodes=1", "step_limit=150", policies])
    result = start(config, Catalog.discover(), SilentListener())
    assert result.exit_code == 0, result.reasons
    successes = {policy.label: policy.counts.success for policy in result.summary.policies}
    assert successes["expert"] == 5
    assert successes["random"] <= 1
    manifest = json.loads((result.run_dir / "run.json").read_text(encoding="utf-8"))
    assert manifest["worker"]["digest"] == environment.digest
    assert manifest["worker"]["packages"]["metaworld"] == "3.1.1"


@pytest.mark.slow
def test_all_25_episodes(tmp_path: Path) -> None:
    environment_of("metaworld-v1")
    result = start(load_config("metaworld-quick", [f"output={tmp_path}"]), Catalog.discover(), SilentListener())
    assert [policy.counts.success for policy in result.summary.policies] == [25]
