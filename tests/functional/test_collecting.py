"""Collections of the real benchmark are the same each time; a killed one goes on and loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from vlassess.artifacts.reading import Recording
from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.datasets.lerobot import LeRobotReader
from vlassess.pipeline.collecting import Wanted, collect_config, record, write_dataset
from vlassess.records import RunDirectory
from vlassess.schema.collecting import CollectSettings, Pictures
from vlassess.schema.events import SilentListener

pytestmark = pytest.mark.timeout(300)
FAKES = "vlassess_link.testing.fakes"
MANY = 20


def collected(output: Path, pictures: Pictures, workers: int) -> Path:
    """Collect three disturbed demonstrations and return the run."""
    catalog = Catalog.discover()
    overrides = ["suites=[pick]", "disturbance={noise: 0.1, push: {rate: 0.03}}"]
    overrides += [f"output={output / 'runs'}", f"execution.workers={workers}"]
    config = collect_config(load_config("tabletop"), None, overrides, catalog)
    settings = CollectSettings(output=output / "set", pictures=pictures)
    result = record(Wanted(config, 3, settings), catalog, SilentListener())
    exported = write_dataset(result.run_dir, lambda done, total: None)
    assert exported.episodes + sum(exported.left_out.values()) == 3
    return result.run_dir


def files(root: Path) -> dict[str, bytes]:
    """Return what a data set says of demonstrations: everything but where they come from."""
    found = {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    del found["meta/vlassess.json"]
    return found


def test_two_collections_are_equal_and_hold_what_was_recorded(tmp_path: Path) -> None:
    first, _ = (collected(tmp_path / name, "video", workers) for name, workers in (("a", 2), ("b", 1)))

    a, b = (files(tmp_path / name / "set") for name in ("a", "b"))
    assert {name for name in a if name.endswith(".parquet")}
    assert sorted(a) == sorted(b)
    assert [name for name in a if a[name] != b[name]] == []

    reader = LeRobotReader(tmp_path / "a" / "set")
    run = RunDirectory.open(first)
    records = {one.item_id: one for one in run.records().records}
    kept = [item for item in run.items() if (outcome := records[item.item_id].outcome) and outcome.success]
    assert len(kept) == len(reader) > 0
    for number, item in enumerate(kept):
        recording = Recording.open(first / "artifacts" / item.item_id)
        assert recording is not None
        steps, arrays = recording.steps(), reader.arrays(number)
        assert np.array_equal(arrays["action"], steps["meant"].astype(np.float32))
        assert np.array_equal(arrays["executed_action"], steps["action"].astype(np.float32))
        assert np.array_equal(arrays["observation.state"], steps["state"].astype(np.float32))
        assert np.abs(arrays["executed_action"]).max() <= 1
        for camera in recording.cameras:
            rendered = np.array(list(camera.pictures())[:-1], np.float64)
            error = reader.pictures(number, f"observation.images.{camera.name}") - rendered
            assert 10 * np.log10(255**2 / (error**2).mean()) > 30, "PSNR in dB"


def write_config(folder: Path) -> Path:
    """Write a slow walk."""
    config = {
        "name": "walk",
        "benchmark": {"target": f"{FAKES}:FakeBenchmark", "params": {"image": 8, "step_seconds": 0.02}},
        "policies": {"walker": {"local": f"{FAKES}:FakePolicy"}},
        "output": str(folder / "runs"),
        "execution": {"workers": 2},
    }
    path = folder / "walk.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def command(*arguments: object) -> list[str]:
    """Return the command line of a collection."""
    return [sys.executable, "-m", "vlassess", "collect", *map(str, arguments)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The data set of a collection that nobody killed."""
    folder, catalog = tmp_path_factory.mktemp("undisturbed"), Catalog.discover()
    config = collect_config(load_config(str(write_config(folder))), f"{FAKES}:FakePolicy", [], catalog)
    settings = CollectSettings(output=folder / "set", pictures="lossless")
    write_dataset(record(Wanted(config, MANY, settings), catalog, SilentListener()).run_dir, lambda done, total: None)
    return files(folder / "set")


@pytest.mark.parametrize("hit", ["while it runs", pytest.param("while it writes", marks=pytest.mark.slow)])
def test_a_killed_collection_goes_on_and_loses_nothing(tmp_path: Path, hit: str, undisturbed: dict[str, bytes]) -> None:
    begin = command(write_config(tmp_path), "--episodes", MANY, "--policy", f"{FAKES}:FakePolicy")
    arguments = ["--images", "lossless", "--output", str(tmp_path / "set")]
    process = subprocess.Popen([*begin, *arguments], stdout=subprocess.DEVNULL)
    runs = tmp_path / "runs"
    enough = MANY // 2 if hit == "while it runs" else MANY
    while process.poll() is None and recorded_lines(runs) < enough:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    (run,) = (path.parent for path in runs.glob("*/run.json"))
    before = (run / "episodes.jsonl").read_bytes()
    before = before[: before.rfind(b"\n") + 1]
    assert before.count(b"\n") >= enough
    assert not (tmp_path / "set").exists()

    done = subprocess.run(command("--resume", run), capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stderr
    assert (run / "episodes.jsonl").read_bytes().startswith(before), "nothing that was finished ran again"
    assert len(LeRobotReader(tmp_path / "set")) == MANY
    assert files(tmp_path / "set") == undisturbed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "set", "walk.yaml"]


def recorded_lines(runs: Path) -> int:
    """Return how many records the one run has."""
    return sum(file.read_bytes().count(b"\n") for file in runs.glob("*/episodes.jsonl"))
