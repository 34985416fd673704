from __future__ import annotations

import os
import queue
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.runs import BENCHMARK, POLICY
from vlassess.execution import StopSwitch, cores, probe, stop_on_signals, worker_launch
from vlassess.execution.launch import WorkerLaunch
from vlassess.execution.process import Event, Gone, LineProcess, Said
from vlassess_link.errors import PluginError, PolicyUnavailable
from vlassess_link.testing import FakeBenchmark

Start = Callable[[str], LineProcess]
LIMITS = {"load": 30.0, "connect": 30.0}


@pytest.fixture
def events() -> queue.Queue[Event]:
    return queue.Queue()


@pytest.fixture
def start(tmp_path: Path, events: queue.Queue[Event]) -> Iterator[Start]:
    children: list[LineProcess] = []

    def one(code: str) -> LineProcess:
        children.append(LineProcess([sys.executable, "-c", code], os.environ, events, tmp_path / "child.log"))
        return children[-1]

    yield one
    for child in children:
        child.close(0.0)


def heard(events: queue.Queue[Event]) -> list[Event]:
    found = [events.get(timeout=20)]
    while not isinstance(found[-1], Gone):
        found.append(events.get(timeout=20))
    return found


def test_words_and_end_are_events(start: Start, events: queue.Queue[Event]) -> None:
    child = start(
        "import sys; print('{\"a\": 1}'); print('no JSON'); print('[1]'); print('{\"b\"', end=''); sys.exit(3)"
    )
    assert heard(events) == [Said(child, {"a": 1}), Gone(child, 3)]


def test_a_child_hears_and_answers(start: Start, events: queue.Queue[Event]) -> None:
    child = start("import sys; [print(line, end='', flush=True) for line in sys.stdin]")
    child.send("greet", text="\u00f6")
    assert events.get(timeout=20) == Said(child, {"type": "greet", "text": "\u00f6"})
    child.close(patience=20)
    assert heard(events) == [Gone(child, 0)]


def test_a_message_to_the_dead_is_lost_quietly(start: Start, events: queue.Queue[Event]) -> None:
    child = start("")
    assert heard(events) == [Gone(child, 0)]
    for _ in range(3):
        child.send("greet")
    child.kill()
    child.terminate()


def test_killing_ends_everything_in_its_session(start: Start, events: queue.Queue[Event]) -> None:
    child = start(
        "import subprocess, sys, time; own = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print('{\"pid\": %d}' % own.pid, flush=True); time.sleep(60)"
    )
    said = events.get(timeout=20)
    assert isinstance(said, Said)
    child.kill()
    # The grandchild holds the pipe too: the end is told only when both are gone.
    assert heard(events) == [Gone(child, -signal.SIGKILL)]
    for _ in range(100):
        if not running(said.message["pid"]):
            break
        time.sleep(0.05)
    assert not running(said.message["pid"])


def running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def test_closing_loses_patience(start: Start, events: queue.Queue[Event]) -> None:
    child = start("import time; print('{}', flush=True); time.sleep(60)")
    assert isinstance(events.get(timeout=20), Said)
    child.close(patience=0.1)
    assert heard(events) == [Gone(child, -signal.SIGKILL)]


class SlowToKill(LineProcess):
    """As on a busy machine, whose other threads have their turn first."""

    def kill(self) -> None:
        time.sleep(2.0)
        super().kill()


def test_what_it_started_has_ended_when_it_is_closed(tmp_path: Path, events: queue.Queue[Event]) -> None:
    sleeper = "p = subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)"
    code = f"import subprocess, sys; {sleeper}; print('{{\"pid\": %d}}' % p.pid, flush=True); sys.stdin.read()"
    child = SlowToKill([sys.executable, "-c", code], os.environ, events, tmp_path / "child.log")
    said = events.get(timeout=20)
    assert isinstance(said, Said)
    child.close(patience=20)
    assert has_ended(said.message["pid"])


