"""Those who read these formats for a living read what we write: lerobot itself, and Rerun's SDK."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from vlassess.artifacts.reading import Recording
from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.datasets.lerobot import Images
from vlassess.pipeline.collecting import Wanted, collect_config, record
from vlassess.pipeline.demonstrating import Choice
from vlassess.pipeline.exporting import Exported, export_lerobot
from vlassess.records import RunDirectory
from vlassess.schema.collecting import CollectSettings
from vlassess.schema.events import SilentListener

PYTHON = os.environ.get("VLASSESS_LEROBOT", "")
pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not PYTHON, reason="NOT TESTED: `make test-lerobot` installs lerobot and rerun-sdk (6 GB) and lets them read"
    ),
]
SOME = ["suites=[pick]", "disturbance={noise: 0.1, push: {rate: 0.02}}"]
EPISODES = 6


class Read(NamedTuple):
    """What lerobot found in a data set."""

    images: Images
    exported: Exported
    found: dict[str, Any]


def inside(script: str, *arguments: object) -> Any:
    """Run a script with the other interpreter, offline, and return the JSON that it prints last."""
    command = [PYTHON, "-W", "ignore", str(Path(__file__).with_name(script)), *map(str, arguments)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Six disturbed demonstrations of the real benchmark."""
    folder, catalog = tmp_path_factory.mktemp("collected"), Catalog.discover()
    overrides = [*SOME, f"output={folder}", "execution.workers=2"]
    config = collect_config(load_config("tabletop"), None, overrides, catalog)
    wanted = Wanted(config, EPISODES, CollectSettings())
    return RunDirectory.open(record(wanted, catalog, SilentListener()).run_dir)


@pytest.fixture(scope="module")
def recorded(run: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was recorded, straight from the run's own files: ``EPISODE/FEATURE``."""
    arrays: dict[str, np.ndarray] = {}
    records = {one.item_id: one for one in run.records().records if one.outcome and one.outcome.success}
    kept = [item for item in run.items() if item.item_id in records]
    for episode, item in enumerate(kept):
        found = Recording.open(run.path / "artifacts" / item.item_id)
        assert found is not None
        steps = found.steps()
        names = {"action": "meant", "executed_action": "action", "observation.state": "state"}
        names |= {"next.progress": "progress", "next.success": "success"}
        for feature, column in names.items():
            values = np.asarray(steps[column], np.float32)
            arrays[f"{episode}/{feature}"] = values.reshape(len(values), -1)
        for camera in found.cameras:
            arrays[f"{episode}/observation.images.{camera.name}"] = np.array(list(camera.pictures())[:-1])
    path = tmp_path_factory.mktemp("expected") / "recorded.npz"
    np.savez(path, allow_pickle=False, **arrays)
    return path


@pytest.fixture(scope="module", params=["video", "lossless"])
def read(
    run: RunDirectory, recorded: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Read:
    """What lerobot found in the data set, with compact videos and without loss."""
    images: Images = request.param
    folder = tmp_path_factory.mktemp(images) / "set"
    exported = export_lerobot(run, folder, Choice(), images)
    return Read(images, exported, inside("inside_lerobot.py", folder, recorded))


def test_lerobot_iterates_the_recorded_frames(run: RunDirectory, read: Read) -> None:
    found, exported = read.found, read.exported
    assert (found["episodes"], found["frames"]) == (exported.episodes, exported.frames)
    assert found["seen"] == exported.frames
    assert found["fps"] == 20
    assert sorted(found["tasks"]) == [f"pick up the {colour} block" for colour in ("blue", "green", "red")]
    assert found["cameras"] == ["observation.images.agent", "observation.images.wrist"]
    records = {one.item_id: one for one in run.records().records}
    instructions = [records[item.item_id].instruction for item in run.items() if records[item.item_id].outcome]
    assert [found["task_of"][str(n)] for n in range(exported.episodes)] == instructions
    vectors = {name: apart for name, apart in found["difference"].items() if "images" not in name}
    assert vectors == dict.fromkeys(vectors, 0.0), "numbers are equal, as float32"
    assert len(vectors) == 5
    for camera in found["cameras"]:
        if read.images == "lossless":
            assert found["difference"][camera] == 0.0, "equal bit for bit"
        else:
            assert 10 * np.log10(255**2 / found["mse"][camera]) > 30, "PSNR in dB of the worst frame"


def test_lerobot_knows_what_is_what(read: Read) -> None:
    assert read.found["policy"] == {
        "observation.state": "FeatureType.STATE",
        "action": "FeatureType.ACTION",
        "observation.images.agent": "FeatureType.VISUAL",
        "observation.images.wrist": "FeatureType.VISUAL",
    }, "what was executed and what came of it are no inputs and outputs of a policy"
    kinds = sorted(["min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"])
    assert all(stats == kinds for stats in read.found["statistics"].values())


def test_lerobot_gives_what_training_asks_for(read: Read) -> None:
    found = read.found["windows"]
    assert found["episode"] == read.exported.episodes - 1
    assert found["shapes"]["action"] == [4, 7]
    assert found["shapes"]["observation.images.agent"] == [2, 3, 128, 128]
    assert found["padded"] == [False, True, True, True], "the last frame of an episode has no later action"
    assert found["batch"] == [4, 4, 7]


def test_lerobot_reads_demonstrations_without_pictures(run: RunDirectory, recorded: Path, tmp_path: Path) -> None:
    export_lerobot(run, tmp_path / "set", Choice(pictures=False))

    found = inside("inside_lerobot.py", tmp_path / "set", recorded)

    assert found["cameras"] == []
    assert found["difference"] == dict.fromkeys(found["difference"], 0.0)


def test_reruns_sdk_reads_our_recordings(run: RunDirectory, recorded: Path, tmp_path: Path) -> None:
    command = [PYTHON, "-W", "ignore", "-c", WRITE_RRD, str(run.path), str(tmp_path / "rrd")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]

    found = inside("inside_rerun.py", tmp_path / "rrd")

    records = {one.item_id: one for one in run.records().records}
    with np.load(recorded, allow_pickle=False) as expected:
        assert len(found) == len(run.items())
        for episode, (one, item) in enumerate(zip(found, run.items(), strict=True)):
            steps = records[item.item_id].steps
            assert (one["id"], one["application"]) == (item.item_id, "vlassess")
            assert one["steps"] == list(range(steps + 1))
            assert {text for texts in one["texts"] for text in texts} == {records[item.item_id].instruction}
            x = np.array(one["numbers"]["/action/position_x"], np.float32)
            assert np.array_equal(x, expected[f"{episode}/action"][:, 0])
            z = np.array(one["numbers"]["/state/eef_position_z"], np.float32)
            assert np.array_equal(z, expected[f"{episode}/observation.state"][:, 2])
            assert one["numbers"]["/success"][-1] == 1.0
            sums = expected[f"{episode}/observation.images.agent"].astype(int).sum(axis=(1, 2))
            assert one["pictures"]["/camera/agent"][:-1] == sums.tolist(), "every pixel is there"
            assert len(one["pictures"]["/camera/wrist"]) == steps + 1


WRITE_RRD = """
import sys
from pathlib import Path
from vlassess.pipeline.demonstrating import Choice
from vlassess.pipeline.exporting import export_rrd
from vlassess.records import RunDirectory
print(export_rrd(RunDirectory.open(Path(sys.argv[1])), Path(sys.argv[2]), Choice(keep="all")).sentence)
"""
