"""Observations from every kind of place, and what does not fit a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.unit.datasets.support import ABOUT, demonstration
from vlassess.campaign import BUNDLED_OBSERVATIONS, CampaignConfig
from vlassess.datasets.lerobot import LeRobotWriter
from vlassess.datasets.lerobot.files import LIMITS
from vlassess.pipeline.validation_observations import ObservationsError, fitted, read_observations
from vlassess_link.benchmarks.recording import input_arrays
from vlassess_link.data import Observation
from vlassess_link.specs import PolicyIdentity, PolicySpec

RNG = np.random.default_rng(0)
SHARED = Path(__file__).parents[4] / "shared" / "data"


def config(**source: Any) -> CampaignConfig:
    return CampaignConfig.model_validate(
        {
            "policies": {"it": {"name": "random"}},
            "observations": source,
            "families": "vla",
            "specification": {"preset": "libero"},
        }
    )


def pictures(count: int) -> np.ndarray:
    return RNG.integers(0, 255, (count, 8, 10, 3), np.uint8)


def test_columns_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    images = pictures(5)
    np.savez(path, images_front=images, state=np.arange(10.0).reshape(5, 2), instruction=np.array(["go"] * 5))
    found = read_observations(config(npz=str(path)))
    assert len(found) == 5
    assert np.array_equal(found[3].observation.images["front"], images[3])
    assert (found[3].observation.instruction, found[3].observation.state.tolist()) == ("go", [6.0, 7.0])  # type: ignore[union-attr]
    chosen = [read_observations(config(npz=str(path), limit=2)) for _ in range(2)]
    assert [one.id for one in chosen[0]] == [one.id for one in chosen[1]]


def test_a_runs_inputs(tmp_path: Path) -> None:
    seen = [Observation({"front": picture}, f"do {i}", np.ones(2)) for i, picture in enumerate(pictures(2))]
    folder = tmp_path / "artifacts" / "abc"
    folder.mkdir(parents=True)
    np.savez(folder / "inputs.npz", **input_arrays(seen))  # type: ignore[arg-type]
    (first,) = read_observations(config(run=str(tmp_path)))
    assert first.observation.instruction == "do 0"
    assert len(read_observations(config(npz=str(folder / "inputs.npz")))) == 2


def test_a_data_set_gives_one_frame_of_each_episode_spread_over_tasks(tmp_path: Path) -> None:
    root = tmp_path / "set"
    root.mkdir()
    writer = LeRobotWriter(root, ABOUT, "lossless", LIMITS)
    made = [demonstration(number) for number in range(5)]
    for one in made:
        writer.add(one)
    writer.close()
    found = read_observations(config(dataset=str(root), limit=3))
    assert {one.observation.instruction for one in found} == {"go to 0", "go to 1", "go to 2"}
    for named in found:
        _, episode, _, frame = named.source.replace(",", "").split()
        film = made[int(episode)].cameras[0]
        assert np.array_equal(named.observation.images["front"], list(film.pictures())[int(frame)])
        assert named.observation.state is not None
        expected = made[int(episode)].state
        assert expected is not None
        assert named.observation.state == pytest.approx(expected[int(frame)], rel=1e-6)


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    picture = pictures(1)[0]
    Image.fromarray(picture).save(tmp_path / "a.png")
    (tmp_path / "notes.txt").write_text("no picture", encoding="utf-8")
    (one,) = read_observations(config(images=str(tmp_path), instruction="what is this?"))
    assert np.array_equal(one.observation.images["image"], picture)
    assert one.observation.instruction == "what is this?"


def test_bundled_ones() -> None:
    for name in BUNDLED_OBSERVATIONS:
        assert len(read_observations(config(name=name))) == 40


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder with shared data is not there")
@pytest.mark.parametrize(("file", "count"), [("libero_observation.npz", 1), ("bridge_train.npz", 40)])
def test_arrays_that_nobody_here_named(file: str, count: int) -> None:
    found = read_observations(config(npz=str(SHARED / file)))
    assert len(found) == count
    assert all(one.observation.instruction for one in found)


def test_a_policy_gets_its_cameras_at_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, images_front=pictures(1), state=np.ones((1, 2)))
    (one,) = read_observations(config(npz=str(path)))
    spec = PolicySpec(PolicyIdentity("p"), cameras=("agent",), image_size=(4, 4))
    assert fitted(one, spec, {"agent": "front"}).images["agent"].shape == (4, 4, 3)
    with pytest.raises(ObservationsError, match=r"camera 'agent'.*front"):
        fitted(one, spec, {})


@pytest.mark.parametrize("kind", ["npz", "run", "images"])
def test_what_is_not_there_is_named(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ObservationsError, match="nothing"):
        read_observations(config(**{kind: str(tmp_path / "nothing")}))


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(ObservationsError, match=r"a\.npz"):
        read_observations(config(npz=str(path)))
