"""The coordinator with real workers: what each of them does is real, only the simulator is a fake."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.execution.support import DEADLINES, Bench, MemorySink, Watcher
from tests.unit.runs import POLICY, config_of, items_of
from vlassess.execution import PolicyServers, WorkerLaunch, server_launch
from vlassess.records import StorageFullError
from vlassess.schema.items import WorkItem
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import COMPARED, EpisodeRecord
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.testing import FakeBenchmark, FakePolicy

SIMULATORS = Path(__file__).parents[2] / "link" / "simulators.py"
ITEMS = items_of(config_of(episodes=4))
ONE_TASK = items_of(config_of(episodes=4, tasks=["walk/to-4"]))


def running(bench: Bench) -> bool:
    assert bench.fleet is not None
    return bool(bench.fleet.seats)


def here(item: WorkItem) -> EpisodeRecord:
    job = Job(item.item_id, 1, item.policy, item.episode)
    return Attempt(job, FakeBenchmark(), InProcessPolicy(FakePolicy(2)), Monitor()).run()


@pytest.mark.parametrize("workers", [1, 2])
def test_every_item_is_run_once_and_as_if_it_were_alone(tmp_path: Path, workers: int) -> None:
    bench = Bench(tmp_path)
    ending = bench.run(ITEMS, workers)
    assert (ending.interrupted, ending.reason) == (False, None)
    assert bench.attempts == {item.item_id: 1 for item in ITEMS}
    assert bench.sink.records == bench.watcher.records
    same = [name for name in COMPARED if name != "identity"]
    for item in ITEMS:
        found, alone = bench.last_of(item), here(item)
        assert [getattr(found, name) for name in same] == [getattr(alone, name) for name in same]
    assert {record.worker for record in bench.sink.records} <= {f"worker-{number}" for number in range(workers)}
    assert not running(bench)
    assert bench.watcher.notes == []


def test_nothing_to_do_starts_nobody(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.run(()).reason is None
    assert list(tmp_path.iterdir()) == []


def test_no_more_workers_are_started_than_there_are_episodes(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(ITEMS[:1], workers=8)
    assert [path.name for path in tmp_path.glob("*.log")] == ["worker-0.log"]


def test_an_error_is_tried_again_with_the_same_seeds(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"fault": "step_raises", "fault_indices": [1], "fault_once_file": str(tmp_path / "struck")})
    bench.before = {item.item_id: 5 for item in ONE_TASK}
    assert bench.run(ONE_TASK).reason is None
    assert bench.errors == [("benchmark", "ValueError")]
    first, second = (record for record in bench.sink.records if record.index == 1)
    assert (first.attempt, second.attempt, second.counts_as) == (6, 7, "success")
    assert (first.seed, first.policy_seed, first.state_digest) == (second.seed, second.policy_seed, second.state_digest)


def test_an_error_that_stays_is_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"fault": "reset_raises", "fault_indices": [0, 2]})
    assert bench.run(ONE_TASK, attempts=2).reason is None
    assert [bench.attempts[item.item_id] for item in ONE_TASK] == [2, 1, 2, 1]
    assert [bench.last_of(item).counts_as for item in ONE_TASK] == ["error", "success", "error", "success"]


def test_a_policys_error_is_final(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sources = {"main": {"local": POLICY, "params": {"fault": "nan"}}}
    assert bench.run(ITEMS).reason is None
    assert bench.errors == [("policy", "InvalidActionError")] * len(ITEMS)


def test_a_worker_that_dies_is_replaced_and_its_episode_run_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"fault": "dies", "fault_once_file": str(tmp_path / "struck")})
    assert bench.run(ITEMS).reason is None
    assert bench.errors == [("benchmark", "WorkerDied")]
    lost = next(record for record in bench.sink.records if record.error is not None)
    assert lost.error is not None
    assert lost.error.message == "the worker process ended with exit code 9 in mid-episode, in step"
    assert all(bench.last_of(item).counts_as == "success" for item in ITEMS)
    assert any("ended (9) and is replaced" in note for note in bench.watcher.notes)


def test_a_worker_that_is_killed_charges_nobody(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"step_seconds": 0.05})
    killed: list[int] = []

    def kill_one(number: int) -> None:
        assert bench.fleet is not None
        if not killed and bench.fleet.busy:
            killed.append(bench.fleet.busy[0].process.pid)
            os.kill(killed[0], signal.SIGKILL)

    bench.watcher = Watcher(kill_one)
    assert bench.run(ITEMS).reason is None
    assert len(killed) == 1
    assert bench.errors == [("infrastructure", "WorkerDied")]
    lost = next(record for record in bench.sink.records if record.error is not None)
    assert lost.error is not None
    assert "by signal 9" in lost.error.message
    assert all(bench.last_of(item).counts_as == "success" for item in ITEMS)
    assert bench.last_of(next(item for item in ITEMS if item.item_id == lost.item_id)).attempt == 2


def test_a_hang_in_python_costs_one_attempt(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"fault": "step_hangs", "fault_indices": [1]})
    # Not one fruitless worker is forgiven: one that ends itself after a hang is not.
    ending = bench.run(ONE_TASK, workers=1, attempts=2, fruitless=-1, deadlines={**DEADLINES, "step": 0.2})
    assert ending.reason is None
    assert bench.errors == [("benchmark", "PhaseTimeout")] * 2
    assert [bench.last_of(item).counts_as for item in ONE_TASK] == ["success", "error", "success", "success"]


def test_a_hang_in_c_is_ended_from_outside(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"stuck_indices": [1]}, f"{SIMULATORS}:Stuck")
    quick = {"load": 60.0, "reset": 0.5, "step": 0.5, "render": 0.5, "inference": 0.5, "connect": 0.5}
    began = time.monotonic()
    assert bench.run(ONE_TASK, attempts=1, deadlines=quick, silence_grace=2.5).reason is None
    assert time.monotonic() - began < 30
    assert [bench.last_of(item).counts_as for item in ONE_TASK] == ["success", "error", "success", "success"]
    error = bench.last_of(ONE_TASK[1]).error
    assert error is not None
    assert (error.origin, error.kind) == ("benchmark", "PhaseTimeout")
    assert "the worker did not react; it was killed" in error.message


def test_pressed_once_it_finishes_what_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"step_seconds": 0.05})
    busy: list[str] = []

    def press(number: int) -> None:
        if number == 2:
            bench.stop.press()
            assert bench.fleet is not None
            busy.extend(seat.assignment.item.item_id for seat in bench.fleet.busy if seat.assignment is not None)

    bench.watcher = Watcher(press)
    ending = bench.run(ITEMS)
    assert (ending.interrupted, ending.reason) == (True, None)
    assert set(busy) <= set(bench.attempts)
    assert 2 <= len(bench.attempts) <= 3 < len(ITEMS)
    assert all(record.counts_as == "success" for record in bench.sink.records)
    assert not running(bench)


def test_pressed_twice_it_stops_now(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"fault": "step_hangs", "fault_indices": [0]})

    def press(number: int) -> None:
        assert bench.fleet is not None
        assert bench.fleet.busy, "the first episode hangs, whoever has it"
        bench.stop.press()
        bench.stop.press()

    bench.watcher = Watcher(press)
    began = time.monotonic()
    ending = bench.run(ONE_TASK)
    assert time.monotonic() - began < 10
    assert (ending.interrupted, ending.reason) == (True, None)
    assert list(bench.attempts) == [ONE_TASK[1].item_id]
    assert not running(bench)


def test_pressed_before_the_start_nothing_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.stop.press()
    assert bench.run(ITEMS).interrupted
    assert not bench.attempts


class FullSink(MemorySink):
    """Has room for three records."""

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        if len(self.records) + len(records) > 3:
            raise StorageFullError("no space left for episodes.jsonl: free some, then resume")
        super().append(records)


def test_a_full_disk_ends_it_with_a_reason_and_no_worker_left(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sink = FullSink()
    ending = bench.run(ITEMS)
    assert ending.reason == "no space left for episodes.jsonl: free some, then resume"
    assert not ending.interrupted
    assert len(bench.sink.records) <= 3
    assert bench.watcher.records == bench.sink.records, "nobody is told of what is not kept"
    assert not running(bench)


class BrokenSink(MemorySink):
    """Has a bug."""

    def append(self, records: Sequence[EpisodeRecord]) -> None:
        raise LookupError("a bug")


def test_a_bug_is_no_reason_but_leaves_no_worker(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sink = BrokenSink()
    with pytest.raises(LookupError, match="a bug"):
        bench.run(ITEMS)
    assert not running(bench)


def test_a_benchmark_that_cannot_be_loaded_is_the_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"colour": "red"})
    reason = bench.run(ITEMS).reason
    assert reason is not None
    assert "could not load the benchmark" in reason
    assert "FakeBenchmark has no parameter 'colour'" in reason
    assert not bench.attempts


def test_workers_that_cannot_start_are_the_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.launch = WorkerLaunch((sys.executable, "-c", "import sys; sys.exit('no such luck')"))
    reason = bench.run(ITEMS).reason
    assert reason is not None
    assert "again and again a worker ended (1) before it took an episode" in reason
    assert "no such luck" in reason


def test_a_policy_that_is_gone_ends_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sources = {"main": {"url": "ws://127.0.0.1:9"}}
    reason = bench.run(ITEMS, fruitless=0, deadlines={**DEADLINES, "connect": 0.1}).reason
    assert reason is not None
    assert "policy 'main' does not answer any more" in reason
    assert reason.endswith("start it and resume")
    assert set(bench.errors) == {("infrastructure", "PolicyUnavailable")}


def test_a_served_policy_answers_over_its_socket(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sources = {}
    bench.servers = PolicyServers({"main": server_launch(POLICY, {"chunk": 2})}, tmp_path, 30.0)
    bench.servers.start()
    try:
        assert bench.run(ITEMS).reason is None
    finally:
        bench.servers.stop()
    same = [name for name in COMPARED if name != "identity"]
    for item in ITEMS:
        found, alone = bench.last_of(item), here(item)
        assert [getattr(found, name) for name in same] == [getattr(alone, name) for name in same]


def test_a_policy_that_kills_its_server_every_time_is_charged(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sources = {}
    launch = server_launch(POLICY, {"fault": "dies", "fault_step": 2})
    bench.servers = PolicyServers({"main": launch}, tmp_path, 30.0)
    bench.servers.start()
    try:
        ending = bench.run(ONE_TASK[:1], attempts=2)
    finally:
        bench.servers.stop()
    assert ending.reason is None
    assert bench.errors == [("infrastructure", "ConnectionLost"), ("policy", "ConnectionLost")]
    assert any("the server of policy 'main' ended and is started again" in note for note in bench.watcher.notes)
