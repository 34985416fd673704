"""What runs inside simulators runs on a real CPython 3.8.

The interpreter is VLASSESS_PYTHON38, or one that pyenv has, or ``python3.8``. Where it lacks numpy, msgpack or
websockets, a virtual environment with the last releases for 3.8 is made once, in ``.venv-py38/``.
"""

from __future__ import annotations

import glob
import json
import os
import pkgutil
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlassess_link
from tests.link.models import START, Counter, observation
from vlassess_link.data import Episode
from vlassess_link.jsonable import to_json
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.wire.server import PolicyServer

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "packages/vlassess-link/src"
PACKAGES = ("numpy==1.24.4", "msgpack==1.1.1", "websockets==13.1")
NEWER = ("vlassess_link.wire.server", "vlassess_link.policies.server", "vlassess_link.testing")


def find_interpreter() -> str | None:
    pyenv = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.8*/bin/python")))
    for candidate in (os.environ.get("VLASSESS_PYTHON38"), *pyenv, shutil.which("python3.8")):
        if candidate and succeeds(candidate, "import sys; sys.exit(sys.version_info[:2] != (3, 8))"):
            return candidate
    return None


def succeeds(python: str, code: str) -> bool:
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


def with_packages(python: str) -> str:
    """Return an interpreter that has what the link needs; make its environment where none has."""
    needed = "import numpy, msgpack, websockets"
    made = ROOT / ".venv-py38"
    for candidate in (python, str(made / "bin/python")):
        if os.path.exists(candidate) and succeeds(candidate, needed):
            return candidate
    # Made aside and renamed, so that parallel test processes never see half of it.
    aside = tempfile.mkdtemp(prefix=".venv-py38-", dir=ROOT)
    try:
        subprocess.run([python, "-m", "venv", aside], check=True, capture_output=True)
        install = [f"{aside}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"NOT TESTED ON PYTHON 3.8: {PACKAGES} cannot be installed: {done.stderr.strip()[-300:]}")
        if not made.exists():
            os.rename(aside, made)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return str(made / "bin/python")


@pytest.fixture(scope="module")
def python38() -> str:
    found = find_interpreter()
    if found is None:
        pytest.skip("NOT TESTED ON PYTHON 3.8: set VLASSESS_PYTHON38 to an interpreter of that version")
    return with_packages(found)


def run38(python: str, code: str, *arguments: str) -> Any:
    done = subprocess.run(
        [python, "-W", "error", "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_module_but_the_servers_can_be_imported(python38: str) -> None:
    names = [
        module.name
        for module in pkgutil.walk_packages(vlassess_link.__path__, "vlassess_link.")
        if not module.name.startswith(NEWER)
    ]
    code = (
        "import importlib, json, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "print(json.dumps(list(sys.version_info[:2])))"
    )
    assert {"vlassess_link.worker", "vlassess_link.wire.client", "vlassess_link.policies.remote"} <= set(names)
    assert run38(python38, code, *names) == [3, 8]


CODEC = """
import json, sys
import numpy as np
from vlassess_link.wire import codec
arrays = [np.zeros((0, 3), "f4"), np.array(2.5), np.arange(6).reshape(2, 3).T, np.arange(3, dtype=">f4"),
          np.ones((2, 2), bool), np.ones(3, "f2"), np.zeros((4, 4, 1), "u1"), np.float32(2), np.bool_(True)]
back = codec.unpack(codec.pack({"arrays": arrays}))["arrays"]
print(json.dumps([
    type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b))
    for a, b in zip(arrays, back)
]))
"""


def test_the_codec_round_trip(python38: str) -> None:
    assert run38(python38, CODEC) == [True] * 9


REMOTE = """
import json, sys
import numpy as np
from vlassess_link.data import EpisodeStart, Observation
from vlassess_link.errors import PredictError, ConnectionLost, PolicyUnavailable
from vlassess_link.policies.remote import RemotePolicy
def obs(value, step=0):
    return Observation({"front": np.full((4, 6, 3), value % 256, np.uint8)}, "go to 4",
                       np.array([value, step], np.float32), {}, step)
policy = RemotePolicy(sys.argv[1], 5.0, 5.0)
policy.reset(EpisodeStart("episode-1", "walk", "to-4", "go to 4"), 77)
out = {"actions": [policy.predict(obs(3, step)).actions.tolist() for step in range(3)]}
out["query"] = [chunk.actions.tolist() for chunk in policy.query([obs(1)], 5)]
errors = []
for value in (666, 1):
    try:
        policy.predict(obs(value))
    except (PredictError, ConnectionLost) as error:
        errors.append(type(error).__name__)
policy.close()
try:
    RemotePolicy("ws://127.0.0.1:9", 0.2, 1.0)
except PolicyUnavailable as error:
    errors.append(type(error).__name__)
out["errors"] = errors
print(json.dumps(out))
"""


def test_a_remote_policy_there_against_a_server_here(python38: str) -> None:
    with PolicyServer(Counter()) as server:
        out = run38(python38, REMOTE, server.url)
    local = InProcessPolicy(Counter())
    local.reset(START, 77)
    np.testing.assert_array_equal(out["actions"], [local.predict(observation(3, step)).actions for step in range(3)])
    np.testing.assert_array_equal(out["query"], [local.query([observation(1)], 5)[0].actions])
    assert out["errors"] == ["PredictError", "ConnectionLost", "PolicyUnavailable"]


BENCHMARK = """
import numpy as np
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import BenchmarkSpec, TaskSpec

class Line(Benchmark):
    spec = BenchmarkSpec("line", "1", (TaskSpec("walk", "to-4", 12, "go to 4"),), Layout((Component("a", "other", 4),)))

    def reset(self, episode):
        self.x = float(episode.rng("layout").random())
        return RawObservation(self.x, "go to 4", {"x": np.array([self.x])})

    def step(self, action):
        self.x += 1.0
        return StepResult(RawObservation(self.x, "go to 4"), self.x)

    def make_obs(self, raw):
        return Observation({}, raw.instruction)

    def get_step_result(self, result):
        return StepOutcome(result.native >= 4.0, min(1.0, result.native / 4.0))
"""


@pytest.fixture
def worker(python38: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [python38, "-m", "vlassess_link.worker"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=tmp_path) as process:
        yield process
        process.kill()


def test_a_worker_there_runs_an_episode_with_a_policy_here(worker: subprocess.Popen[str], tmp_path: Path) -> None:
    (tmp_path / "line.py").write_text(BENCHMARK)
    assert worker.stdin is not None
    assert worker.stdout is not None

    def tell(**message: Any) -> None:
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(message) + "\n")
        worker.stdin.flush()

    def hear(kind: str) -> dict[str, Any]:
        assert worker.stdout is not None
        for line in worker.stdout:
            message: dict[str, Any] = json.loads(line)
            if message["type"] == kind:
                return message
        raise AssertionError(f"the worker ended without a {kind} message")

    assert hear("hello")["python"].startswith("3.8.")
    episode = Episode("e", "ab", "line@1", "walk", "to-4", 0, 7, 8, 12)
    with PolicyServer(Counter(chunk=2)) as server:
        policy = {"url": server.url}
        tell(type="load", benchmark={"target": f"{tmp_path}/line.py:Line"}, policies={"p": policy}, deadlines={})
        assert hear("load")["policies"]["p"]["identity"]["name"] == "counter"
        tell(type="run", item_id="i", attempt=1, label="p", episode=to_json(episode), policy=policy)
        record = hear("record")["record"]
        tell(type="stop")
    assert record["error"] is None
    assert record["outcome"]["success"] is True
    assert (record["steps"], record["observations"], record["horizon"]) == (4, 2, 2)
    assert worker.wait(20) == 0
