"""The kit passes what keeps the contract, and each check fails on a benchmark that is broken in just its way."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.link.testing.twins import TWINS, Good, Walker
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import from_json
from vlassess_link.testing import BenchmarkSubject, FakeBenchmark, KitReport, run_benchmark_kit
from vlassess_link.testing.benchmark_kit import CHECKS

HERE = "tests.link.testing.twins"


def subject_of(cls: type[Benchmark]) -> BenchmarkSubject:
    return BenchmarkSubject(cls, f"{cls.__module__}:{cls.__qualname__}", expert=Walker)


@pytest.mark.parametrize("cls", [Good, FakeBenchmark])
def test_what_keeps_the_contract_passes(cls: type[Benchmark]) -> None:
    report = run_benchmark_kit(subject_of(cls))
    assert [result.reason for result in report.results if result.status == "failed"] == []
    assert {result.name for result in report.results if result.status == "skipped"} <= {"stored_states_are_set"}


@pytest.mark.parametrize("termination", ["on_success", "at_limit", "hold"])
def test_every_termination_can_be_kept(termination: str) -> None:
    subject = BenchmarkSubject(lambda: FakeBenchmark(termination=termination), expert=Walker)
    (result,) = run_benchmark_kit(subject, ["termination_is_as_declared"]).results
    assert result.status == "passed"


@pytest.mark.parametrize(("check", "cls"), [(name, cls) for name, classes in TWINS.items() for cls in classes])
def test_each_check_finds_its_broken_twin(check: str, cls: type[Benchmark]) -> None:
    (result,) = run_benchmark_kit(subject_of(cls), [check]).results
    assert result.status == "failed"
    assert len(result.reason) > 20


def test_every_check_has_a_twin() -> None:
    assert set(TWINS) == {check.name for check in CHECKS}


def test_without_help_checks_are_skipped_with_a_reason() -> None:
    report = run_benchmark_kit(BenchmarkSubject(FakeBenchmark))
    skipped = {result.name: result.reason for result in report.results if result.status == "skipped"}
    assert set(skipped) == {"stored_states_are_set", "processes_agree", "termination_is_as_declared"}
    assert all(skipped.values())
    assert report.ok
    assert f"{len(CHECKS) - 3} passed, 0 failed, 3 skipped" in report.text()


def test_an_unknown_check_is_refused() -> None:
    with pytest.raises(ContractError, match="no check is called 'all'; they are reset_is_deterministic"):
        run_benchmark_kit(BenchmarkSubject(FakeBenchmark), ["all"])


def test_the_command_prints_a_report_and_tells_by_its_code() -> None:
    command = [sys.executable, "-m", "vlassess_link.testing", "benchmark"]
    arguments = [f"{HERE}:Done", "--only", "no_success_at_reset", "--tasks", "1"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    report = from_json(KitReport, json.loads(done.stdout))
    assert (report.kit, report.subject, report.results[0].status) == ("benchmark", "fake-v1", "failed")
    gone = subprocess.run([*command, "nowhere:Class"], capture_output=True, text=True, timeout=60, check=False)
    assert gone.returncode == 2
    assert "nowhere" in gone.stderr
