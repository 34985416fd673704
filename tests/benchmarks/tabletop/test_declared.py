"""What the benchmark declares, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from vlassess_link import BenchmarkSpec, Episode
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import from_json, to_json

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop


def test_the_shipped_spec_is_the_adapters(tabletop: Tabletop, folder: Path) -> None:
    shipped = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    assert shipped == to_json(tabletop.spec), "run python tools/write_specs.py"
    assert from_json(BenchmarkSpec, shipped) == tabletop.spec


def test_suites_and_their_tasks(tabletop: Tabletop) -> None:
    assert tabletop.spec.name == "tabletop-v1"
    assert tabletop.spec.suites == ("pick", "place", "stack")
    for suite in tabletop.spec.suites:
        tasks = [task for task in tabletop.spec.tasks if task.suite == suite]
        assert len(tasks) >= 3
        assert len({task.instruction for task in tasks}) == len(tasks)


def test_the_action_is_libero_s_and_clipped(tabletop: Tabletop) -> None:
    action = tabletop.spec.action
    assert [(part.kind, part.size, part.mode) for part in action.components] == [
        ("position", 3, "delta"),
        ("rotation", 3, "delta"),
        ("gripper", 1, "absolute"),
    ]
    assert action.components[2].gripper == "positive_closes"
    assert action.clip


def test_declaring_needs_no_simulator(folder: Path) -> None:
    code = (
        f"import sys; sys.path.append({str(folder.parent)!r}); from tabletop.adapter import Tabletop; "
        "from tabletop.expert import ScriptedExpert; Tabletop().spec; ScriptedExpert().spec; "
        "sys.exit('mujoco' in sys.modules)"
    )
    environment = {key: value for key, value in os.environ.items() if key != "MUJOCO_GL"}
    assert subprocess.run([sys.executable, "-c", code], env=environment, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"suite": "pour"}, "no task pour/red_block"),
        ({"task": "mug"}, "no task pick/mug; its tasks are pick/red_block"),
        ({"perturbation": {"gravity": "low"}}, "names the axis 'gravity'; tabletop has object_instance, "),
        ({"perturbation": {"camera_pose": "farther"}}, "no level 'farther'; it has near, mid, far"),
        ({"scene": {"blocks": 9}}, "scene is"),
        ({"initial_state": "s1"}, "initial_state is 's1'"),
    ],
)
def test_what_it_cannot_do_is_refused(
    tabletop: Tabletop, make_episode: Callable[..., Episode], fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(ContractError, match=said):
        tabletop.reset(make_episode(**fields))


@pytest.mark.parametrize(("given", "delivered"), [(None, "pick up the red block"), ("lift red", "lift red")])
def test_the_planned_instruction_wins(
    tabletop: Tabletop, make_episode: Callable[..., Episode], given: str | None, delivered: str
) -> None:
    raw = tabletop.reset(make_episode(instruction=given))
    assert raw.instruction == delivered
    assert tabletop.step(np.zeros(7)).raw.instruction == delivered


def test_initial_state_names_every_component(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    state = tabletop.reset(make_episode()).state
    sizes = {name: value.size for name, value in state.items()}
    assert sizes == {"arm": 16, "red_block": 13, "green_block": 13, "blue_block": 13, "bowl": 7, "zone": 7}
    assert all(np.isfinite(value).all() for value in state.values())
