"""Each real tracker, offline: what was logged is read back with the tracker's own reader."""

from __future__ import annotations

import importlib.util
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runs import config_of
from tests.unit.tracking.test_tracking import entry
from vlassess import pipeline
from vlassess.catalog import Catalog
from vlassess.schema.config import TrackerConfig
from vlassess.schema.events import SilentListener
from vlassess.tracking.trackers import MODULES, to_mlflow, to_tensorboard, to_wandb

pytestmark = pytest.mark.filterwarnings("ignore")
SKIP = "NO {}: `make test-tracking` installs the trackers and tests them"


def needs(kind: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(MODULES[kind]) is None
    return pytest.mark.skipif(missing, reason=SKIP.format(kind.upper()))


@needs("mlflow")
def test_mlflow_holds_the_result(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    where = f"sqlite:///{tmp_path}/mlflow.db"
    told = entry(tmp_path)

    to_mlflow(told, TrackerConfig(kind="mlflow", project="mine", where=where, step=7))
    to_mlflow(told, TrackerConfig(kind="mlflow", project="mine", where=where, step=8))

    client = MlflowClient(tracking_uri=where)
    experiment = client.get_experiment_by_name("mine")
    second, first = client.search_runs([experiment.experiment_id], order_by=["start_time DESC"])
    assert first.data.metrics == told.numbers == second.data.metrics
    assert first.info.run_name == told.run_id
    assert first.info.status == "FINISHED"
    assert first.data.tags["vlassess.report"] == told.texts["report"]
    assert {m.step for m in client.get_metric_history(second.info.run_id, "a/success_rate")} == {8}


@needs("tensorboard")
def test_tensorboard_holds_the_result(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    told = entry(tmp_path)
    to_tensorboard(told, TrackerConfig(kind="tensorboard", step=7))

    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    scalars = {name: found.Scalars(name) for name in found.Tags()["scalars"]}
    assert {name: events[0].value for name, events in scalars.items()} == pytest.approx(dict(told.numbers))
    assert {events[0].step for events in scalars.values()} == {7}
    assert any("report" in name for name in found.Tags()["tensors"])


BLOCK, HEADER = 32 * 1024, 7


def wandb_records(data: bytes) -> Iterator[bytes]:
    """Yield the records of an offline run's file: LevelDB's log format, after a header of the tracker's own."""
    position, record = HEADER, b""
    while position + HEADER <= len(data):
        left = BLOCK - position % BLOCK
        if left < HEADER:
            position += left
            continue
        size, kind = struct.unpack_from("<HB", data, position + 4)
        if kind == 0:
            return
        record += data[position + HEADER : position + HEADER + size]
        position += HEADER + size
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b""


def wandb_history(folder: Path) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Return what an offline run of W&B logged, and its summary, by its own message types."""
    from wandb.proto import wandb_internal_pb2

    (file,) = folder.glob("**/*.wandb")
    records: list[Any] = []
    until = time.monotonic() + 20
    while not any(record.HasField("exit") for record in records):  # its writer is a process that finishes later
        assert time.monotonic() < until
        time.sleep(0.1)
        records = [wandb_internal_pb2.Record.FromString(data) for data in wandb_records(file.read_bytes())]
    logged: list[dict[str, str]] = []
    summary: dict[str, str] = {}
    for record in records:
        if record.HasField("history"):
            logged.append({item.key or ".".join(item.nested_key): item.value_json for item in record.history.item})
        if record.HasField("summary"):
            summary.update({item.key or ".".join(item.nested_key): item.value_json for item in record.summary.update})
    return logged, summary


@needs("wandb")
def test_wandb_holds_the_result_offline(tmp_path: Path) -> None:
    import wandb

    told = entry(tmp_path)
    to_wandb(told, TrackerConfig(kind="wandb", where=str(tmp_path), offline=True, step=7))

    assert wandb.run is None, "a run of its own is finished"
    (logged,), summary = wandb_history(tmp_path)
    assert {name: float(logged[name]) for name in told.numbers} == pytest.approx(dict(told.numbers))
    assert int(logged["_step"]) == 7
    assert any(told.texts["report"] in value for value in summary.values())


@needs("wandb")
def test_wandb_run_of_a_training_loop_is_used_and_left_open(tmp_path: Path) -> None:
    import wandb

    with wandb.init(mode="offline", dir=str(tmp_path), settings=wandb.Settings(silent=True)) as own:
        to_wandb(entry(tmp_path), TrackerConfig(kind="wandb", step=3))
        assert wandb.run is own
    logged, _ = wandb_history(tmp_path)
    assert float(logged[-1]["a/success_rate"]) == 0.5


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=needs(kind)) for kind in ("mlflow", "tensorboard", "wandb")])
def test_a_whole_run_is_tracked(tmp_path: Path, kind: str) -> None:
    where = {"mlflow": f"sqlite:///{tmp_path}/mlflow.db", "wandb": str(tmp_path)}.get(kind)
    tracker = {"kind": kind, "where": where, "offline": True}
    config = config_of(tmp_path / "runs", episodes=1, tracking=[tracker])

    result = pipeline.start(config, Catalog.discover(), SilentListener())

    assert result.reasons == ()
    if kind == "tensorboard":
        assert list((result.run_dir / "tensorboard").glob("events*"))
