"""``vlassess run --mode realtime``: refused where nothing can be held, the same twice, and recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.functional.cli.conftest import FAKES, Invoke

MODELLED = "realtime={pace: modelled, latency: {lognormal: {median: 0.1, sigma: 0.3}}}"
HOLDLESS = """
from dataclasses import replace
from vlassess_link.testing import FakeBenchmark


class Holdless(FakeBenchmark):
    def __init__(self):
        super().__init__()
        self.spec = replace(self.spec, hold_action=None)
"""


def records_of(said: Any) -> list[dict[str, Any]]:
    run = Path(json.loads(said.out)["run_dir"])
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text(encoding="utf-8").splitlines()]
    return sorted(lines, key=lambda line: str(line["item_id"]))


def test_modelled_time_is_the_same_twice_and_costs_what_compare_says(invoke: Invoke) -> None:
    walk = ("walk.yaml", "--set", "policies={walker: {serve: " + FAKES + ":FakePolicy}}", "--json")
    first, again = (invoke("run", *walk, "--mode", "realtime", "--set", MODELLED) for _ in range(2))
    assert first.code == 0, first.err
    one, two = records_of(first), records_of(again)
    assert [line["realtime"] for line in one] == [line["realtime"] for line in two]
    assert [line["actions_digest"] for line in one] == [line["actions_digest"] for line in two]
    assert all(line["realtime"]["pace"] == "modelled" and line["realtime"]["stale_steps"] > 0 for line in one)
    codes = [notice["code"] for notice in json.loads(first.out)["summary"]["notices"]]
    assert "realtime" in codes
    sync = invoke("run", *walk, "--mode", "sync", "--set", MODELLED)
    assert all(line["realtime"] is None for line in records_of(sync))
    assert sum(line["steps"] for line in one) > sum(line["steps"] for line in records_of(sync))
    compared = invoke("compare", json.loads(first.out)["run_dir"], json.loads(sync.out)["run_dir"])
    assert compared.code == 0, compared.err
    assert "starts are shared" in compared.out
    assert "it ran in real time (modelled)" in " ".join(compared.out.split())


def test_without_a_hold_action_no_episode_runs(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "holdless.py").write_text(HOLDLESS, encoding="utf-8")
    (tmp_path / "it.yaml").write_text(f"benchmark: holdless.py:Holdless\npolicy: {FAKES}:FakePolicy\n", "utf-8")
    said = invoke("run", str(tmp_path / "it.yaml"), "--mode", "realtime")
    assert said.code == 2
    assert "declares no hold action" in said.err
    assert not list((tmp_path / "runs").glob("run-*/episodes.jsonl"))
