"""A benchmark without a stored spec is asked once, until what it declares has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functional.cli.conftest import Invoke

BENCH = """
import os
from pathlib import Path
from vlassess_link.testing import FakeBenchmark

class Bench(FakeBenchmark):
    def __init__(self, place, count):
        with open(count, "a") as file:
            file.write("asked ")
        super().__init__(tasks=int(Path(place).read_text()))
"""


def test_plans_ask_once_and_a_run_finds_out_what_no_file_beside_it_tells(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLASSESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "bench.py").write_text(BENCH, encoding="utf-8")
    place, count = tmp_path / "tasks", tmp_path / "count"
    place.write_text("1", encoding="utf-8")
    params = f"{{place: {place}, count: {count}}}"
    config = tmp_path / "asked.yaml"
    config.write_text(
        f"benchmark: {{target: bench/bench.py:Bench, params: {params}}}\nepisodes: 1\nexecution: {{workers: 1}}\n"
        'policies: {walker: {local: "vlassess_link.testing.fakes:FakePolicy"}}\n',
        encoding="utf-8",
    )

    def asked() -> int:
        return count.read_text(encoding="utf-8").count("asked")

    assert "1 items" in invoke("plan", config).out
    assert "1 items" in invoke("plan", config).out
    assert asked() == 1

    place.write_text("2", encoding="utf-8")
    assert "1 items" in invoke("plan", config).out
    said = invoke("run", config)
    assert said.code == 2
    assert "declares something else than when it was last asked" in said.err
    assert "run the command again" in said.err
    assert invoke("run", config).code == 0
    (records,) = tmp_path.glob("runs/*/episodes.jsonl")
    assert len(records.read_text(encoding="utf-8").splitlines()) == 2
