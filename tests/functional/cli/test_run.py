from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.functional.cli.conftest import FAKES, Invoke
from vlassess.cli.edge import print_error


def runs(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "runs").glob("walk-*"))


def test_a_run_shows_its_table_and_says_where_everything_is(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke("run", "walk.yaml")
    (folder,) = runs(tmp_path)
    assert said.code == 0, said.err
    assert f"{folder}: 6 episodes" in said.out
    assert "6/6 episodes" in said.out
    assert "success so far walker 6/6" in said.out
    assert "overall (pooled)" in said.out
    assert f"report: {folder}/report.html" in said.out
    assert said.err == ""
    assert (folder / "report.html").is_file()


def test_json_is_all_that_is_on_stdout(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke("run", "walk.yaml", "--json", "--set", "episodes=1")
    result = json.loads(said.out)
    assert said.code == result["exit_code"] == 0
    assert result["run_dir"] == str(runs(tmp_path)[0])
    assert result["complete"] is True
    assert result["summary"]["counts"]["success"] == 2


def test_options_override_the_config(invoke: Invoke, tmp_path: Path) -> None:
    said = invoke(
        *("run", "walk.yaml", "--output", "elsewhere", "--workers", "2", "--policy", f"{FAKES}:FakePolicy"),
        *("--set", "tasks=['*/to-4']", "--set", "policies.FakePolicy.params={stride: 0.5}", "--json"),
    )
    assert said.code == 0, said.err
    result = json.loads(said.out)
    config = json.loads((Path(result["run_dir"]) / "run.json").read_text())["config"]
    assert config["execution"]["workers"] == 2
    assert list(config["policies"]) == ["FakePolicy"]
    assert config["policies"]["FakePolicy"]["serve"] == f"{FAKES}:FakePolicy"
    assert config["policies"]["FakePolicy"]["params"] == {"stride": 0.5}
    assert Path(config["output"]) == tmp_path / "elsewhere"
    assert result["summary"]["counts"]["planned"] == 3


def test_a_gate_that_fails(invoke: Invoke) -> None:
    lazy = ("--set", "policies.walker.params={stride: 0.0}", "--set", "episodes=1")
    said = invoke("run", "walk.yaml", "--min-success", "0.5", *lazy)
    assert said.code == 4
    assert "warning: policy 'walker' has a success rate of 0.000, below the gate of 0.5" in said.err


def test_a_policy_that_only_errs(invoke: Invoke) -> None:
    said = invoke("run", "walk.yaml", "--set", "policies.walker.params={fault: nan}")
    assert said.code == 3
    assert "every episode of policy 'walker' ended in the policy's own error" in said.err
    assert said.out.count("policy error in inference") == 3
    assert "further ones like it are only counted" in said.out


def test_a_benchmark_that_errs_can_be_resumed(invoke: Invoke, tmp_path: Path) -> None:
    broken = (
        "--set",
        f"benchmark.params={{fault: reset_raises, fault_indices: [1], fault_once_file: {tmp_path / 'struck'}}}",
        "--set",
        "execution.retries=0",
    )
    said = invoke("run", "walk.yaml", *broken)
    (folder,) = runs(tmp_path)
    assert said.code == 3
    assert "benchmark error in reset" in said.out
    assert f"to finish it: vlassess run --resume {folder}" in said.err
    again = invoke("run", "--resume", folder)
    assert again.code == 0, again.err
    assert "6 episodes, 5 of them finished before" in again.out
    refused = invoke("run", "--resume", folder, "--set", "benchmark.params={image: 2}")
    assert refused.code == 2


def test_a_finished_run_is_shown_again_but_not_with_another_plan(invoke: Invoke, tmp_path: Path) -> None:
    invoke("run", "walk.yaml")
    (folder,) = runs(tmp_path)
    said = invoke("run", "--resume", folder)
    assert said.code == 0
    assert "6 episodes, 6 of them finished before" in said.out
    refused = invoke("run", "walk.yaml", "--resume", folder, "--set", "seed=5")
    assert refused.code == 2
    assert "error: the plan changed" in refused.err
    assert "seed: 0 -> 5" in refused.err


def test_a_config_with_three_mistakes_shows_three_sentences(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("benchmark: tabletop-v1\npolicy: random\nepisdoes: 1\nseed: -1\nsuites: pick\n")
    said = invoke("run", "bad.yaml")
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines() == [
        "error: bad.yaml: 3 mistakes",
        "  - suites is 'pick'; it must be a list, as in [a, b]",
        "  - seed is -1; it must be at least 0",
        "  - episdoes is not a known key; did you mean 'episodes'?",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], ["give a config", "--resume DIR"]),
        (["run", "gone.yaml"], ["error: ", "there is no file"]),
        (["run", "walk.yaml", "--policy", "expret"], ["no policy is called 'expret'"]),
        (["run", "walk.yaml", "--policy", "gone.py:C"], ["there is no file"]),
        (["run", "walk.yaml", "--set", "tasks=[zzz]"], ["tasks has 'zzz'", "matches no task"]),
        (["run", "walk.yaml", "--set", "benchmark=tabletop-v2"], ["did you mean 'tabletop-v1'?"]),
        (["run", "walk.yaml", "--set", "benchmark=nowhere.to_be:Found"], ["nowhere"]),
        (["run", "walk.yaml", "--workers", "0"], ["--workers"]),
        (["run", "walk.yaml", "--min-success", "2"], ["--min-success"]),
        (["run", "walk.yaml", "--resume", ".", "--output", "x"], ["leave --output out"]),
        (["run", "--resume", "gone"], ["gone does not exist"]),
        (["run", "--resume", "."], ["holds no run.json"]),
        (["run", "walk.yaml", "--nonsense"], ["No such option"]),
        (["fly"], ["No such command"]),
        (["run", "walk.yaml", "--output", "walk.yaml/below"], ["the system refuses: Not a directory"]),
    ],
)
def test_usage_errors(invoke: Invoke, arguments: list[str], words: list[str]) -> None:
    said = invoke(*arguments)
    assert (said.code, said.out) == (2, "")
    for word in words:
        assert word in " ".join(said.err.replace("│", " ").split())
    assert "Traceback" not in said.err


def test_ctrl_c_leaves_a_run_that_can_be_resumed(invoke: Invoke, tmp_path: Path) -> None:
    slow = ["--set", "benchmark.params={image: 0, step_seconds: 0.05}"]
    command = [sys.executable, "-m", "vlassess", "run", "walk.yaml", *slow, "--set", "episodes=100"]
    child = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    until = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.glob("runs/walk-*/episodes.jsonl")):
        assert time.monotonic() < until
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    (folder,) = runs(tmp_path)
    assert f"vlassess run --resume {folder}" in err
    assert "Traceback" not in err
    assert "to go" in out


def test_what_would_act_on_a_terminal_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("it said \x1b[2J,\n  - and \udc80")
    assert capsys.readouterr().err == "error: it said \\x1b[2J,\n  - and \\udc80\n"


def test_a_bug_is_called_a_bug_and_keeps_its_traceback() -> None:
    code = (
        "import vlassess.cli.showing as showing, vlassess.cli\n"
        "showing.listing = lambda catalog: 1 / 0\n"
        "vlassess.cli.main(['list'])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: this is a bug in vlassess (ZeroDivisionError)")
    assert "Traceback" in done.stderr
