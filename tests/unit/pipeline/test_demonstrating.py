"""Which episodes of a run become demonstrations; every other one is counted with its reason."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.unit.artifacts.support import spool
from tests.unit.runs import FAILURE, SUCCESS, config_of, error_of, items_of, manifest_of, record_of
from vlassess.artifacts.writing import Kept, Shelf, put_away
from vlassess.execution import StopSwitch
from vlassess.pipeline.demonstrating import (
    CUT_SHORT,
    FAILED,
    NO_OUTCOME,
    NO_STEPS,
    NOT_RUN,
    Choice,
    NothingRecordedError,
    about,
    nothing_to_write,
    number_names,
    sift,
)
from vlassess.pipeline.recording import put_away_left
from vlassess.records import RunDirectory
from vlassess.schema.config import RunConfig
from vlassess.schema.events import SilentListener
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import ContractError
from vlassess_link.spaces import end_effector_delta

STEPS = 4


def run_of(folder: Path, records: list[EpisodeRecord], config: RunConfig | None = None) -> RunDirectory:
    """Make a run directory with these records."""
    run = RunDirectory.create(folder / "run", manifest_of(config), items_of(config))
    log = run.log()
    log.append(records)
    log.close()
    return run


def film(run: RunDirectory, record: EpisodeRecord, frames: int = STEPS + 1, **kept: bool) -> None:
    """Leave the recording of a record."""
    item = next(item for item in run.items() if item.item_id == record.item_id)
    shelf = Shelf(spool(run.path / "spool", ((6, 8),), frames), run.path / "artifacts" / item.item_id, item, record)
    assert put_away(dataclasses.replace(shelf, kept=Kept(**kept))) is None


def success(number: int, attempt: int = 1) -> EpisodeRecord:
    """Return a record of `STEPS` steps."""
    return dataclasses.replace(record_of(items_of()[number], attempt, outcome=SUCCESS), steps=STEPS)


def test_what_is_whole_is_taken_in_the_plans_order_and_the_rest_is_counted(tmp_path: Path) -> None:
    failure = dataclasses.replace(record_of(items_of()[1], outcome=FAILURE), steps=STEPS)
    records = [success(3), failure, record_of(items_of()[2], error=error_of("policy")), success(0), success(4)]
    run = run_of(tmp_path, records)
    for record in (records[0], failure, records[3]):
        film(run, record, cameras=True)

    sifted = sift(run, Choice())
    taken = list(sifted.demonstrations())

    assert [one.item.item_id for one in taken] == [items_of()[n].item_id for n in (0, 3)]
    assert dict(sifted.left_out) == {FAILED: 1, NO_OUTCOME: 1, NO_STEPS: 1, NOT_RUN: 1}
    assert len(taken) + sifted.left_out.total() == len(items_of()) == 6
    first = taken[0]
    assert first.action.tolist() == [[0.5, -1.0]] * STEPS
    assert first.executed is None
    assert [camera.name for camera in first.cameras] == ["camera 0"]
    everything = list(sift(run, Choice(keep="all")).demonstrations())
    assert len(everything) == 3
    assert all(one.cameras == () for one in sift(run, Choice(pictures=False)).demonstrations())


@pytest.mark.parametrize("frames", [STEPS, STEPS + 2])
def test_a_recording_that_is_not_the_episodes_is_left_out(tmp_path: Path, frames: int) -> None:
    run = run_of(tmp_path, [success(0)])
    film(run, success(0), frames, cameras=True)
    sifted = sift(run, Choice())
    assert list(sifted.demonstrations()) == []
    assert sifted.left_out[CUT_SHORT] == 1


def test_files_of_an_earlier_attempt_are_not_mixed_in(tmp_path: Path) -> None:
    run = run_of(tmp_path, [record_of(items_of()[0], 1, error=error_of()), success(0, attempt=2)])
    film(run, success(0, attempt=1), cameras=True)
    assert list(sift(run, Choice()).demonstrations()) == []

    film(run, success(0, attempt=2))  # its steps alone: the cameras are still those of the first
    sifted = sift(run, Choice())
    assert list(sifted.demonstrations()) == []
    assert sifted.left_out[CUT_SHORT] == 1
    assert len(list(sift(run, Choice(pictures=False)).demonstrations())) == 0, "nobody knows whose files these are"

    film(run, success(0, attempt=2), cameras=True)
    (found,) = sift(run, Choice()).demonstrations()
    assert found.record.attempt == 2


def test_why_there_is_nothing_is_said_with_its_mend(tmp_path: Path) -> None:
    run = run_of(tmp_path, [success(n) for n in range(5)])
    sifted = sift(run, Choice())
    assert list(sifted.demonstrations()) == []
    error = nothing_to_write(sifted)
    assert isinstance(error, NothingRecordedError)
    assert "none of 6 episodes can be exported (5 without recorded steps, 1 that were not run)" in str(error)
    assert "--set artifacts.steps=true" in str(error)


def test_a_policy_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="no policy 'other'; it has main"):
        sift(run_of(tmp_path, []), Choice(policies=("other",)))


def test_numbers_have_names_of_their_own(tmp_path: Path) -> None:
    names = number_names(end_effector_delta("left_"))
    assert names[:4] == ("left_position_x", "left_position_y", "left_position_z", "left_rotation_x")
    assert names[6] == "left_gripper"
    common = about(run_of(tmp_path, []))
    assert (common.robot, common.fps, common.action, common.state) == ("fake-v1", 20.0, ("dx",), ("x",))
    assert common.origin["run_id"] == "fakes-1"


def test_what_a_killed_coordinator_left_is_written_though_nothing_is_missing(tmp_path: Path) -> None:
    config = config_of(artifacts={"steps": True})
    record = success(0)
    run = run_of(tmp_path, [record], config)
    left = run.path / "artifacts" / ".spool" / f"{record.item_id}-1"
    spool(left, ((6, 8),), STEPS + 1)

    put_away_left(run, config.artifacts, SilentListener(), StopSwitch())

    assert not (run.path / "artifacts" / ".spool").exists()
    (found,) = sift(run, Choice()).demonstrations()
    assert np.array_equal(found.action, [[0.5, -1.0]] * STEPS)
