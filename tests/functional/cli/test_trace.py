"""``vlassess trace``: what crossed the wire, and where two traces part."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.functional.cli.conftest import FAKES, Invoke
from vlassess_link.conventions.traces import load


def test_two_policies_are_traced_and_told_apart(invoke: Invoke, tmp_path: Path) -> None:
    for name, stride in (("a", 0.25), ("b", -0.25)):
        policy = f"policies={{p: {{local: '{FAKES}:FakePolicy', params: {{chunk: 3, stride: {stride}}}}}}}"
        said = invoke("trace", "walk.yaml", "--steps", 5, "--output", f"{name}.npz", "--set", policy)
        assert said.code == 0, said.err
        assert "observations: 2" in said.out
    trace = load(str(tmp_path / "a.npz"))
    assert [moment.step for moment in trace.moments] == [0, 3]
    assert trace.moments[0].instruction == "go to 4"
    np.testing.assert_array_equal(trace.executed, np.full((5, 1), 0.25))
    assert trace.about["policy_spec"]["chunk"] == 3
    said = invoke("trace", "diff", "a.npz", "b.npz")
    assert said.code == 4
    assert "they part at observation 0 (step 0)" in said.out
    assert "actions[0] (dx) of B is A's negated" in said.out
    found = json.loads(invoke("trace", "diff", "a.npz", "b.npz", "--json").out)
    assert found["differences"][0]["part"] == "actions[0] (dx)"
    same = invoke("trace", "diff", "a.npz", "a.npz")
    assert (same.code, "no difference" in same.out) == (0, True)
    assert not (tmp_path / "runs").exists()


def test_a_trace_of_a_policy_that_fails_holds_what_came_before(invoke: Invoke, tmp_path: Path) -> None:
    policy = f"policies={{p: {{local: '{FAKES}:FakePolicy', params: {{fault: nan, fault_step: 2}}}}}}"
    said = invoke("trace", "walk.yaml", "--set", policy, "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["executed"] == 2
    assert "nan" in found["error"]
    assert (tmp_path / "walk-p.npz").is_file()


def test_a_worker_that_died_is_named(invoke: Invoke, tmp_path: Path) -> None:
    policy = f"policies={{p: {{local: '{FAKES}:FakePolicy', params: {{fault: dies, fault_step: 2}}}}}}"
    said = invoke("trace", "walk.yaml", "--set", policy)
    assert said.code == 2
    assert "nothing was traced: the worker process ended with exit code" in said.err
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.parametrize(
    "command",
    [
        ("trace", "walk.yaml", "--set", "benchmark=it.py:Hangs", "--set", f"policies=[{FAKES}:FakePolicy]"),
        ("check", "benchmark", "it.py:Hangs"),
    ],
)
def test_ctrl_c_ends_it_at_once_and_nothing_is_left(invoke: Invoke, tmp_path: Path, command: tuple[str, ...]) -> None:
    """A simulator that hangs is not waited for: nothing would be lost."""
    begun = tmp_path / "begun"
    code = f"def __init__(self): super().__init__(fault='reset_hangs', fault_once_file={str(begun)!r})"
    text = f"from vlassess_link.testing import FakeBenchmark\nclass Hangs(FakeBenchmark):\n    {code}\n"
    (tmp_path / "it.py").write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "vlassess", *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 100
    while not begun.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.05)
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert time.monotonic() - asked < 60
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("trace", "walk.yaml", "a.npz"), "diff and two traces"),
        (("trace", "diff", "walk.yaml", "walk.yaml"), "is no trace"),
        (("trace", "diff", "none.npz", "none.npz"), "No such file"),
        (("trace", "diff"), "diff and two traces"),
        (("trace", "diff", "empty.npz", "empty.npz"), "empty.npz holds no observation"),
        (("trace", "diff", "empty.npz", "empty.npz", "--set", "seed=1"), "leave them out"),
        (("trace", "walk.yaml", "--output", "no/such/a.npz"), "is no file in a folder that is there"),
    ],
)
def test_usage_errors(invoke: Invoke, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    np.savez(tmp_path / "empty.npz")
    said = invoke(*arguments)
    assert said.code == 2
    assert words in said.err
