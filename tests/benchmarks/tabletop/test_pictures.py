"""What the cameras see, and what is said where they cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from vlassess_link import Episode
from vlassess_link.benchmarks.base import View
from vlassess_link.errors import ContractError

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop

CHANNEL = {"red_block": 0, "green_block": 1, "blue_block": 2}


def pixel(scene: Any, point: np.ndarray, size: int) -> tuple[int, int]:
    """Return (row, column) of a world point in the agent camera, by the pinhole model."""
    camera = scene.cameras[0]
    position, target, up = (np.array(value) for value in (camera.position, camera.target, camera.up))
    back = (position - target) / np.linalg.norm(position - target)
    right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
    offset = point - position
    depth = -offset @ back
    scale = size / 2 / np.tan(np.radians(camera.fovy) / 2) / depth
    return (
        int(size / 2 - scale * (offset @ np.cross(back, right))),
        int(size / 2 + scale * (offset @ right)),
    )


@pytest.mark.parametrize("size", [128, 224])
def test_each_block_is_seen_upright_where_it_stands(
    tabletop: Tabletop, make_episode: Callable[..., Episode], module: Callable[[str], Any], size: int
) -> None:
    tabletop.view = View({"agent": (size, size)})
    for seed in range(5):
        raw = tabletop.reset(make_episode(seed=seed))
        picture = tabletop.make_obs(raw).images["agent"]
        assert picture.shape == (size, size, 3)
        assert picture.dtype == np.uint8
        for name, channel in CHANNEL.items():
            row, column = pixel(module("scene").SCENE, raw.state[name][:3], size)
            colour = picture[row, column].astype(int)
            assert colour[channel] > 1.5 * max(np.delete(colour, channel)), (name, seed, colour)


def test_only_what_is_looked_at_is_rendered(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    def shapes(view: View | None) -> dict[str, tuple[int, ...]]:
        tabletop.view = view
        return {name: image.shape for name, image in tabletop.make_obs(tabletop.reset(make_episode())).images.items()}

    assert shapes(None) == {"agent": (128, 128, 3), "wrist": (128, 128, 3)}
    assert shapes(View({"wrist": (224, 224)})) == {"wrist": (224, 224, 3)}
    assert shapes(View({"agent": (224, 224), "wrist": (128, 128)})) == {"agent": (224, 224, 3), "wrist": (128, 128, 3)}
    assert shapes(View({})) == {}


def test_the_wrist_camera_rides_with_the_hand(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    tabletop.view = View({"wrist": (128, 128)})
    before = tabletop.make_obs(tabletop.reset(make_episode())).images["wrist"]
    for _ in range(5):
        result = tabletop.step(np.array((0.3, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0)))
    after = tabletop.make_obs(result.raw).images["wrist"]
    hand, view = slice(115, 128), slice(0, 60)
    assert np.abs(before[hand].astype(int) - after[hand]).mean() < 8, "the hand stays at the bottom of the picture"
    assert np.abs(before[view].astype(int) - after[view]).mean() > 8, "the table moves"


def test_a_stale_observation_is_refused(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    raw = tabletop.reset(make_episode())
    tabletop.step(np.zeros(7))
    with pytest.raises(ContractError, match="observation of step 0 at step 1"):
        tabletop.make_obs(raw)


@pytest.mark.parametrize("backend", ["disabled", "nonsense"])
def test_missing_opengl_names_the_packages(folder: Path, backend: str) -> None:
    code = (
        f"import sys; sys.path[:0] = [{str(folder.parent)!r}, {str(Path(__file__).parent)!r}]; "
        "from tabletop.adapter import Tabletop; import conftest; Tabletop().reset(conftest.new_episode())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MUJOCO_GL": backend},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("vlassess_link.errors.PluginError")
    assert "apt-get install -y --no-install-recommends libegl1 libegl-mesa0 libgl1-mesa-dri" in last


def test_a_closed_benchmark_starts_anew(tabletop: Tabletop, make_episode: Callable[..., Episode]) -> None:
    tabletop.view = None
    before = tabletop.make_obs(tabletop.reset(make_episode())).images
    tabletop.close()
    after = tabletop.make_obs(tabletop.reset(make_episode())).images
    assert all(np.array_equal(before[name], after[name]) for name in before)