def has_ended(pid: int) -> bool:
    """Whether a process is gone, but for what its parent has to read, within a second: a kill takes its moment."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_terminating_asks(start: Start, events: queue.Queue[Event]) -> None:
    child = start("import time; print('{}', flush=True); time.sleep(60)")
    assert isinstance(events.get(timeout=20), Said)
    child.terminate()
    assert heard(events) == [Gone(child, -signal.SIGTERM)]


def test_its_last_words_are_kept(start: Start, events: queue.Queue[Event]) -> None:
    child = start("import sys; sys.stderr.write('one\\ntwo\\nthree\\nfour\\n\\n')")
    heard(events)
    assert child.last_words() == "two\nthree\nfour"
    assert child.last_words(1) == "four"
    child.log.unlink()
    assert child.last_words() == ""


def test_a_sentence_at_the_end_is_all_of_its_last_words(start: Start, events: queue.Queue[Event]) -> None:
    child = start("import sys; sys.stderr.write('    ^^^^\\nValueError: no\\nerror: no weights\\n')")
    heard(events)
    assert child.last_words() == "no weights"


def test_signals_press_the_switch_and_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    switch = StopSwitch()
    with stop_on_signals(switch):
        assert switch.requests == 0
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert switch.requests == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_workers_environment_lets_the_user_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    launch = worker_launch("module:Class", {"size": 3}, {"MUJOCO_GL": "egl", "SIM": "1"})
    assert (launch.env["MUJOCO_GL"], launch.env["SIM"], launch.env["OMP_NUM_THREADS"]) == ("glfw", "1", "1")
    assert launch.benchmark == {"target": "module:Class", "params": {"size": 3}}
    assert launch.command == (sys.executable, "-m", "vlassess_link.worker")


def test_cores_are_those_that_may_be_used() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


def test_a_probe_asks_both_sides(tmp_path: Path) -> None:
    launch = worker_launch(BENCHMARK, {"tasks": 3}, {})
    found = probe(launch, {"main": {"local": POLICY, "params": {"chunk": 4}}}, LIMITS, tmp_path / "probe.log")
    assert found.benchmark == FakeBenchmark(tasks=3).spec
    assert found.policies["main"].chunk == 4


def test_a_probe_tells_of_a_policy_that_does_not_answer_yet(tmp_path: Path) -> None:
    told: list[str] = []
    policies = {"far": {"url": "ws://127.0.0.1:9"}}
    with pytest.raises(PolicyUnavailable):
        probe(worker_launch(BENCHMARK, {}, {}), policies, {**LIMITS, "connect": 1.5}, tmp_path / "log", told.append)
    assert len(told) == 1
    assert told[0].startswith("no policy answers at ws://127.0.0.1:9 yet (Connection refused); trying for ")


@pytest.mark.parametrize(
    ("launch", "policies", "deadline", "says"),
    [
        (worker_launch(BENCHMARK, {"colour": 1}, {}), {}, 30.0, "FakeBenchmark has no parameter 'colour'"),
        (worker_launch(BENCHMARK, {}, {}), {"main": {"local": "nowhere:Class"}}, 30.0, "there is no module 'nowhere'"),
        (
            WorkerLaunch((sys.executable, "-c", "import sys; sys.exit('out of luck')")),
            {},
            30.0,
            r"the worker ended \(1\) while loading the benchmark: out of luck",
        ),
        (
            WorkerLaunch((sys.executable, "-c", "import time; time.sleep(60)")),
            {},
            0.3,
            r"not loaded in time; raise execution\.deadlines\.load",
        ),
    ],
)
def test_a_probe_that_fails_says_why(
    tmp_path: Path, launch: WorkerLaunch, policies: dict[str, dict[str, str]], deadline: float, says: str
) -> None:
    with pytest.raises(PluginError, match=says):
        probe(launch, policies, {"load": deadline, "connect": deadline}, tmp_path / "probe.log")
