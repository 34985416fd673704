"""What was measured yesterday is measured today: `tabletop-v1` without a perturbation is the benchmark that it was.

The figures were taken from the first released code. Layouts agree everywhere; states to what other processors and
MuJoCo's patch versions may differ in; pictures to what OpenGL drivers may.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from vlassess_link import Episode
from vlassess_link.digest import ArrayDigest

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


def replay(tabletop: Tabletop, episode: Episode) -> dict[str, Any]:
    """Return an episode's start, what it looks like, and where fifteen actions lead."""
    tabletop.view = None
    raw = tabletop.reset(episode)
    observation = tabletop.make_obs(raw)
    start = {name: values[:7].tolist() for name, values in raw.state.items()}
    looks = {name: image.mean(axis=(0, 1)).tolist() for name, image in observation.images.items()}
    for action in np.random.default_rng(3).uniform(-1, 1, (15, 7)):
        result = tabletop.step(action)
    end = tabletop.make_obs(result.raw).state
    assert end is not None
    return {"instruction": raw.instruction, "start": start, "looks": looks, "end": end.tolist()}


@pytest.mark.parametrize("name", GOLDEN["episodes"])
def test_episodes_are_what_they_were(tabletop: Tabletop, make_episode: Callable[..., Episode], name: str) -> None:
    suite, task, seed = name.split("/")
    now, then = replay(tabletop, make_episode(suite, task, seed=int(seed))), GOLDEN["episodes"][name]
    assert now["instruction"] == then["instruction"]
    assert set(now["start"]) == set(then["start"])
    for component, values in then["start"].items():
        assert now["start"][component] == pytest.approx(values, abs=1e-6), component
    for camera, colour in then["looks"].items():
        assert now["looks"][camera] == pytest.approx(colour, abs=1.0), camera
    assert now["end"] == pytest.approx(then["end"], abs=1e-4)


def test_layouts_are_what_they_were(module: Callable[[str], Any], make_episode: Callable[..., Episode]) -> None:
    digest = ArrayDigest()
    for seed in range(200):
        spots = module("adapter").start_of("single", make_episode(seed=seed)).spots
        digest.update(str(seed), np.array([(spots[name].x, spots[name].y, spots[name].yaw) for name in sorted(spots)]))
    assert digest.hexdigest() == GOLDEN["layouts"]
