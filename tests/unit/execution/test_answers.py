"""What a benchmark declared is remembered until anything of it changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from vlassess.execution.answers import MOST_FILES, Adapter, SpecAnswer, key_of
from vlassess.schema.interpreter import Interpreter
from vlassess_link.testing import FakeBenchmark

SPEC = FakeBenchmark().spec


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    folder = tmp_path / "bench"
    (folder / "inner").mkdir(parents=True)
    (folder / "adapter.py").write_text("A = 1\n")
    (folder / "inner" / "tasks.py").write_text("B = 1\n")
    (folder / "tasks.json").write_text("{}")
    (folder / "requirements.txt").write_text("numpy==1.0\n")
    return folder


def adapter(bench: Path, **changes: Any) -> Adapter:
    return Adapter(**{"target": f"{bench / 'adapter.py'}:Bench", **changes})


def test_an_answer_is_remembered_and_nobody_elses(bench: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert SpecAnswer(adapter(bench), cache).recall() is None
    SpecAnswer(adapter(bench), cache).keep(SPEC)
    assert SpecAnswer(adapter(bench), cache).recall() == SPEC
    for changes in ({"params": {"tasks": 3}}, {"env": {"A": "b"}}, {"target": f"{bench / 'adapter.py'}:Other"}):
        assert SpecAnswer(adapter(bench, **changes), cache).recall() is None


@pytest.mark.parametrize("name", ["adapter.py", "inner/tasks.py", "tasks.json"])
def test_a_change_of_anything_beside_it_is_another_adapter(bench: Path, name: str) -> None:
    before = key_of(adapter(bench))
    assert key_of(adapter(bench)) == before
    (bench / name).write_text("C = 22\n")
    assert key_of(adapter(bench)) not in (None, before)


def test_requirements_are_part_of_it_and_another_python_cannot_be_known(bench: Path) -> None:
    pinned = Interpreter(requirements=bench / "requirements.txt")
    before = key_of(adapter(bench, interpreter=pinned))
    assert before not in (None, key_of(adapter(bench)))
    other = Interpreter(requirements=bench / "requirements.txt", requires_python=">=3.10")
    assert key_of(adapter(bench, interpreter=other)) != before
    assert key_of(adapter(bench, interpreter=Interpreter(python=Path("/usr/bin/python3")))) is None
    assert key_of(Adapter("module:Bench", interpreter=pinned)) is None
    assert key_of(adapter(bench, interpreter=Interpreter(requirements=bench / "missing.txt"))) is None


def test_modules_are_found_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "exploding_benchmark"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError\n")
    (tmp_path / "lone_benchmark.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(tmp_path)
    keys = [
        key_of(Adapter(f"{name}:Bench"))
        for name in ("exploding_benchmark", "exploding_benchmark.adapter", "lone_benchmark")
    ]
    assert None not in keys
    (package / "more.py").write_text("")
    assert key_of(Adapter("exploding_benchmark:Bench")) not in keys
    assert key_of(Adapter("no_such_benchmark:Bench")) is None


def test_what_is_too_large_or_no_json_is_asked_each_time(bench: Path) -> None:
    assert key_of(adapter(bench, params={"x": float("nan")})) is None
    assert key_of(adapter(bench, params={"x": object()})) is None
    for number in range(MOST_FILES):
        (bench / f"file_{number}.py").write_text("")
    assert key_of(adapter(bench)) is None


def test_a_broken_or_closed_cache_costs_time_only(bench: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    SpecAnswer(adapter(bench), cache).keep(SPEC)
    (file,) = cache.iterdir()
    file.write_text('{"id": 3}')
    assert SpecAnswer(adapter(bench), cache).recall() is None
    file.write_text("{")
    assert SpecAnswer(adapter(bench), cache).recall() is None
    closed = tmp_path / "closed"
    closed.write_text("")
    SpecAnswer(adapter(bench), closed).keep(SPEC)
    assert SpecAnswer(adapter(bench), closed).recall() is None
    assert not list(tmp_path.glob(f"**/.*{os.getpid()}"))
