"""LIBERO: what can be said without its simulator; `test_inside.py` runs it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.plan import make_plan
from vlassess_link import Benchmark, Episode
from vlassess_link.conventions.rotations import convert
from vlassess_link.errors import ContractError, PluginError
from vlassess_link.loading import load_target

FOLDER = Path(__file__).parents[3] / "src" / "vlassess" / "benchmarks" / "libero"
SUITES = {"libero_spatial": 220, "libero_object": 280, "libero_goal": 300, "libero_10": 520, "libero_90": 400}
BOWL = "put_the_bowl_on_the_plate"


def load(**params: Any) -> Any:
    return load_target(f"{FOLDER / 'adapter.py'}:Libero", Benchmark, params)


def episode(suite: str = "libero_goal", task: str = BOWL, **more: Any) -> Episode:
    given = {"initial_state": "00", **more}
    return Episode("e", "p", "libero@1", suite, task, 0, 1, 0, 300, **given)


def test_the_protocol_is_that_of_papers() -> None:
    spec = load().spec
    counts = Counter(task.suite for task in spec.tasks)
    assert counts == {**dict.fromkeys(SUITES, 10), "libero_90": 90}
    assert {(task.suite, task.step_limit) for task in spec.tasks} == set(SUITES.items())
    assert {task.initial_states for task in spec.tasks} == {tuple(f"{state:02d}" for state in range(50))}
    assert spec.settling_steps == 10
    assert (spec.termination.kind, spec.success, spec.control_rate_hz) == ("on_success", "ever", 20.0)
    assert [(camera.name, camera.sizes[0]) for camera in spec.cameras] == [
        ("agentview", (256, 256)),
        ("robot0_eye_in_hand", (256, 256)),
    ]
    assert spec.action.clip
    assert spec.action.size == 7
    assert [(part.size, part.rotation) for part in spec.state.components] == [
        (3, None),
        (3, "axis_angle_2pi"),
        (2, None),
    ]


@pytest.mark.parametrize(
    ("name", "suites", "items"),
    [
        ("libero", 4, 2000),
        ("libero_spatial", 1, 500),
        ("libero_object", 1, 500),
        ("libero_goal", 1, 500),
        ("libero_10", 1, 500),
        ("libero_90", 1, 4500),
        ("libero_pro", 4, 10000),
        ("libero_pro_spatial", 1, 2500),
        ("libero_pro_object", 1, 2500),
        ("libero_pro_goal", 1, 2500),
        ("libero_pro_10", 1, 2500),
    ],
)
def test_bundled_configs_are_the_canonical_protocols(name: str, suites: int, items: int) -> None:
    config = load_config(name)
    spec = Catalog.discover().benchmarks["libero-v1"].spec
    assert spec is not None
    found = make_plan(config, spec)
    assert len(found) == items
    assert len({item.episode.suite for item in found}) == suites
    assert {item.episode.initial_state for item in found} == {f"{state:02d}" for state in range(50)}
    assert all(int(item.episode.initial_state or -1) == item.episode.index for item in found)


def test_other_pixels_are_another_version() -> None:
    assert load().spec.version == load(env_seed=7).spec.version == "1"
    assert load(render="fast").spec.version == "1+fast"
    assert {camera.image.orientation for camera in load(orientation="rotated_180").spec.cameras} == {"rotated_180"}


@pytest.mark.parametrize("params", [{"render": "nice"}, {"orientation": "left"}, {"env_seed": -1}, {"env_seed": True}])
def test_a_wrong_parameter_is_named(params: dict[str, Any]) -> None:
    with pytest.raises(PluginError, match=next(iter(params))):
        load(**params)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"task": "fly"}, "no task libero_goal/fly"),
        ({"initial_state": "50"}, "no initial state '50'"),
        ({"scene": {"lamp": 1}}, "scene"),
        ({"perturbation": {"pro": "env"}}, "pro=lan"),
        ({"perturbation": {"pro": "lan", "wording": "lan"}}, "perturbation"),
    ],
)
def test_what_does_not_exist_is_refused_before_any_simulator_is_imported(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        load().reset(episode(**asked))


def test_libero_90_has_no_variants() -> None:
    adapter = load()
    task = next(task.name for task in adapter.spec.tasks if task.suite == "libero_90")
    with pytest.raises(ContractError, match="libero_90"):
        adapter.reset(episode("libero_90", task, perturbation={"pro": "lan"}))


def test_without_liberos_packages_it_says_what_to_install() -> None:
    with pytest.raises(PluginError, match=r"requirements\.txt"):
        load().reset(episode())


def test_both_conversions_of_its_quaternion_can_be_had() -> None:
    """What it delivers goes beyond half a turn; a policy that wants the flipped form gets the same rotation."""
    long = np.array([0.0, 0.0, np.pi + 0.4])
    short = convert(long, "axis_angle_2pi", "axis_angle_pi")
    assert np.allclose(short, [0.0, 0.0, 0.4 - np.pi])


def test_the_stored_tasks_have_words() -> None:
    stored = json.loads((FOLDER / "tasks.json").read_text(encoding="utf-8"))
    texts = [task["instruction"] for suite in SUITES for task in stored[suite]]
    assert all(text and text == text.strip() for text in texts)
    assert stored["libero_goal"][8] == {
        **stored["libero_goal"][8],
        "name": BOWL,
        "instruction": "put the bowl on the plate",
    }
