"""Two tabletop policies from their runs to the verdict: paired, stopped early, and refused once a start is altered."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.functional.cli.conftest import Invoke, invoke

__all__ = ["invoke"]  # the fixture of the command line

POLICIES = Path(__file__).with_name("tabletop_policies.py")
EPISODES = 16
CONFIG = f"""
name: pick
benchmark: tabletop-v1
tasks: ["pick/*"]
episodes: {EPISODES}
execution: {{workers: 2}}
policies: {{LABEL: {{local: "{POLICIES}:CLASS"}}}}
"""


def config_for(folder: Path, label: str, name: str) -> Path:
    path = folder / f"{label}.yaml"
    path.write_text(CONFIG.replace("LABEL", label).replace("CLASS", name), encoding="utf-8")
    return path


def run_json(invoke: Invoke, *arguments: object) -> dict[str, Any]:
    said = invoke("run", *arguments, "--json")
    assert said.code == 0, said.err
    result: dict[str, Any] = json.loads(said.out)
    return result


def comparison(invoke: Invoke, *arguments: object) -> dict[str, Any]:
    said = invoke("compare", *arguments, "--json")
    found: dict[str, Any] = json.loads(said.out)
    return {"code": said.code, "design": found["design"], **found["comparisons"][0]}


@pytest.mark.timeout(180)
def test_from_two_runs_to_the_verdict(invoke: Invoke, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    steady = Path(run_json(invoke, config_for(tmp_path, "steady", "Steady"))["run_dir"])
    rule = ("--compare-with", steady, "--stop-when-decided", "alpha=0.05")
    result = run_json(invoke, config_for(tmp_path, "tired", "Tired"), *rule)
    tired = Path(result["run_dir"])

    # It stops early, keeps its records whole and says why.
    records = (tired / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    assert 0 < len(records) < 3 * EPISODES
    assert result["complete"] is False
    decision = json.loads((tired / "decision.json").read_text(encoding="utf-8"))
    assert decision["decided_at"] == decision["looks"][-1]["block"] or len(decision["looks"]) > decision["decided_at"]
    assert "steady is better than tired" in result["decision"]

    # The comparison is paired, finds what was planted, and uses the test that was fixed before the run.
    found = comparison(invoke, tired, steady)
    assert found["pairing"]["design"] == "paired"
    assert found["pairing"]["pairs"] == found["overall"]["n_a"] == 3 * found["sequential"]["blocks"]
    assert found["better"] == "steady"
    assert found["overall"]["test"] == "sequential"
    low, high = found["overall"]["interval"]
    assert low <= -0.5 <= high < 0
    assert found["design"]["fixed_before"] is True
    assert comparison(invoke, steady, tired, "--require-better")["code"] == 0
    assert comparison(invoke, tired, steady, "--require-better")["code"] == 4

    # Another test is possible, and it is said that it was chosen afterwards.
    other = comparison(invoke, tired, steady, "--test", "exact")
    assert other["design"]["changes"] == ["test was changed after the run: sequential -> exact"]

    # One altered start, and the runs are not called paired any more.
    altered = tmp_path / "altered"
    shutil.copytree(steady, altered)
    place = alter_one_start(altered, found["discordant"][0]["item_b"])
    refused = comparison(invoke, tired, altered)
    assert refused["pairing"]["design"] == "partly paired"
    assert "are not paired: 1 of" in refused["pairing"]["reason"]
    (drop,) = [drop for drop in refused["pairing"]["dropped"] if drop["reason"] == "initial states differ"]
    assert drop["examples"] == [f"{place}: component 'arm' differs by 0.001"]
    assert refused["pairing"]["pairs"] == found["pairing"]["pairs"] - 1

    # A decided run is not resumed without saying so; it can be continued, and that is recorded.
    said = invoke("run", "--resume", tired)
    assert said.code == 2
    assert "No further episode is needed" in said.err
    whole = run_json(invoke, "--resume", tired, "--continue")
    assert whole["complete"] is True
    after = json.loads((tired / "decision.json").read_text(encoding="utf-8"))
    assert [one["blocks"] for one in after["continued"]] == [len(decision["looks"])]
    assert after["decided_at"] == decision["decided_at"]
    assert len(after["looks"]) == EPISODES


def alter_one_start(run: Path, item: str) -> str:
    path = run / "episodes.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    (record,) = [record for record in records if record["item_id"] == item]
    record["initial_state"]["arm"][0] += 0.001
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return f"{record['suite']}/{record['task']} #{record['index']}"
