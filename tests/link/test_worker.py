"""The worker as what it is: a process on two pipes."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.link.episodes import episode_of, job_of
from vlassess_link.benchmarks.attempt import Attempt
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import COMPARED, Episode, EpisodeRecord
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.specs import BenchmarkSpec, PolicySpec
from vlassess_link.testing import FakeBenchmark, FakePolicy
from vlassess_link.worker import EXIT_HUNG, EXIT_LEASE, PROTOCOL

BENCHMARK = "vlassess_link.testing:FakeBenchmark"
POLICY = "vlassess_link.testing:FakePolicy"
SIMULATORS = Path(__file__).with_name("simulators.py")
PATIENCE = 30.0


class Talk:
    """A worker, and everything that it has said."""

    def __init__(self, stderr: Path) -> None:
        self.stderr = stderr
        with stderr.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "vlassess_link.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self.lines: list[bytes] = []
        self._inbox: queue.Queue[dict[str, Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(line)
                self._inbox.put(json.loads(line))

    def say(self, kind: str, **fields: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"type": kind, **fields}).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, kind: str) -> dict[str, Any]:
        """Return the next message of a kind; others are passed over."""
        until = time.monotonic() + PATIENCE
        while True:
            message = self._inbox.get(timeout=max(0.0, until - time.monotonic()))
            if message["type"] == kind:
                return message

    def load(self, target: str = BENCHMARK, **fields: Any) -> dict[str, Any]:
        params = fields.pop("params", {})
        self.say("load", benchmark={"target": target, "params": params}, **fields)
        return self.hear("load")

    def ask(self, episode: Episode, policy: dict[str, Any] | None = None, **fields: Any) -> None:
        source = policy or {"local": POLICY, "params": {"chunk": 2}}
        whole = {"item_id": "item-0", "attempt": 1, "label": "main", "horizon": None, **fields}
        self.say("run", episode=to_json(episode), policy=source, **whole)

    def record(self) -> EpisodeRecord:
        return from_json(EpisodeRecord, self.hear("record")["record"])

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def returncode(self) -> int:
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def end(self) -> None:
        self.process.kill()
        self.returncode()
        with suppress(BrokenPipeError):
            self.hang_up()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Talk]]:
    talks: list[Talk] = []

    def one() -> Talk:
        talks.append(Talk(tmp_path / f"worker-{len(talks)}.log"))
        return talks[-1]

    yield one
    for talk in talks:
        talk.end()


@pytest.fixture
def talk(start: Callable[[], Talk]) -> Talk:
    return start()


def test_a_whole_conversation(talk: Talk) -> None:
    hello = talk.hear("hello")
    assert (hello["protocol"], hello["pid"]) == (PROTOCOL, talk.process.pid)
    assert {"vlassess_link", "numpy"} <= set(hello["versions"])

    answer = talk.load(params={"tasks": 3}, policies={"main": {"local": POLICY, "params": {"chunk": 2}}}, lease=60)
    assert from_json(BenchmarkSpec, answer["benchmark"]) == FakeBenchmark(tasks=3).spec
    spec = from_json(PolicySpec, answer["policies"]["main"])
    assert (spec.chunk, "query" in spec.capabilities) == (2, True)
    assert "unknown" not in (spec.identity.script_digest, spec.identity.config_digest)

    beat = talk.hear("heartbeat")
    assert (beat["phase"], beat["item_id"]) == ("idle", None)
    assert beat["age"] >= 0

    for index in (0, 1):
        talk.ask(episode_of(index), item_id=f"item-{index}")
        record = talk.record()
        here = Attempt(job_of(episode_of(index)), FakeBenchmark(), InProcessPolicy(FakePolicy(2)), Monitor()).run()
        same = [name for name in COMPARED if name not in ("item_id", "identity")]
        assert [getattr(record, name) for name in same] == [getattr(here, name) for name in same]
        assert (record.item_id, record.identity) == (f"item-{index}", spec.identity.digest)

    talk.say("heartbeat")
    talk.say("stop")
    assert talk.returncode() == 0


def test_what_ctrl_c_raises_is_a_sides_own_fault_in_a_worker_and_the_worker_goes_on(talk: Talk) -> None:
    talk.load(target=f"{SIMULATORS}:Impatient")
    talk.ask(episode_of())
    error = talk.record().error
    assert error is not None
    assert (error.origin, error.phase, error.kind) == ("benchmark", "step", "KeyboardInterrupt")
    talk.say("stop")
    assert talk.returncode() == 0


def test_a_ctrl_c_that_reaches_a_worker_ends_nothing(talk: Talk) -> None:
    """As through ssh or a container's terminal: whether to go on is the coordinator's affair."""
    talk.load(target=f"{SIMULATORS}:Impatient", params={"raises": False})
    talk.process.send_signal(signal.SIGINT)
    talk.ask(episode_of())
    record = talk.record()
    assert record.error is None
    assert record.steps == episode_of().step_limit
    talk.say("stop")
    assert talk.returncode() == 0


def test_the_horizon_can_be_replaced(talk: Talk) -> None:
    talk.load()
    talk.ask(episode_of(), horizon=1)
    record = talk.record()
    assert (record.horizon, record.observations) == (1, record.steps)


def test_a_simulator_that_prints_does_not_corrupt_the_channel(talk: Talk) -> None:
    assert "benchmark" in talk.load(f"{SIMULATORS}:Noisy")
    talk.ask(episode_of())
    assert talk.record().counts_as == "success"
    talk.say("stop")
    assert talk.returncode() == 0
    assert b"noise" not in b"".join(talk.lines)
    assert {json.loads(line)["type"] for line in talk.lines} <= {"hello", "load", "heartbeat", "record"}
    said = talk.stderr.read_text()
    for noise in ("noise at import", "noise in reset", "noise of a child", "noise in step"):
        assert noise in said


def test_what_was_stopped_is_closed_even_when_stdin_ends_at_once(talk: Talk, tmp_path: Path) -> None:
    mark = tmp_path / "closed"
    talk.load(f"{SIMULATORS}:Closing", params={"file": str(mark)})
    talk.say("stop")
    talk.hang_up()
    assert talk.returncode() == 0
    assert mark.read_text() == "closed"


@pytest.mark.parametrize("busy", [False, True])
def test_the_end_of_stdin_ends_it(talk: Talk, busy: bool) -> None:
    talk.load(params={"step_seconds": 30.0})
    if busy:
        talk.ask(episode_of())
        while talk.hear("heartbeat")["phase"] != "step":
            pass
    talk.hang_up()
    assert talk.returncode() == 0


def test_a_missed_lease_ends_it_and_a_heartbeat_renews_it(talk: Talk) -> None:
    talk.load(params={"step_seconds": 30.0}, lease=1.0)
    talk.ask(episode_of())
    for _ in range(8):
        time.sleep(0.2)
        talk.say("heartbeat")
    assert talk.process.poll() is None
    began = time.monotonic()
    assert talk.returncode() == EXIT_LEASE
    assert time.monotonic() - began > 0.5


HANGS = {
    "step": ({"fault": "step_hangs"}, {}, ("benchmark", "step", "PhaseTimeout")),
    "reset": ({"fault": "reset_hangs"}, {}, ("benchmark", "reset", "PhaseTimeout")),
    "inference": ({}, {"fault": "hangs", "fault_step": 2}, ("policy", "inference", "InferenceTimeout")),
}


@pytest.mark.parametrize("realtime", [None, {"pace": "wall"}])
def test_a_hang_becomes_a_record_and_ends_the_worker(start: Callable[[], Talk], realtime: Any) -> None:
    """In real time a policy hangs in a thread of its own while the steps go on; it is charged all the same."""
    talks = {phase: start() for phase in HANGS}
    for phase, (benchmark, policy, _) in HANGS.items():
        talks[phase].load(params=benchmark, deadlines={phase: 0.3})
        limit = 400 if realtime is not None else 20
        source = {"local": POLICY, "params": policy}
        talks[phase].ask(episode_of(limit=limit, task="to-400"), source, realtime=realtime)
    for phase, (_, _, charged) in HANGS.items():
        message = talks[phase].hear("record")
        record = from_json(EpisodeRecord, message["record"])
        assert message["leaving"] is True
        assert record.error is not None
        assert (record.error.origin, record.error.phase, record.error.kind) == charged
        assert f"deadline of 0.3 s: mend it or raise execution.deadlines.{phase}" in record.error.message
        assert record.steps == (2 if phase == "inference" else 0) or (realtime is not None and record.steps > 20)
        assert talks[phase].returncode() == EXIT_HUNG


@pytest.mark.parametrize(
    ("benchmark", "policy"), [({"fault": "dies"}, {}), ({}, {"fault": "dies"})], ids=["benchmark", "policy"]
)
def test_a_death_is_a_closed_pipe(talk: Talk, benchmark: dict[str, Any], policy: dict[str, Any]) -> None:
    talk.load(params=benchmark)
    talk.ask(episode_of(), {"local": POLICY, "params": policy})
    assert talk.returncode() == 9
    assert all(json.loads(line)["type"] != "record" for line in talk.lines)


def test_a_bad_target_is_named_and_another_can_follow(talk: Talk) -> None:
    cases = {
        "no_such_module:Class": "there is no module 'no_such_module'",
        "vlassess_link.testing:Nobody": "has no 'Nobody'",
        "vlassess_link.testing:FakeClock": "'FakeClock' is not a Benchmark",
        str(SIMULATORS.with_name("nowhere.py")) + ":Class": "there is no file",
        "nonsense": "names no class",
    }
    for target, says in cases.items():
        error = talk.load(target)["error"]
        assert (error["phase"], error["origin"], error["kind"]) == ("load", "benchmark", "PluginError")
        assert target in error["message"]
        assert says in error["message"]
    error = talk.load(params={"fault": "none", "colour": 3})["error"]
    assert "has no parameter 'colour'" in error["message"]
    assert "benchmark" in talk.load()
    talk.ask(episode_of())
    assert talk.record().counts_as == "success"


def test_a_policy_that_cannot_be_had_is_named(talk: Talk) -> None:
    nobody = {"url": "ws://127.0.0.1:9"}
    error = talk.load(policies={"far": nobody}, deadlines={"connect": 0.3})["error"]
    assert (error["phase"], error["kind"]) == ("connect", "PolicyUnavailable")
    assert "127.0.0.1:9" in error["message"]
    assert "benchmark" in talk.load(deadlines={"connect": 0.3})
    for source, kind in ((nobody, "PolicyUnavailable"), ({"local": "no_such_module:Class"}, "PluginError")):
        talk.ask(episode_of(), source)
        record = talk.record()
        assert record.error is not None
        assert (record.error.origin, record.error.phase, record.error.kind) == ("infrastructure", "connect", kind)
        assert (record.episode_id, record.steps) == (episode_of().episode_id, 0)


def test_a_privileged_policy_is_bound_and_stamped(talk: Talk) -> None:
    talk.load()
    talk.ask(episode_of(), {"local": f"{SIMULATORS}:Seer"})
    record = talk.record()
    assert record.privileged
    assert (record.steps, record.counts_as) == (1, "success")


def test_an_errors_record_leaves_the_worker_usable(talk: Talk) -> None:
    talk.load(params={"fault": "step_raises", "fault_indices": [0]})
    for index, counts_as in ((0, "error"), (1, "success"), (0, "error")):
        talk.ask(episode_of(index))
        assert talk.record().counts_as == counts_as


def test_a_run_without_a_benchmark_ends_in_a_sentence(talk: Talk) -> None:
    talk.ask(episode_of())
    assert talk.returncode() == 1
    assert "a run message came before a load message that succeeded" in talk.stderr.read_text()
