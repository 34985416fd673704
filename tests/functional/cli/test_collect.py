"""``vlassess collect`` and ``vlassess export --to`` as people use them, mistakes included."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.functional.cli.conftest import FAKES, Invoke
from tests.unit.runs import config_of
from vlassess.catalog import Catalog
from vlassess.datasets.lerobot import LeRobotReader
from vlassess.pipeline import start
from vlassess.records import RunDirectory
from vlassess.schema.events import SilentListener

WALKER = f"{FAKES}:FakePolicy"
PICTURES = 'benchmark={target: "' + FAKES + ':FakeBenchmark", params: {image: 8}}'
RECORDED = ("--set", "artifacts.steps=true", "--set", "artifacts.cameras=true")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two episodes with their steps and no pictures."""
    policies = {"walker": {"local": WALKER}}
    config = config_of(
        tmp_path_factory.mktemp("runs"),
        episodes=1,
        policies=policies,
        artifacts={"steps": True},
        execution={"workers": 1},
    )
    return start(config, Catalog.discover(), SilentListener()).run_dir


def test_a_collection_is_a_data_set(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke("collect", "walk.yaml", "--episodes", 5, "--policy", WALKER, "--set", PICTURES, "--output", "demos")

    assert said.code == 0, said.err
    assert "demos: 5 episodes, " in said.out
    assert "cameras front" in said.out
    reader = LeRobotReader(tmp_path / "demos")
    assert len(reader) == 5
    assert sorted(reader.tasks) == ["go to 4", "go to 5"]
    (run,) = (tmp_path / "runs").iterdir()
    manifest = RunDirectory.open(run).manifest
    assert manifest.config.seed == 1_000_000
    assert manifest.config.name == "walk-demonstrations"
    assert manifest.command[:4] == ("vlassess", "collect", "walk.yaml", "--episodes")


def test_noise_and_pushes_are_recorded_beside_the_label(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke(
        *("collect", "walk.yaml", "--episodes", 2, "--policy", WALKER, "--images", "off", "--json"),
        *("--noise", 0.2, "--recovery", 0.1, "--output", "demos", "--seed", 3),
    )

    assert said.code == 0, said.err
    told = json.loads(said.out)
    assert told["dataset"]["episodes"] == 2
    assert told["dataset"]["left_out"] == {}
    arrays = LeRobotReader(tmp_path / "demos").arrays(0)
    assert (arrays["action"] == 1.0).all()
    assert (arrays["executed_action"] != 1.0).any()
    config = RunDirectory.open(Path(told["run_dir"])).manifest.config
    assert config.seed == 3
    assert config.disturbance is not None
    assert config.disturbance.push is not None


def test_failures_are_left_out_and_counted(invoke: Invoke, tmp_path: Path) -> None:
    common = ("--episodes", 4, "--policy", WALKER, "--images", "off", "--set", "step_limit=4")
    said = invoke("collect", "walk.yaml", *common, "--output", "some")
    assert said.code == 0, said.err
    kept = len(LeRobotReader(tmp_path / "some"))
    assert 0 < kept < 4, "to-4 is reached in four steps, to-5 is not"
    assert f"some: {kept} episodes, " in said.out
    assert f"; {4 - kept} without success left out" in said.out

    (run,) = (tmp_path / "runs").iterdir()
    every = invoke("export", run, "--to", "lerobot", "--keep", "all", "--output", "every")
    assert len(LeRobotReader(tmp_path / "every")) == 4
    assert "left out" not in every.err


def test_nothing_but_failures_says_so(invoke: Invoke) -> None:
    said = invoke(
        *("collect", "walk.yaml", "--episodes", 2, "--policy", WALKER, "--images", "off", "--set", "step_limit=1")
    )
    assert said.code == 2
    assert "none of 2 episodes can be exported (2 without success); keep failures too with --keep all" in said.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "give a config, or a collection to finish with --resume DIR"),
        (("walk.yaml",), "say how many demonstrations, as --episodes 200"),
        (("walk.yaml", "--episodes", 0), "--episodes"),
        (("walk.yaml", "--episodes", 2), "has no expert that could be taken (it has none); say who demonstrates"),
        (("walk.yaml", "--episodes", 2, "--size", "96", "--policy", WALKER), "'96' is no size; write HEIGHTxWIDTH"),
        (
            ("walk.yaml", "--episodes", 2, "--size", "9x9", "--policy", WALKER, "--set", PICTURES),
            "artifacts.camera_size is [9, 9], but camera 'front' of fake-v1 renders at [8, 8]",
        ),
        (("walk.yaml", "--episodes", 2, "--policy", WALKER, "--output", "full"), "full exists; name a new folder"),
        (("walk.yaml", "--episodes", 2, "--policy", WALKER, "--output", "full/mine/set"), "Not a directory"),
        (("--resume", "nowhere"), "nowhere does not exist"),
        (("--resume", "runs/x", "--noise", 0.1), "a collection goes on as it was begun; leave it out"),
        (
            ("tabletop", "--episodes", 2, "--set", "disturbance={}"),
            "give noise above 0, push, or both; or leave disturbance out",
        ),
    ],
)
def test_mistakes_end_in_a_sentence(invoke: Invoke, tmp_path: Path, arguments: tuple[object, ...], says: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    said = invoke("collect", *arguments)
    assert said.code == 2
    words = " ".join(said.err.replace("│", " ").split())
    assert says in words
    assert not list(tmp_path.glob("runs/*/run.json")), "nothing ran"


def test_another_run_is_no_collection(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("run", "walk.yaml").code == 0
    (run,) = (tmp_path / "runs").iterdir()
    said = invoke("collect", "--resume", run)
    assert said.code == 2
    assert f"vlassess export {run} --to lerobot" in said.err


def test_a_run_without_recordings_says_how_to_record(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("run", "walk.yaml").code == 0
    (run,) = (tmp_path / "runs").iterdir()
    for target in (("--to", "lerobot"), ("--to", "csv", "--rows", "steps")):
        said = invoke("export", run, *target, "--output", "out")
        assert said.code == 2
        assert said.err.count("\n") == 1, "one sentence"
        assert "6 without recorded steps" in said.err
        assert "record with `--set artifacts.steps=true --set artifacts.cameras=true`" in said.err
        assert not (tmp_path / "out").exists()


def test_a_policy_that_is_seldom_looked_at_says_how_to_record(invoke: Invoke, tmp_path: Path) -> None:
    chunks = f'policies={{w: {{local: "{WALKER}", params: {{chunk: 3}}}}}}'
    assert invoke("run", "walk.yaml", "--set", chunks, "--set", "artifacts.steps=true").code == 0
    (run,) = (tmp_path / "runs").iterdir()
    said = invoke("export", run, "--to", "lerobot", "--output", "out")
    assert said.code == 2
    assert "looked at only now and then" in said.err
    assert "answers several actions at once: record with" in said.err


def test_an_ordinary_run_becomes_each_of_them(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("run", "walk.yaml", "--set", PICTURES, *RECORDED).code == 0
    (run,) = (tmp_path / "runs").iterdir()

    said = invoke("export", run, "--to", "lerobot", "--images", "lossless", "--output", "set")
    assert said.code == 0, said.err
    assert said.err.startswith("set: 6 episodes, ")
    reader = LeRobotReader(tmp_path / "set")
    records = {record.item_id: record for record in RunDirectory.open(run).records().records}
    frames = sum(record.steps for record in records.values())
    for number in range(len(reader)):
        state = reader.arrays(number)["observation.state"][:, 0]
        shades = reader.pictures(number, "observation.images.front")[:, 0, 0, 0]
        assert (shades == (state * 10).clip(0, 255).astype(int)).all(), "pictures and states belong together"

    table = invoke("export", run, "--to", "csv", "--rows", "steps")
    rows = list(csv.DictReader(io.StringIO(table.out)))
    assert len(rows) == frames
    assert {"item_id", "time", "state.x", "action.dx", "executed_action.dx", "success"} <= set(rows[0])
    assert rows[0]["executed_action.dx"] == ""

    attempts = invoke("export", run, "--to", "csv")
    assert len(list(csv.DictReader(io.StringIO(attempts.out)))) == 6

    again = invoke("export", run, "--to", "lerobot", "--output", "set")
    assert again.code == 0, "a data set of the same run is replaced"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--to", "lerobot"), "lerobot is a folder; name a new one"),
        (("--to", "rrd", "--output", "out"), "pip install 'vlassess[rerun]'"),
        (("--to", "lerobot", "--format", "csv", "--output", "out"), "it is for tables; leave it out, or --to"),
        (("--to", "csv", "--format", "json"), "--to csv is a csv; leave one of the two out"),
        (("--rows", "steps", "--format", "json"), "steps are written as csv only"),
        (("--to", "lerobot", "--output", "full"), "full exists; name a new folder"),
        (("--to", "lerobot", "--policy", "nobody", "--output", "out"), "the run has no policy 'nobody'; it has walker"),
    ],
)
def test_what_cannot_be_exported_ends_in_a_sentence(
    invoke: Invoke, run: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    said = invoke("export", run, *arguments)
    assert said.code == 2
    assert says in " ".join(said.err.replace("│", " ").split())
