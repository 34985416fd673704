"""The kit passes what keeps the contract, and each check fails on a benchmark that is broken in just its way."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.link.testing.twins import TWINS, Good, Walker
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import Episode, Observation, RawObservation, StepResult
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import from_json
from vlassess_link.spaces import Layout
from vlassess_link.specs import Axis, Level
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


class Slippery(Good):
    """An axis that cannot be seen at the start: the floor, which shows once something moves."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = dataclasses.replace(self.spec, axes=(Axis("floor", (Level("ice"),), ("x",)),))
        self._grip = 1.0

    def reset(self, episode: Episode) -> RawObservation:
        self._grip = 0.5 if episode.perturbation else 1.0
        return super().reset(episode)

    def step(self, action: np.ndarray) -> StepResult:
        return super().step(self._grip * action)


def test_an_axis_may_show_only_once_something_moves() -> None:
    (result,) = run_benchmark_kit(subject_of(Slippery), ["axes_touch_what_they_say"]).results
    assert (result.status, result.reason) == ("passed", "")


def test_every_check_has_a_twin() -> None:
    assert set(TWINS) == {check.name for check in CHECKS}


def test_without_help_checks_are_skipped_with_a_reason() -> None:
    report = run_benchmark_kit(BenchmarkSubject(FakeBenchmark))
    skipped = {result.name: result.reason for result in report.results if result.status == "skipped"}
    assert set(skipped) == {"stored_states_are_set", "processes_agree", "termination_is_as_declared"}
    assert all(skipped.values())
    assert report.ok
    assert f"{len(CHECKS) - 3} passed, 0 failed, 3 skipped" in report.text()


class Odd(FakeBenchmark):
    """Returns something else than it should from one of its methods."""

    def __init__(self, method: str = "", **spec: Any) -> None:
        super().__init__()
        self.method = method
        self.spec = dataclasses.replace(self.spec, **spec)

    def reset(self, episode: Episode) -> Any:
        raw = super().reset(episode)
        return raw.state if self.method == "reset" else raw

    def step(self, action: np.ndarray) -> Any:
        result = super().step(action)
        return result.raw if self.method == "step" else result

    def make_obs(self, raw: RawObservation) -> Any:
        obs: Observation = super().make_obs(raw)
        if self.method == "state":
            return dataclasses.replace(obs, state=[0.0])  # type: ignore[arg-type]
        return None if self.method == "make_obs" else obs

    def get_step_result(self, result: StepResult) -> Any:
        outcome = super().get_step_result(result)
        return outcome.success if self.method == "get_step_result" else outcome


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("reset", "reset() returned a dict; it must return a RawObservation"),
        ("step", "step() returned a RawObservation; it must return a StepResult"),
        ("make_obs", "make_obs() returned a NoneType; it must return a Observation"),
        ("get_step_result", "get_step_result() returned a bool; it must return a StepOutcome"),
        ("state", "the state of an observation is a list; it must be a numpy array"),
    ],
)
def test_another_type_than_the_contracts_is_named(method: str, words: str) -> None:
    (result,) = run_benchmark_kit(BenchmarkSubject(lambda: Odd(method)), ["reset_is_deterministic"]).results
    assert (result.status, words in result.reason) == ("failed", True), result.reason


class Blind(FakeBenchmark):
    """Cannot do without its camera."""

    def make_obs(self, raw: RawObservation) -> Observation:
        obs = super().make_obs(raw)
        return dataclasses.replace(obs, images={"front": obs.images["front"]})


def test_where_a_subject_raised_is_said() -> None:
    (result,) = run_benchmark_kit(BenchmarkSubject(Blind), ["observation_matches_spec"]).results
    assert result.reason.startswith("KeyError in make_obs (test_benchmark_kit.py, line ")
    assert result.reason.endswith("): 'front'")


@pytest.mark.parametrize(
    ("spec", "words"),
    [({"tasks": ()}, "declares no task"), ({"action": Layout(()), "hold_action": None}, "declares no action")],
)
def test_a_spec_with_nothing_to_try_is_refused(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(ContractError, match=words):
        BenchmarkSubject(lambda: Odd(**spec))


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
